//! Selective acknowledgements: RFC 2018, and what RFC 6675, section 4 makes of them (Update).

use portolan_wire::{Seq, tcp::SackBlock};

use super::{
    Ack, Scoreboard,
    acknowledge::Delivery,
    memory::Memory,
    record::{Record, State},
};

impl Scoreboard {
    pub(super) fn take_blocks(
        &mut self,
        memory: &mut Memory,
        ack: &Ack<'_>,
        delivery: &mut Delivery,
    ) {
        for block in ack.sack.iter().take(BLOCKS_MAX) {
            if self.is_plausible(block) {
                self.take_block(memory, ack, block, delivery);
            }
        }
    }

    /// A block counts if it lies beyond SND.UNA and within what was sent. Others are D-SACKs, come
    /// late, or are lies.
    fn is_plausible(&self, block: &SackBlock) -> bool {
        let sent = self.end().distance(self.una);
        let left = block.left.distance(self.una);
        let right = block.right.distance(self.una);
        0 < left && left < right && right <= sent
    }

    fn take_block(
        &mut self,
        memory: &mut Memory,
        ack: &Ack<'_>,
        block: &SackBlock,
        delivery: &mut Delivery,
    ) {
        let first = self.find(block.left);
        let mut index = first;
        while let Some(record) = self.records.get(index).copied() {
            self.steps += 1;
            if !record.start.before(block.right) {
                break;
            }
            if record.state == State::Sacked {
                index += 1;
                continue;
            }
            let (left, right) = covered(&record, block);
            if !left.before(right) {
                index += 1;
                continue;
            }
            if record.start.before(left) {
                if !self.split(index, left, false) {
                    index += 1;
                    continue;
                }
                // The second part is next.
                index += 1;
            }
            if right.before(record.end) && !self.split(index, right, false) {
                index += 1;
                continue;
            }
            if let Some(whole) = self.records.get(index).copied() {
                self.deliver(memory, ack, &whole, delivery);
                self.set_state(index, State::Sacked);
                self.sacked_segments += whole.len().div_ceil(whole.mss.into());
            }
            index += 1;
        }
        self.join_sacked(first.saturating_sub(1), index);
    }

    /// Makes one record of each run of SACKed ones among those from `from` to `to`, both included:
    /// so that no block that comes again walks over them again.
    fn join_sacked(&mut self, from: usize, to: usize) {
        let mut index = from;
        let mut to = to.min(self.records.len().saturating_sub(1));
        while index < to {
            let is_sacked = |record: &Record| record.state == State::Sacked;
            let run = self.records.range(index..=to).take_while(|record| is_sacked(record)).count();
            self.steps += run.max(1) as u64;
            if run > 1 {
                let last = index + run - 1;
                let (end, resent) = self.last_of_run(index, last);
                if let Some(first) = self.records.get_mut(index) {
                    first.end = end;
                    first.history = resent;
                }
                self.records.drain(index + 1..=last);
                to -= run - 1;
            }
            index += 1;
        }
    }

    fn last_of_run(&self, first: usize, last: usize) -> (Seq, super::record::History) {
        let history = self
            .records
            .range(first..=last)
            .fold(super::record::History::default(), |history, record| {
                history.with(record.history)
            });
        (self.records.get(last).map_or(self.una, |record| record.end), history)
    }

    /// When retransmissions of parts have made too many records, the one at `index` becomes part
    /// of the one before it, if that was sent again as well. Returns the index it has then.
    pub(super) fn join_when_crowded(&mut self, index: usize) -> usize {
        use super::record::History;
        let is_crowded = self.records.len() > super::RECORDS_MAX;
        let Some(before) = index.checked_sub(1).filter(|_| is_crowded) else { return index };
        let (Some(first), Some(second)) = (self.records.get(before), self.records.get(index))
        else {
            return index;
        };
        let may_join = [first, second]
            .iter()
            .all(|record| record.state == State::InFlight && record.history.has(History::RESENT))
            && first.len() + second.len() <= BURST_BYTES_MAX;
        if !may_join {
            return index;
        }
        let second = *second;
        if let Some(first) = self.records.get_mut(before) {
            first.end = second.end;
            first.sent_us = second.sent_us;
        }
        self.records.remove(index);
        before
    }
}

/// Which whole segments of a record a block covers. Parts of segments do not count: otherwise a
/// receiver could cut a record into single bytes (CVE-2019-11478).
fn covered(record: &Record, block: &SackBlock) -> (Seq, Seq) {
    let mss = u32::from(record.mss);
    let left = if block.left.after(record.start) {
        record.start + block.left.distance(record.start).div_ceil(mss).saturating_mul(mss)
    } else {
        record.start
    };
    let right = if block.right.before(record.end) {
        record.start + block.right.distance(record.start) / mss * mss
    } else {
        record.end
    };
    (left, right)
}

/// What fits into the option: RFC 2018, section 3.
const BLOCKS_MAX: usize = 4;
const BURST_BYTES_MAX: u32 = 65_536;
