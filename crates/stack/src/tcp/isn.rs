//! Where the sequence numbers and the timestamps of a connection begin: RFC 9293, section 3.4.1,
//! RFC 6528 and RFC 7323, section 5.4.

use portolan_wire::Seq;

use crate::{Instant, random::Key, tcp::Flow};

/// The initial sequence number for a connection of this flow that begins now: ISN = M + F(flow,
/// key). M is the clock of RFC 9293, one number in 4 microseconds, so that a new connection of the
/// same flow begins beyond the numbers of the last one; F is SipHash-2-4, so that who sees the
/// numbers of one flow cannot guess those of another.
#[must_use]
pub fn isn(key: &Key, flow: &Flow, now: Instant) -> Seq {
    // RFC 6528, section 3. The clock goes around in 4.77 hours.
    Seq((now.as_micros() / CLOCK_TICK_US) as u32) + key.hash(flow.message().as_bytes()) as u32
}

/// What is to be added to the clock for the timestamps (TSval) of this flow. It is the same for
/// each connection of the flow, so that its timestamps go on growing, and it hides for how long
/// this host is up, and that two flows end at the same host (RFC 7323, section 5.4 and 7.1).
#[must_use]
pub fn timestamp_offset(key: &Key, flow: &Flow) -> u32 {
    key.hash(flow.message().as_bytes()) as u32
}

/// RFC 9293, section 3.4.1: the clock counts once in about 4 microseconds.
const CLOCK_TICK_US: u64 = 4;

#[cfg(test)]
mod tests;
