//! What a connection remembers of its losses while nothing is in flight.

use core::time::Duration;

use portolan_wire::{Seq, tcp::SackBlock};

use super::{Ack, Acked};

/// The part of loss detection that outlives the flight: 32 bytes.
#[derive(Clone, Debug)]
pub struct Memory {
    /// RACK.fack: the highest sequence number that was acknowledged or SACKed.
    pub(super) fack: Seq,
    /// RACK.dsack_round: SND.NXT when the reordering window grew last, with `DSACK_ROUND`.
    pub(super) dsack_round: Seq,
    /// SND.NXT when recovery began (RecoveryPoint of RFC 6675, `recover` of RFC 6582), with
    /// `RECOVERY_POINT`.
    pub(super) recovery_point: Seq,
    /// SND.UNA when the recovery began that may be undone.
    pub(super) undo_from: Seq,
    /// How many of the bytes sent again since then no D-SACK has shown to be needless; zero: there
    /// is nothing to undo.
    pub(super) undo_bytes: u32,
    /// SND.NXT at the last undo, with `UNDO_ROUND`: no other one before it is acknowledged, so that
    /// a receiver that lies cannot make us mark and unmark without end.
    pub(super) undo_round: Seq,
    /// TLP.end_seq, with `PROBE`.
    pub(super) probe_end: Seq,
    pub(super) flags: Flags,
    /// RACK.reo_wnd_mult.
    pub(super) reorder_multiplier: u8,
    /// RACK.reo_wnd_persist.
    pub(super) reorder_persist: u8,
    pub(super) phase: Phase,
}

/// What is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    Open,
    /// What RACK or duplicate ACKs found lost: fast recovery.
    Fast,
    /// What a retransmission timeout found lost.
    Timeout,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags(u8);

impl Flags {
    pub const DSACK_ROUND: u8 = 1;
    pub const RECOVERY_POINT: u8 = 2;
    pub const UNDO_ROUND: u8 = 4;
    /// A tail loss probe is not answered yet,
    pub const PROBE: u8 = 8;
    /// and it was a retransmission.
    pub const PROBE_RESENT: u8 = 16;
    /// RACK.reordering_seen.
    pub const REORDERING: u8 = 32;
    /// Something was sent again, ever.
    pub const RESENT: u8 = 64;
    /// SND.UNA has reached the end of the probe.
    pub const PROBE_ACKNOWLEDGED: u8 = 128;

    pub fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    pub fn set(&mut self, flag: u8, to: bool) {
        self.0 = if to { self.0 | flag } else { self.0 & !flag };
    }
}

impl Memory {
    /// Nothing is known; `una` is SND.UNA when the handshake is done.
    #[must_use]
    pub fn new(una: Seq) -> Self {
        Self {
            fack: una,
            dsack_round: una,
            recovery_point: una,
            undo_from: una,
            undo_bytes: 0,
            undo_round: una,
            probe_end: una,
            flags: Flags::default(),
            reorder_multiplier: 1,
            reorder_persist: 0,
            phase: Phase::Open,
        }
    }

    /// What is being repaired.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether a tail loss probe was sent whose answer is still to be judged.
    #[must_use]
    pub fn is_probe_outstanding(&self) -> bool {
        self.flags.has(Flags::PROBE)
    }

    /// Takes in an ACK while nothing is in flight: the D-SACK of a needless retransmission may
    /// arrive then, and the answer to a probe.
    pub fn acknowledge(&mut self, ack: &Ack<'_>) -> Acked {
        let dsack = duplicate_block(ack);
        let spurious = self.take_dsack(dsack, ack);
        if spurious {
            self.on_undo(ack.nxt);
        }
        self.end_rounds(ack.una);
        let probe_repaired = self.take_probe_answer(dsack, ack);
        Acked { spurious, probe_repaired, ..Acked::default() }
    }

    /// RFC 2883, section 4, and RFC 3708. True if with this one all retransmissions of the last
    /// recovery are known to have been needless.
    pub(super) fn take_dsack(&mut self, dsack: Option<SackBlock>, ack: &Ack<'_>) -> bool {
        let Some(block) = dsack.filter(|_| self.flags.has(Flags::RESENT)) else { return false };
        if self.flags.has(Flags::PROBE_RESENT) && block.right == self.probe_end {
            // RFC 8985, section 7.4.2: it answers the probe, and says nothing of reordering.
            return false;
        }
        // RFC 8985, section 6.2, step 4: grows once per round trip, for the next 16 recoveries.
        if !self.flags.has(Flags::DSACK_ROUND) || ack.una.at_or_after(self.dsack_round) {
            self.flags.set(Flags::DSACK_ROUND, true);
            self.dsack_round = ack.nxt;
            self.reorder_multiplier = self.reorder_multiplier.saturating_add(1);
            self.reorder_persist = REORDER_PERSIST;
        }
        if self.undo_bytes == 0 || block.left.before(self.undo_from) {
            return false;
        }
        self.undo_bytes = self.undo_bytes.saturating_sub(block.right.distance(block.left));
        self.undo_bytes == 0 && self.may_undo(ack.una)
    }

