//! Protection against wrapped sequence numbers: RFC 7323, section 5.

use core::time::Duration;

use portolan_wire::tcp::Flags;

use crate::{
    Instant,
    tcp::{connection::Connection, segment::Segment},
};

impl Connection {
    /// Whether the segment lacks the timestamp that it must have: section 3.2.
    pub(super) fn lacks_timestamp(&self, segment: &Segment<'_>) -> bool {
        self.agreed.timestamps && segment.options.timestamps.is_none() && !segment.has(Flags::RST)
    }

    /// Whether the segment's timestamp shows that it is older than another one that was taken:
    /// section 5.3, R1.
    pub(super) fn is_timestamp_old(&self, segment: &Segment<'_>, now: Instant) -> bool {
        // R0 of section 5.2: RST is taken without a look at its timestamp.
        if !self.agreed.timestamps || segment.has(Flags::RST) {
            return false;
        }
        let Some(timestamps) = segment.options.timestamps else { return false };
        let is_older = is_before(timestamps.value, self.receiver.ts_recent);
        is_older && !self.is_recent_outdated(now)
    }

    /// Keeps the peer's timestamp to echo it: RFC 7323, section 4.3, (2).
    pub(super) fn remember_timestamp(&mut self, segment: &Segment<'_>, now: Instant) {
        let Some(timestamps) = segment.options.timestamps.filter(|_| self.agreed.timestamps) else {
            return;
        };
        if segment.sequence.at_or_before(self.receiver.last_ack)
            && (!is_before(timestamps.value, self.receiver.ts_recent)
                || self.is_recent_outdated(now))
        {
            self.receiver.ts_recent = timestamps.value;
            self.receiver.ts_recent_ms = clock(now);
        }
    }

    /// Section 5.5: after 24 days the peer's clock may have wrapped.
    fn is_recent_outdated(&self, now: Instant) -> bool {
        u128::from(clock(now).wrapping_sub(self.receiver.ts_recent_ms)) > OUTDATED.as_millis()
    }
}

/// The clock of timestamps: milliseconds (RFC 7323, section 5.4: 1 ms to 1 s).
pub(in crate::tcp) fn clock(now: Instant) -> u32 {
    // It wraps after 49 days, as timestamps do.
    now.as_millis() as u32
}

/// Whether one timestamp is older than another one: section 5.2.
pub(in crate::tcp) fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

const OUTDATED: Duration = Duration::from_secs(24 * 86_400);
