//! Additive increase, multiplicative decrease: RFC 5681, section 3.1.

/// The window after `bytes` were acknowledged in congestion avoidance: a segment more for each
/// window of bytes, the way that the RFC recommends (RFC 3465, section 2.1). What is left of them
/// stays in `credit`.
pub fn avoid(window: u32, mss: u16, credit: &mut u32, bytes: u32) -> u32 {
    *credit = credit.saturating_add(bytes);
    if *credit < window {
        return window;
    }
    // One segment at most per ACK, as the RFC's formula: an ACK covers a window at most.
    *credit = (*credit - window).min(window);
    window.saturating_add(mss.into())
}

/// The threshold after a loss, before its lower bound: RFC 5681, section 3.1, equation 4.
pub fn reduce(outstanding: u32) -> u32 {
    outstanding / 2
}
