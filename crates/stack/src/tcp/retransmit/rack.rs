//! RACK: what was sent long enough before something that arrived is lost. RFC 8985, section 6.
//!
//! The RFC goes through all segments in the order in which they were sent. That order is kept in
//! two parts, so that an ACK costs no walk: what was sent once lies in the order of sequence
//! numbers, and `fresh_position` only moves on; what was sent again waits in the queue `resent`.

use core::{cmp::Reverse, time::Duration};

use portolan_wire::Seq;

use super::{
    Ack, Scoreboard,
    memory::{Flags, Memory},
    record::{History, Record, State},
};
use crate::Instant;

/// The segment sent most recently of those that arrived, and when to look again.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// RACK.xmit_ts and RACK.end_seq, and RACK.rtt in microseconds; none before an ACK.
    latest: Option<Latest>,
    pub(super) deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Latest {
    sent_us: u32,
    end: Seq,
    rtt_us: u32,
    is_resent: bool,
}

/// Something sent again. Its records may have changed since.
#[derive(Clone, Copy, Debug)]
pub struct Resent {
    start: Seq,
    end: Seq,
    sent_us: u32,
}

/// The path's round trips.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub srtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    pub now: Instant,
}

/// What may be said of a record by the ages of those that arrived.
enum Verdict {
    Lost,
    /// Something sent later arrived, but so lately that this one may be just reordered.
    LostAt(Instant),
    /// Nothing sent later arrived.
    Unknown,
}

impl Rack {
    /// RFC 8985, section 6.2, step 2: `record` was delivered.
    pub fn take_delivered(&mut self, record: &Record, ack: &Ack<'_>) {
        let rtt_us = record.age_us(ack.now);
        let rtt = Duration::from_micros(rtt_us.into());
        if record.history.has(History::RESENT) {
            // The original arrived, not the retransmission.
            if ack.is_caused_before(ack.now - rtt) || ack.min_rtt.is_some_and(|min| rtt < min) {
                return;
            }
        }
        if self.latest.is_none_or(|latest| record.is_sent_after(latest.sent_us, latest.end)) {
            let is_resent = record.history.has(History::RESENT);
            let (sent_us, end) = (record.sent_us, record.end);
            self.latest = Some(Latest { sent_us, end, rtt_us, is_resent });
        }
    }

    fn judge(&self, record: &Record, window: Duration, now: Instant) -> Verdict {
        let Some(latest) = self.latest else { return Verdict::Unknown };
        // Of the same moment the RFC takes the lower number for the earlier one. But of one batch a
        // retransmission may well leave behind new data.
        let is_resent = record.history.has(History::RESENT);
        if is_resent && !latest.is_resent && record.sent_us == latest.sent_us {
            return Verdict::Unknown;
        }
        let is_same = (record.sent_us, record.end) == (latest.sent_us, latest.end);
        if is_same || record.is_sent_after(latest.sent_us, latest.end) {
            return Verdict::Unknown;
        }
        self.judge_age(record, window, now)
    }

    fn judge_age(&self, record: &Record, window: Duration, now: Instant) -> Verdict {
        let rtt_us = self.latest.map_or(0, |latest| latest.rtt_us);
        let patience = Duration::from_micros(rtt_us.into()) + window;
        let age = Duration::from_micros(record.age_us(now).into());
        match patience.checked_sub(age) {
            None | Some(Duration::ZERO) => Verdict::Lost,
            Some(remaining) => Verdict::LostAt(now + remaining),
        }
    }

    /// RFC 8985, section 6.3: whether a timeout leaves a record in flight because it is young.
    pub fn is_young(&self, record: &Record, window: Duration, now: Instant) -> bool {
        matches!(self.judge_age(record, window, now), Verdict::LostAt(_))
    }
}

impl Scoreboard {
    /// RFC 8985, section 6.2, step 5. Returns the bytes newly lost, and sets the deadline: the
    /// first moment at which there may be more.
    pub(super) fn detect_losses(&mut self, memory: &Memory, path: &Path) -> u32 {
        self.rack.deadline = None;
        if !self.is_sack_permitted || self.rack.latest.is_none() {
            return 0;
        }
        let window = memory.reorder_window(self.sacked_segments, path.min_rtt, path.srtt);
        self.detect_fresh(window, path.now) + self.detect_resent(window, path.now)
    }

