//! What is in flight, what of it arrived, what was lost: SACK (RFC 2018, 2883, 6675), RACK-TLP (RFC
//! 8985), and NewReno (RFC 6582) for peers without SACK.
//!
//! A [`Scoreboard`] exists while data is in flight; what must outlive it is the connection's
//! [`Memory`]. The order of the calls:
//!
//! - a segment leaves: [`sent`](Scoreboard::sent), or [`resent`](Scoreboard::resent) for what
//!   [`next_lost`](Scoreboard::next_lost) or [`probe_segment`](Scoreboard::probe_segment) named
//!   (the latter with [`probe_sent`](Scoreboard::probe_sent) as well),
//! - an ACK arrives: [`acknowledge`](Scoreboard::acknowledge), or
//!   [`Memory::acknowledge`] when nothing is in flight; its [`Acked`] goes to
//!   [`Congestion::react`](super::congestion::Congestion::react),
//! - then timers: [`reorder_deadline`](Scoreboard::reorder_deadline) and
//!   [`probe_timeout`](Scoreboard::probe_timeout); when they fire,
//!   [`handle_reorder_timeout`](Scoreboard::handle_reorder_timeout), a probe, or
//!   [`on_timeout`](Scoreboard::on_timeout).
//!
//! What an ACK costs is bounded by what was sent: a record is passed over once when it is SACKed,
//! once when it is acknowledged, once per time that it is found lost, and looked up by binary
//! search; neighbours that are SACKed become one record. `steps` counts it (CVE-2019-11477 to
//! 11479). Only a split and a join, of which there are less than segments sent, move other records
//! aside: at most half of [`RECORDS_MAX`], of 16 bytes each.

mod acknowledge;
mod duplicate;
mod memory;
mod rack;
mod record;
mod sack;
mod tail_probe;
mod timeout;

use alloc::{
    collections::{BinaryHeap, VecDeque},
    vec::Vec,
};
use core::{cmp::Reverse, time::Duration};

use portolan_wire::{Seq, tcp::SackBlock};

use crate::Instant;

pub use memory::{Memory, Phase};
use record::Record;
pub use timeout::TimedOut;

/// The records of what is in flight, in the order of the sequence numbers, without gaps.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    /// SND.UNA.
    una: Seq,
    /// `una` as a number that does not wrap, for the order of `lost`.
    una_position: u64,
    records: VecDeque<Record>,
    /// Where the lost records begin that have not been sent again, and stale entries.
    lost: BinaryHeap<Reverse<u64>>,
    /// What was sent again, in that order, and stale entries.
    resent: VecDeque<rack::Resent>,
    /// Before this position each record that was sent once is SACKed or lost.
    fresh_position: u64,
    /// Bytes by state; what is neither is in flight.
    sacked_bytes: u32,
    lost_bytes: u32,
    /// Segments SACKed since nothing was.
    sacked_segments: u32,
    rack: rack::Rack,
    duplicate: duplicate::Duplicates,
    /// When the first retransmission of this recovery left, for Eifel's detection.
    first_resent_at: Option<Instant>,
    /// How many more ACKs that deliver something may refute the last timeout (RFC 5682).
    timeout_tests: u8,
    is_sack_permitted: bool,
    steps: u64,
}

impl Ack<'_> {
    /// Whether what caused it left before `sent`, by its timestamp. As RFC 3522, section 3.2 has
    /// it, that clock's ticks are compared: of an age that was made of two of them nobody knows
    /// whether it is up to a tick too long.
    fn is_caused_before(&self, sent: Instant) -> bool {
        let ticks = self.now.as_millis().saturating_sub(sent.as_millis());
        self.echo.is_some_and(|echo| echo > Duration::from_millis(ticks) + ECHO_TICK)
    }
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// SEG.ACK; not beyond `nxt`, which is the caller's matter. One before SND.UNA is taken for its
    /// SACK blocks alone.
    pub una: Seq,
    /// SND.NXT.
    pub nxt: Seq,
    /// The blocks of the option in their order, a D-SACK first; at most four are looked at. Empty
    /// if there is no option, or SACK was not negotiated.
    pub sack: &'a [SackBlock],
    /// How long ago the segment was sent whose timestamp is echoed (TSecr), in ticks of that clock,
    /// of 1 ms, and one more: longer than it was, by less than 2 ms; none without the option.
    pub echo: Option<Duration>,
    /// It is a duplicate by RFC 5681, section 2: data outstanding, no data in it, no SYN or FIN,
    /// SEG.ACK = SND.UNA, the same window. Counts only where SACK was not negotiated.
    pub is_duplicate: bool,
    /// [`Rtt::srtt`](super::rtt::Rtt::srtt).
    pub srtt: Option<Duration>,
    /// [`Rtt::min`](super::rtt::Rtt::min).
    pub min_rtt: Option<Duration>,
    /// Now.
    pub now: Instant,
}

