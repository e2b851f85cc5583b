//! SYN cookies: a listener whose backlog is full remembers nothing of a SYN, and lets the other
//! side bring what it has to know back in the ACK (D. J. Bernstein, 1996; RFC 4987, section 3.6).
//!
//! Our initial sequence number says which maximum segment size the other side offered; its other
//! options travel in the low bits of our timestamp, as with Linux (net/ipv4/syncookies.c).

use portolan_wire::Seq;

use crate::{Instant, random::Key, tcp::Flow};

/// What else a SYN offered, as far as it fits into a timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// The shift of the other side's windows (RFC 7323), 0 to 14; none: it does not scale.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements are permitted (RFC 2018).
    pub sack: bool,
    /// Explicit congestion notification was asked for (RFC 3168).
    pub ecn: bool,
}

/// The initial sequence number that answers a SYN with nothing remembered.
///
/// It is a keyed hash of the flow, the number of the SYN (`their_isn`) and the minute; the last two
/// bits are changed by which size of the table is the largest that is not above `mss`, what the
/// other side offered (an offer below all of them counts as the smallest). So 8 of the 2^32 numbers
/// are valid at any time, 4 sizes in 2 minutes: a guess is right once in 2^29, as with Linux.
#[must_use]
pub fn make(key: &Key, flow: &Flow, their_isn: Seq, mss: u16, now: Instant) -> Seq {
    let sizes = sizes(flow);
    let index = sizes.iter().rposition(|size| *size <= mss).unwrap_or(0) as u32;
    Seq(digest(key, flow, their_isn, minute(now)) ^ index)
}

/// The maximum segment size that the other side offered, if `cookie` (the number before the one
/// that its ACK acknowledges) was [made](make) for this flow and this SYN (`their_isn`: the number
/// before that of the ACK) in this minute or the last one: at most 2 minutes ago, and always when
/// less than 1 minute ago.
#[must_use]
pub fn check(key: &Key, flow: &Flow, their_isn: Seq, cookie: Seq, now: Instant) -> Option<u16> {
    let this = minute(now);
    let minutes = [Some(this), this.checked_sub(1)];
    minutes.into_iter().flatten().find_map(|minute| {
        let index = cookie.0 ^ digest(key, flow, their_isn, minute);
        sizes(flow).get(index as usize).copied()
    })
}

/// The timestamp (TSval) with what was offered in its low 6 bits, at most 63 units before what it
/// was, never behind it, since the clock must not run ahead (RFC 7323). The timestamp is the one to
/// be sent, its flow's offset included.
#[must_use]
pub const fn encode_options(timestamp: u32, offered: Offered) -> u32 {
    let scale = match offered.window_scale {
        Some(shift) if shift > WINDOW_SCALE_MAX => WINDOW_SCALE_MAX,
        Some(shift) => shift,
        None => WINDOW_SCALE_NONE,
    };
    let bits = scale as u32 | (offered.sack as u32) << 4 | (offered.ecn as u32) << 5;
    let encoded = timestamp & !OPTIONS_MASK | bits;
    if bits > timestamp & OPTIONS_MASK { encoded.wrapping_sub(OPTIONS_MASK + 1) } else { encoded }
}

/// What was offered, from the timestamp that came back (TSecr). It is not signed: whoever lies
/// could have offered the lie. Without a timestamp in the ACK, nothing was offered:
/// [`Offered::default`].
#[must_use]
pub const fn decode_options(echo: u32) -> Offered {
    let scale = (echo & 0xf) as u8;
    let window_scale = if scale == WINDOW_SCALE_NONE { None } else { Some(scale) };
    Offered { window_scale, sack: echo & 1 << 4 != 0, ecn: echo & 1 << 5 != 0 }
}

fn digest(key: &Key, flow: &Flow, their_isn: Seq, minute: u64) -> u32 {
    let message = flow.message().with(&their_isn.0.to_be_bytes()).with(&minute.to_be_bytes());
    key.hash(message.as_bytes()) as u32
}

fn minute(now: Instant) -> u64 {
    now.as_micros() / 60_000_000
}

fn sizes(flow: &Flow) -> &'static [u16; 4] {
    if flow.remote.is_ipv4() { &SIZES_V4 } else { &SIZES_V6 }
}

/// net/ipv4/syncookies.c, msstab: the sizes that are seen in the wild.
const SIZES_V4: [u16; 4] = [536, 1_300, 1_440, 1_460];

/// net/ipv6/syncookies.c, msstab: 1,280, 1,480, 1,500 and 9,000 bytes without the headers.
const SIZES_V6: [u16; 4] = [1_220, 1_420, 1_440, 8_940];

const OPTIONS_MASK: u32 = 63;

/// RFC 7323, section 2.3.
const WINDOW_SCALE_MAX: u8 = 14;

const WINDOW_SCALE_NONE: u8 = 15;

#[cfg(test)]
mod tests;
