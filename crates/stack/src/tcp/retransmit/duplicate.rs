//! Peers without SACK: duplicate ACKs and partial ones, RFC 5681, section 3.2, and RFC 6582.

use super::{
    Scoreboard,
    memory::{DUPLICATE_THRESHOLD, Flags, Memory, Phase},
    record::{History, State},
};

/// The duplicate ACKs since SND.UNA advanced.
#[derive(Clone, Debug, Default)]
pub struct Duplicates {
    count: u32,
    /// Bytes that they show to have arrived, each a segment, somewhere beyond SND.UNA.
    delivered: u32,
}

impl Duplicates {
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// SND.UNA advanced: what duplicate ACKs had counted before is not delivered again. Returns the
    /// bytes newly delivered. The first segment is: it was the one missing.
    pub fn correct(&mut self, advanced: u32, delivered: u32, mss: u32) -> u32 {
        if advanced == 0 {
            return delivered;
        }
        self.count = 0;
        let known = self.delivered.min(delivered.saturating_sub(mss));
        self.delivered -= known;
        delivered - known
    }
}

impl Scoreboard {
    /// A duplicate ACK, without SACK: another segment has arrived. Returns the bytes of it.
    pub(super) fn take_duplicate(&mut self) -> u32 {
        let Some(front) = self.records.front().filter(|_| !self.is_sack_permitted) else {
            return 0;
        };
        let mss = u32::from(front.mss);
        self.duplicate.count = self.duplicate.count.saturating_add(1);
        // Not more than is in flight behind the segment that is missing, however many come.
        let room = self.in_flight().saturating_sub(mss.min(front.len()));
        let delivered = room.min(mss);
        self.duplicate.delivered += delivered;
        delivered
    }

    /// Whether the first segment is lost by the count of duplicate ACKs, or by a partial ACK that
    /// advanced SND.UNA. Returns the bytes newly lost.
    pub(super) fn detect_duplicates(
        &mut self,
        memory: &Memory,
        phase_before: Phase,
        advanced: u32,
    ) -> u32 {
        if self.is_sack_permitted {
            return 0;
        }
        // RFC 6582, section 3.2, step 2: not if the ACK is one that an earlier recovery caused.
        let is_late =
            memory.flags.has(Flags::RECOVERY_POINT) && self.una.at_or_before(memory.recovery_point);
        let is_third =
            memory.phase == Phase::Open && self.duplicate.count >= DUPLICATE_THRESHOLD && !is_late;
        // RFC 6582, section 3.2, step 3, partial acknowledgments.
        let is_partial = phase_before == Phase::Fast && memory.phase == Phase::Fast && advanced > 0;
        if is_third || is_partial { self.lose_first() } else { 0 }
    }

    fn lose_first(&mut self) -> u32 {
        let Some(front) = self.records.front().copied() else { return 0 };
        if front.state != State::InFlight || front.history.has(History::RESENT) {
            return 0;
        }
        if front.len() > front.mss.into() {
            self.split(0, front.start + front.mss.into(), true);
        }
        self.set_state(0, State::Lost)
    }
}
