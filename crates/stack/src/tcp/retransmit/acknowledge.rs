//! An ACK arrives: what it delivers, and what follows.

use core::{cmp::Reverse, time::Duration};

use super::{
    Ack, Acked, Scoreboard, Stage,
    duplicate::Duplicates,
    memory::{Flags, Memory, Phase, duplicate_block},
    rack::Path,
    record::{History, Record, State},
};
use crate::Instant;

/// What the records that an ACK delivered have in common.
#[derive(Default)]
pub(super) struct Delivery {
    pub bytes: u32,
    /// The newest one that was sent once: when, and its age.
    newest: Option<(Record, Duration)>,
    /// Something that was sent again was cumulatively acknowledged: what lies behind it may have
    /// arrived long ago, and waited for it.
    is_ambiguous: bool,
    /// Something sent once before a timeout was delivered after it.
    is_timeout_refuted: bool,
}

impl Scoreboard {
    /// Takes in an ACK. Its cost is bounded: see the module.
    pub fn acknowledge(&mut self, memory: &mut Memory, ack: &Ack<'_>) -> Acked {
        let mut acked = Acked { outstanding: self.outstanding(), ..Acked::default() };
        let phase_before = memory.phase;
        let mut delivery = Delivery::default();
        let first_mss = self.records.front().map_or(0, |first| u32::from(first.mss));
        acked.bytes = self.advance(memory, ack, &mut delivery);
        if self.is_sack_permitted {
            self.take_blocks(memory, ack, &mut delivery);
        }
        acked.delivered = self.duplicate.correct(acked.bytes, delivery.bytes, first_mss);
        if self.records.is_empty() {
            self.duplicate = Duplicates::default();
        }
        if acked.bytes == 0 && ack.is_duplicate && ack.una == self.una {
            acked.delivered += self.take_duplicate();
        }
        let newest = delivery.newest.as_ref();
        let sample =
            newest.filter(|(record, _)| !delivery.is_ambiguous || record.end.after(ack.una));
        acked.rtt = sample.map(|(_, rtt)| *rtt);
        if acked.bytes > 0 {
            // RFC 7323, section 4.1: only where SND.UNA advances.
            acked.rtt = acked.rtt.or(ack.echo);
        }

        let dsack = duplicate_block(ack).filter(|_| self.is_sack_permitted);
        acked.spurious = memory.take_dsack(dsack, ack);
        acked.spurious |= memory.phase != Phase::Open
            && memory.may_undo(self.una)
            && (self.is_retransmission_late(acked.bytes, ack)
                || (self.timeout_tests > 0 && delivery.is_timeout_refuted));
        if acked.spurious {
            self.undo(memory);
        }
        if delivery.bytes > 0 {
            self.timeout_tests = self.timeout_tests.saturating_sub(1);
        }
        memory.leave(self.una);
        memory.end_rounds(self.una);
        acked.probe_repaired = memory.take_probe_answer(dsack, ack);

        acked.newly_lost = self.detect_losses(memory, &Path::of(ack));
        acked.newly_lost += self.detect_duplicates(memory, phase_before, acked.bytes);
        acked.stage = self.settle(memory, phase_before, acked.newly_lost);
        acked.unacknowledged = self.end().distance(self.una);
        acked
    }

    /// The reordering timer fired: what is still missing is lost (RFC 8985, section 6.2, step 5).
    /// The [`Acked`] goes to the congestion window as that of an ACK does.
    pub fn handle_reorder_timeout(
        &mut self,
        memory: &mut Memory,
        srtt: Option<Duration>,
        min_rtt: Option<Duration>,
        now: Instant,
    ) -> Acked {
        let outstanding = self.outstanding();
        let phase_before = memory.phase;
        let newly_lost = self.detect_losses(memory, &Path { srtt, min_rtt, now });
        let stage = self.settle(memory, phase_before, newly_lost);
        Acked { outstanding, newly_lost, stage, ..Acked::default() }
    }

    /// When to call [`handle_reorder_timeout`](Self::handle_reorder_timeout); none: not needed.
    #[must_use]
    pub fn reorder_deadline(&self) -> Option<Instant> {
        self.rack.deadline
    }

