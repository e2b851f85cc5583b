//! The retransmission timer expires: RFC 6298, section 5.4, and RFC 8985, section 6.3.

use core::{cmp::Reverse, time::Duration};

use super::{
    Scoreboard,
    memory::{Memory, Phase},
    record::{History, State},
};
use crate::Instant;

/// What a timeout is for
/// [`Congestion::on_timeout`](crate::tcp::congestion::Congestion::on_timeout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut {
    /// Bytes sent and neither acknowledged nor SACKed, before.
    pub outstanding: u32,
    /// Whether the first byte outstanding has not timed out before.
    pub is_first: bool,
}

impl Scoreboard {
    /// The retransmission timer expired: the first segment is lost, and what was not sent lately.
    /// SACKs are forgotten, since the receiver may have dropped what it had (RFC 2018, section 8).
    /// [`next_lost`](Self::next_lost) names what to send; the rest is
    /// [`in_flight`](Self::in_flight) still.
    pub fn on_timeout(
        &mut self,
        memory: &mut Memory,
        srtt: Option<Duration>,
        min_rtt: Option<Duration>,
        now: Instant,
    ) -> TimedOut {
        let outstanding = self.outstanding();
        let is_first =
            self.records.front().is_some_and(|first| !first.history.has(History::TIMED_OUT));
        if is_first || memory.phase != Phase::Timeout {
            memory.enter(Phase::Timeout, self.una, self.end());
            self.first_resent_at = None;
            self.timeout_tests = TIMEOUT_TESTS;
        }
        memory.recovery_point = self.end();
        let window = memory.reorder_window(self.sacked_segments, min_rtt, srtt);
        self.lost.clear();
        (self.sacked_bytes, self.lost_bytes, self.sacked_segments) = (0, 0, 0);
        for (index, record) in self.records.iter_mut().enumerate() {
            self.steps += 1;
            let was_sacked = record.state == State::Sacked;
            if was_sacked {
                record.history = record.history.with(History::WAS_SACKED);
                record.state = State::InFlight;
            }
            // What was sent again and then SACKed is not in RACK's queue: it cannot be found lost.
            let is_watched = !(was_sacked && record.history.has(History::RESENT));
            let is_young = is_watched && self.rack.is_young(record, window, now);
            if index == 0 {
                record.history = record.history.with(History::TIMED_OUT);
            }
            // Without SACK nothing else would find the others lost.
            if index == 0 || record.state == State::Lost || !is_young || !self.is_sack_permitted {
                record.state = State::Lost;
                self.lost_bytes += record.len();
                let ahead = record.start.distance(self.una);
                self.lost.push(Reverse(self.una_position + u64::from(ahead)));
            }
        }
        self.rack.deadline = None;
        self.duplicate = super::duplicate::Duplicates::default();
        self.fresh_position = self.una_position;
        TimedOut { outstanding, is_first }
    }
}

/// RFC 5682, section 3: the first two ACKs after the timeout decide.
const TIMEOUT_TESTS: u8 = 2;