    /// RFC 8985, section 7.4.2: whether the answer to a probe shows that it repaired a loss.
    pub(super) fn take_probe_answer(&mut self, dsack: Option<SackBlock>, ack: &Ack<'_>) -> bool {
        if !self.flags.has(Flags::PROBE) || ack.una.before(self.probe_end) {
            return false;
        }
        let both_arrived = dsack.is_some_and(|block| block.right == self.probe_end);
        let is_resent = self.flags.has(Flags::PROBE_RESENT);
        if is_resent && !both_arrived && ack.una == self.probe_end {
            // The probe is acknowledged, but the original may be too: the next ACK will tell. One
            // for the same number and without SACK is caused by the other of both.
            let is_second = self.flags.has(Flags::PROBE_ACKNOWLEDGED);
            self.flags.set(Flags::PROBE_ACKNOWLEDGED, true);
            if is_second && ack.sack.is_empty() {
                self.end_probe();
            }
            return false;
        }
        self.end_probe();
        is_resent && !both_arrived
    }

    /// RACK's window for reordering: RFC 8985, section 6.2, step 4.
    pub(super) fn reorder_window(
        &self,
        sacked_segments: u32,
        min_rtt: Option<Duration>,
        srtt: Option<Duration>,
    ) -> Duration {
        let is_threshold_met = sacked_segments >= DUPLICATE_THRESHOLD;
        if !self.flags.has(Flags::REORDERING) && (self.phase != Phase::Open || is_threshold_met) {
            return Duration::ZERO;
        }
        let quarter = min_rtt.unwrap_or_default() / 4;
        let window = quarter.saturating_mul(self.reorder_multiplier.into());
        window.min(srtt.unwrap_or_default())
    }

    /// Recovery begins with `una` to `nxt` outstanding.
    pub(super) fn enter(&mut self, phase: Phase, una: Seq, nxt: Seq) {
        self.phase = phase;
        self.recovery_point = nxt;
        self.flags.set(Flags::RECOVERY_POINT, true);
        self.undo_from = una;
        self.undo_bytes = 0;
        self.end_probe();
    }

    /// Ends recovery if SND.UNA has reached its point. True if it has.
    pub(super) fn leave(&mut self, una: Seq) -> bool {
        if self.phase == Phase::Open || una.before(self.recovery_point) {
            return false;
        }
        self.phase = Phase::Open;
        // RFC 8985, section 6.2, step 4: 16 recoveries without a D-SACK, and the window is small.
        self.reorder_persist = self.reorder_persist.saturating_sub(1);
        if self.reorder_persist == 0 {
            self.reorder_multiplier = 1;
        }
        true
    }

    /// Recovery was needless and is over.
    pub(super) fn on_undo(&mut self, nxt: Seq) {
        if self.phase == Phase::Fast {
            // What looked lost came late: that is reordering.
            self.flags.set(Flags::REORDERING, true);
        }
        self.phase = Phase::Open;
        self.undo_bytes = 0;
        self.undo_round = nxt;
        self.flags.set(Flags::UNDO_ROUND, true);
    }

    pub(super) fn may_undo(&self, una: Seq) -> bool {
        !self.flags.has(Flags::UNDO_ROUND) || una.at_or_after(self.undo_round)
    }

    /// Forgets sequence numbers that are acknowledged: in 2^31 bytes they would come again.
    pub(super) fn end_rounds(&mut self, una: Seq) {
        for (flag, end) in [
            (Flags::DSACK_ROUND, self.dsack_round),
            (Flags::UNDO_ROUND, self.undo_round),
            (Flags::RECOVERY_POINT, self.recovery_point),
        ] {
            if una.after(end) {
                self.flags.set(flag, false);
            }
        }
        if una.after(self.fack) {
            self.fack = una;
        }
    }

    pub(super) fn end_probe(&mut self) {
        self.flags.set(Flags::PROBE | Flags::PROBE_RESENT | Flags::PROBE_ACKNOWLEDGED, false);
    }
}

/// The D-SACK of an ACK: its first block, if below SEG.ACK or within the second one. RFC 2883,
/// section 4.
pub(super) fn duplicate_block(ack: &Ack<'_>) -> Option<SackBlock> {
    let first = *ack.sack.first()?;
    if !first.left.before(first.right) {
        return None;
    }
    let is_below = first.right.at_or_before(ack.una);
    let is_within = ack.sack.get(1).is_some_and(|second| {
        second.left.at_or_before(first.left) && first.right.at_or_before(second.right)
    });
    (is_below || is_within).then_some(first)
}

/// DupThresh of RFC 6675, section 2.
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;
const REORDER_PERSIST: u8 = 16;

const _: () = assert!(size_of::<Memory>() <= 32);