    fn detect_fresh(&mut self, window: Duration, now: Instant) -> u32 {
        let mut newly_lost = 0;
        self.fresh_position = self.fresh_position.max(self.una_position);
        let Some(from) = self.seq_at(self.fresh_position) else { return 0 };
        let mut index = self.find(from);
        while let Some(record) = self.records.get(index).copied() {
            self.steps += 1;
            if record.state == State::InFlight && !record.history.has(History::RESENT) {
                match self.rack.judge(&record, window, now) {
                    Verdict::Lost => newly_lost += self.set_state(index, State::Lost),
                    Verdict::LostAt(at) => {
                        self.rack.deadline = Some(at);
                        break;
                    }
                    Verdict::Unknown => break,
                }
            }
            self.fresh_position = self.position(record.end);
            index += 1;
        }
        newly_lost
    }

    fn detect_resent(&mut self, window: Duration, now: Instant) -> u32 {
        let mut newly_lost = 0;
        while let Some(entry) = self.resent.front().copied() {
            self.steps += 1;
            let start = if entry.start.before(self.una) { self.una } else { entry.start };
            if !start.before(entry.end) {
                self.resent.pop_front();
                continue;
            }
            let index = self.find(start);
            let Some(record) = self.records.get(index).copied() else { break };
            let is_the_one = record.state == State::InFlight
                && record.history.has(History::RESENT)
                && record.sent_us == entry.sent_us;
            if is_the_one {
                match self.rack.judge(&record, window, now) {
                    Verdict::Lost => newly_lost += self.set_state(index, State::Lost),
                    Verdict::LostAt(at) => {
                        let earlier = self.rack.deadline.map_or(at, |other| other.min(at));
                        self.rack.deadline = Some(earlier);
                        break;
                    }
                    Verdict::Unknown => break,
                }
            }
            if let Some(front) = self.resent.front_mut() {
                front.start = record.end;
            }
        }
        newly_lost
    }

    /// What is lost and was not sent again, the lowest first: what to send before anything new
    /// (RFC 6675, section 4, NextSeg, rule 1). The caller may send less of it, from its front.
    pub fn next_lost(&mut self) -> Option<(Seq, Seq)> {
        while let Some(Reverse(position)) = self.lost.peek().copied() {
            self.steps += 1;
            if let Some(start) = self.seq_at(position) {
                let index = self.find(start);
                let record = self.records.get(index);
                let lost = |record: &&Record| record.state == State::Lost && record.start == start;
                if let Some(record) = record.filter(lost) {
                    return Some((record.start, record.end));
                }
            }
            self.lost.pop();
        }
        None
    }

    /// Data left again, in segments of `mss` bytes: from `start` to `end`, which lie within what is
    /// in flight. What is SACKed meanwhile is left as it is.
    pub fn resent(&mut self, memory: &mut Memory, start: Seq, end: Seq, mss: u16, now: Instant) {
        let is_inside = start.distance(self.una) < end.distance(self.una)
            && end.distance(self.una) <= self.end().distance(self.una);
        if !is_inside {
            return;
        }
        let mut index = self.find(start);
        if self.records.get(index).is_some_and(|record| record.start != start) {
            self.split(index, start, true);
            index += 1;
        }
        let sent_us = now.as_micros() as u32;
        while let Some(record) = self.records.get(index).copied() {
            if !record.start.before(end) {
                break;
            }
            if record.end.after(end) {
                self.split(index, end, true);
            }
            if record.state != State::Sacked {
                self.set_state(index, State::InFlight);
                if let Some(record) = self.records.get_mut(index) {
                    record.sent_us = sent_us;
                    record.mss = mss.max(1);
                    record.history = record.history.with(History::RESENT);
                }
                index = self.join_when_crowded(index);
            }
            index += 1;
        }
        self.resent.push_back(Resent { start, end, sent_us });
        memory.flags.set(Flags::RESENT, true);
        if memory.phase != super::Phase::Open {
            memory.undo_bytes = memory.undo_bytes.saturating_add(end.distance(start));
            self.first_resent_at = self.first_resent_at.or(Some(now));
        }
    }
}

/// Turns the reordering timer's questions into those of an ACK.
impl Path {
    pub fn of(ack: &Ack<'_>) -> Self {
        Self { srtt: ack.srtt, min_rtt: ack.min_rtt, now: ack.now }
    }
}
