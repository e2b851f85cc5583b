//! A record of something sent, and where to find it.

use core::cmp::Reverse;

use portolan_wire::Seq;

use super::{RECORDS_MAX, Scoreboard};
use crate::Instant;

/// One or more segments of `mss` bytes that left together and have one state. 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub start: Seq,
    pub end: Seq,
    /// When it left last, in microseconds, wrapping: see [`Record::age_us`].
    pub sent_us: u32,
    pub mss: u16,
    pub state: State,
    pub history: History,
}

/// What is thought of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    InFlight,
    Sacked,
    /// Lost, and not sent again.
    Lost,
}

/// What happened to a record, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History(u8);

impl History {
    /// It was sent more than once: Karn's algorithm takes no round trip from it.
    pub const RESENT: Self = Self(1);
    /// It was SACKed when a timeout made that doubtful.
    pub const WAS_SACKED: Self = Self(2);
    /// It was the first one when the retransmission timer expired.
    pub const TIMED_OUT: Self = Self(4);

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Record {
    pub fn new(start: Seq, end: Seq, mss: u16, now: Instant) -> Self {
        let (state, history) = (State::InFlight, History::default());
        Self { start, end, sent_us: now.as_micros() as u32, mss: mss.max(1), state, history }
    }

    pub fn len(&self) -> u32 {
        self.end.distance(self.start)
    }

    /// Microseconds since it left last. Wrong after more than 71 minutes, which only a record has
    /// that is lost or SACKed, and whose age nobody asks for: a timeout comes after 2 minutes.
    pub fn age_us(&self, now: Instant) -> u32 {
        (now.as_micros() as u32).wrapping_sub(self.sent_us)
    }

    /// Whether it left later than another one, or together with it and lies behind it:
    /// RACK_sent_after of RFC 8985, section 6.2.
    pub fn is_sent_after(&self, sent_us: u32, end: Seq) -> bool {
        let ahead = self.sent_us.wrapping_sub(sent_us).cast_signed();
        ahead > 0 || (ahead == 0 && self.end.after(end))
    }
}

impl Scoreboard {
    /// The index of the record that holds `seq`, which is from SND.UNA to SND.NXT; the number of
    /// records for SND.NXT.
    pub(super) fn find(&mut self, seq: Seq) -> usize {
        let distance = seq.distance(self.una);
        self.steps += u64::from(self.records.len().checked_ilog2().unwrap_or(0)) + 1;
        self.records.partition_point(|record| record.end.distance(self.una) <= distance)
    }

    pub(super) fn position(&self, seq: Seq) -> u64 {
        self.una_position + u64::from(seq.distance(self.una))
    }

    /// The number at a position that lies from SND.UNA on; none before.
    pub(super) fn seq_at(&self, position: u64) -> Option<Seq> {
        let distance = position.checked_sub(self.una_position)?;
        Some(self.una + u32::try_from(distance).ok()?)
    }

    /// Splits the record at `index` before `at`, which lies inside of it. False, and nothing done,
    /// if there are too many records and it is not `forced`.
    pub(super) fn split(&mut self, index: usize, at: Seq, forced: bool) -> bool {
        if self.records.len() >= RECORDS_MAX && !forced {
            return false;
        }
        let Some(record) = self.records.get_mut(index) else { return false };
        let mut second = *record;
        record.end = at;
        second.start = at;
        self.records.insert(index + 1, second);
        self.steps += 2;
        if second.state == State::Lost {
            self.lost.push(Reverse(self.position(at)));
        }
        true
    }

    /// The record at `index` gets a state; the counters follow. Returns its length.
    pub(super) fn set_state(&mut self, index: usize, state: State) -> u32 {
        let Some(record) = self.records.get_mut(index) else { return 0 };
        let (before, start, length) = (record.state, record.start, record.len());
        record.state = state;
        self.steps += 1;
        match before {
            State::InFlight => {}
            State::Sacked => self.sacked_bytes -= length,
            State::Lost => self.lost_bytes -= length,
        }
        match state {
            State::InFlight => {}
            State::Sacked => self.sacked_bytes += length,
            State::Lost => {
                self.lost_bytes += length;
                self.lost.push(Reverse(self.position(start)));
            }
        }
        length
    }
}

const _: () = assert!(size_of::<Record>() == 16);