    /// The cumulative part. Returns by how many bytes SND.UNA advanced.
    fn advance(&mut self, memory: &mut Memory, ack: &Ack<'_>, delivery: &mut Delivery) -> u32 {
        let sent = self.end().distance(self.una);
        let advanced = ack.una.distance(self.una);
        if ack.una.before(self.una) || advanced > sent {
            return 0;
        }
        while let Some(record) = self.records.front().copied() {
            self.steps += 1;
            if record.end.distance(self.una) > advanced {
                break;
            }
            self.records.pop_front();
            self.drop_bytes(&record, record.len());
            self.deliver(memory, ack, &record, delivery);
        }
        let mut lost_rest = false;
        if let Some(front) = self.records.front_mut() {
            let length = ack.una.distance(self.una).saturating_sub(front.start.distance(self.una));
            if length > 0 {
                let mut part = *front;
                part.end = ack.una;
                front.start = ack.una;
                lost_rest = front.state == State::Lost;
                self.drop_bytes(&part, length);
                self.deliver(memory, ack, &part, delivery);
            }
        }
        self.una = ack.una;
        self.una_position += u64::from(advanced);
        if lost_rest {
            self.lost.push(Reverse(self.una_position));
        }
        if self.sacked_bytes == 0 {
            self.sacked_segments = 0;
        }
        if self.records.is_empty() {
            self.lost.clear();
            self.resent.clear();
        }
        advanced
    }

    fn drop_bytes(&mut self, record: &Record, length: u32) {
        match record.state {
            State::InFlight => {}
            State::Sacked => self.sacked_bytes = self.sacked_bytes.saturating_sub(length),
            State::Lost => self.lost_bytes = self.lost_bytes.saturating_sub(length),
        }
    }

    /// A record, or a part of one, has arrived; `record` is as it was before.
    pub(super) fn deliver(
        &mut self,
        memory: &mut Memory,
        ack: &Ack<'_>,
        record: &Record,
        delivery: &mut Delivery,
    ) {
        if record.state == State::Sacked {
            return;
        }
        delivery.bytes += record.len();
        self.rack.take_delivered(record, ack);
        delivery.is_ambiguous |=
            record.history.has(History::RESENT) && ack.una.at_or_after(record.end);
        // What was SACKed before a timeout arrived then, not now.
        let arrives_now = !record.history.has(History::RESENT.with(History::WAS_SACKED));
        if arrives_now {
            let is_newer =
                |(newest, _): &(Record, Duration)| record.is_sent_after(newest.sent_us, newest.end);
            if delivery.newest.as_ref().is_none_or(is_newer) {
                let rtt = Duration::from_micros(record.age_us(ack.now).into());
                delivery.newest = Some((*record, rtt));
            }
            // RFC 5682, section 3: data that was sent before the timeout, and not again, arrives.
            // A cumulative ACK with a timestamp is left to Eifel's algorithm, which is surer.
            let is_by_sack = ack.una.before(record.end);
            delivery.is_timeout_refuted |= self.is_sack_permitted
                && record.end.at_or_before(memory.recovery_point)
                && (is_by_sack || ack.echo.is_none());
        }
        // RFC 8985, section 6.2, step 3.
        if record.end.after(memory.fack) {
            memory.fack = record.end;
        } else if record.end.before(memory.fack) && arrives_now {
            memory.flags.set(Flags::REORDERING, true);
        }
    }

    /// RFC 3522: the ACK was caused by something sent before the first retransmission.
    fn is_retransmission_late(&self, advanced: u32, ack: &Ack<'_>) -> bool {
        advanced > 0 && self.first_resent_at.is_some_and(|first| ack.is_caused_before(first))
    }

    /// What is marked lost and was sent once is in flight after all.
    fn undo(&mut self, memory: &mut Memory) {
        let mut lost = core::mem::take(&mut self.lost).into_vec();
        lost.retain(|Reverse(position)| {
            let Some(start) = self.seq_at(*position) else { return false };
            let index = self.find(start);
            let Some(record) = self.records.get(index).copied() else { return false };
            if record.state != State::Lost || record.start != start {
                return false;
            }
            // What was sent again has left the queue that RACK watches: it is sent once more.
            let is_sent_once = !record.history.has(History::RESENT);
            if is_sent_once {
                self.set_state(index, State::InFlight);
            }
            !is_sent_once
        });
        self.lost = lost.into();
        self.fresh_position = self.una_position;
        self.first_resent_at = None;
        self.timeout_tests = 0;
        memory.on_undo(self.end());
    }

    /// Enters recovery if something was newly lost, and tells what the ACK is for the window.
    fn settle(&mut self, memory: &mut Memory, phase_before: Phase, newly_lost: u32) -> Stage {
        if newly_lost > 0 && memory.phase == Phase::Open {
            memory.enter(Phase::Fast, self.una, self.end());
            self.first_resent_at = None;
            return Stage::Entered;
        }
        match (phase_before, memory.phase) {
            (Phase::Fast, Phase::Open) => Stage::Ended,
            (_, Phase::Fast) => Stage::Fast,
            (Phase::Timeout, _) | (_, Phase::Timeout) => Stage::Timeout,
            (Phase::Open, Phase::Open) => Stage::Open,
        }
    }
}
