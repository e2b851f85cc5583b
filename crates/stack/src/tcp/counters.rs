//! What happened, by kind.

/// How often something happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Segments that arrived.
    pub segments_received: u64,
    /// Segments that left, each packet of a burst that the device splits counted as one.
    pub segments_sent: u64,
    /// Segments that left again.
    pub segments_retransmitted: u64,
    /// Segments that were cut or malformed.
    pub malformed: u64,
    /// Segments whose checksum was wrong.
    pub checksum_wrong: u64,
    /// Connections that were established from here.
    pub active_opened: u64,
    /// Connections that were established from outside.
    pub passive_opened: u64,
    /// Attempts that failed.
    pub open_failed: u64,
    /// Established connections that ended by RST or for want of an answer.
    pub aborted: u64,
    /// RSTs that left.
    pub resets_sent: u64,
    /// RSTs that arrived and were believed.
    pub resets_received: u64,
    /// RSTs and SYNs for an established connection that were not believed, and old or future
    /// acknowledgments: RFC 5961.
    pub blind_refused: u64,
    /// ACKs that ask a peer whether it was he (RFC 5961).
    pub challenges_sent: u64,
    /// Such ACKs that a limit held back.
    pub challenges_held_back: u64,
    /// Segments outside of the window.
    pub out_of_window: u64,
    /// Segments older than others before them by their timestamp (RFC 7323, PAWS), or without one
    /// where they must have one.
    pub timestamp_old: u64,
    /// SYNs that found the backlog full and got no answer.
    pub backlog_full: u64,
    /// SYNs that were answered with a cookie.
    pub cookies_sent: u64,
    /// Connections that a cookie brought back.
    pub cookies_accepted: u64,
    /// ACKs with a wrong cookie.
    pub cookies_wrong: u64,
    /// Handshakes whose end found the listener's queue full.
    pub accept_queue_full: u64,
    /// Segments that arrived out of order, and were kept.
    pub out_of_order: u64,
    /// Segments with data that was there already.
    pub duplicates: u64,
    /// Segments that were dropped since all buffers are in use, or have too many gaps.
    pub no_buffer: u64,
    /// Times that the data behind a gap was dropped that a silent peer did not fill, since memory
    /// was short (RFC 2018, section 8).
    pub early_discarded: u64,
    /// Answers that were dropped since too many were waiting.
    pub replies_dropped: u64,
    /// SYNs or connects that were dropped since there are too many connections.
    pub connections_full: u64,
    /// TIME-WAITs that ended early since there were too many.
    pub time_waits_full: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes (RFC 8985).
    pub tail_probes: u64,
    /// Times that loss was met and recovery began.
    pub recoveries: u64,
    /// Recoveries that turned out to be needless, and were undone.
    pub spurious: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Probes of idle connections.
    pub keepalives: u64,
    /// ICMP errors that were about no segment in flight: RFC 5927.
    pub errors_refused: u64,
}