/// What an ACK or a timer changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Bytes that the cumulative ACK newly covers; what the send buffer may drop.
    pub bytes: u32,
    /// Bytes newly acknowledged or SACKed (DeliveredData of RFC 9937).
    pub delivered: u32,
    /// Bytes sent and neither acknowledged nor SACKed before this (RecoverFS of RFC 9937).
    pub outstanding: u32,
    /// Bytes from SND.UNA to SND.NXT after it.
    pub unacknowledged: u32,
    /// A round trip to take in: of the newest segment delivered that was sent once (Karn), else by
    /// the timestamp if SND.UNA advanced.
    pub rtt: Option<Duration>,
    /// Bytes newly found lost.
    pub newly_lost: u32,
    /// The last recovery or timeout was needless, as D-SACKs (RFC 3708), timestamps (Eifel, RFC
    /// 3522) or F-RTO (RFC 5682) show: reductions are to be undone, and a back-off too.
    pub spurious: bool,
    /// A tail loss probe repaired a loss (RFC 8985, section 7.4): the window is to be reduced.
    pub probe_repaired: bool,
    /// What it is for the congestion window.
    pub stage: Stage,
}

/// What an ACK is for the congestion window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is being recovered.
    #[default]
    Open,
    /// Fast recovery begins with it.
    Entered,
    /// Fast recovery goes on.
    Fast,
    /// Fast recovery ends with it.
    Ended,
    /// What a timeout found lost is being repaired, in slow start; also with its last ACK.
    Timeout,
}

impl Scoreboard {
    /// Nothing is in flight, the next segment begins at `una`.
    #[must_use]
    pub fn new(una: Seq, is_sack_permitted: bool) -> Self {
        Self {
            una,
            una_position: 0,
            records: VecDeque::new(),
            lost: BinaryHeap::new(),
            resent: VecDeque::new(),
            fresh_position: 0,
            sacked_bytes: 0,
            lost_bytes: 0,
            sacked_segments: 0,
            rack: rack::Rack::default(),
            duplicate: duplicate::Duplicates::default(),
            first_resent_at: None,
            timeout_tests: 0,
            is_sack_permitted,
            steps: 0,
        }
    }

    /// As [`new`](Self::new), but keeps what is allocated, up to some KiB: for a pool.
    pub fn reset(&mut self, una: Seq, is_sack_permitted: bool) {
        let mut fresh = Self::new(una, is_sack_permitted);
        fresh.records = core::mem::take(&mut self.records);
        fresh.records.clear();
        fresh.records.shrink_to(RECORDS_KEPT);
        fresh.resent = core::mem::take(&mut self.resent);
        fresh.resent.clear();
        fresh.resent.shrink_to(RECORDS_KEPT);
        let mut lost: Vec<_> = core::mem::take(&mut self.lost).into_vec();
        lost.clear();
        lost.shrink_to(RECORDS_KEPT);
        fresh.lost = lost.into();
        *self = fresh;
    }

    /// New data left: from `start`, which is SND.NXT before, to `end`, in segments of `mss` bytes
    /// (the last one may be shorter). Meant for a burst of up to 64 KiB. A FIN counts as a byte.
    /// Does nothing if `start` is not where the last record ends.
    pub fn sent(&mut self, start: Seq, end: Seq, mss: u16, now: Instant) {
        if start == self.end() && start.before(end) {
            self.records.push_back(Record::new(start, end, mss, now));
        }
    }

    /// No more records: the sender waits for an ACK. What is lost may be sent again nevertheless.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.records.len() >= RECORDS_MAX
    }

    /// Whether nothing is in flight, and nothing lost: the scoreboard may go back to its pool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// SND.UNA, as far as the scoreboard knows.
    #[must_use]
    pub fn una(&self) -> Seq {
        self.una
    }

    /// Behind the last byte sent: SND.NXT.
    #[must_use]
    pub fn end(&self) -> Seq {
        self.records.back().map_or(self.una, |record| record.end)
    }

    /// Bytes thought to be under way (pipe of RFC 6675, section 4): neither acknowledged, nor
    /// SACKed, nor lost unless sent again.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.outstanding().saturating_sub(self.lost_bytes)
    }

    /// Bytes sent and neither acknowledged nor SACKed.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        let sent = self.end().distance(self.una);
        sent.saturating_sub(self.sacked_bytes).saturating_sub(self.duplicate.delivered())
    }

    /// Whether something is lost that was not sent again.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.lost_bytes > 0
    }

    /// Operations on records so far: what tests bound.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}

/// Records at most, but for what retransmissions of parts add.
pub const RECORDS_MAX: usize = 4_096;
/// What a pooled scoreboard keeps room for.
const RECORDS_KEPT: usize = 128;
/// How much is added to an age by timestamps.
const ECHO_TICK: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
