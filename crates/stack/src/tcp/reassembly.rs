//! What has arrived too early, and what a selective acknowledgement says of it: RFC 2018, RFC 2883.

use alloc::vec::Vec;

use portolan_wire::{
    Seq,
    tcp::{SackBlock, SackBlocks, options::SACK_BLOCKS_MAX},
};

use crate::Instant;

/// What became of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is remembered.
    Stored {
        /// How many of its bytes were not there before, at least one.
        new: u32,
    },
    /// All its bytes were there already, or it has none.
    Duplicate,
    /// It would be one range too many ([`RANGES_MAX`]), and is not remembered: the other side sends
    /// it again.
    Full,
}

/// Which ranges behind RCV.NXT have arrived; the bytes lie in the receiving
/// [`Stream`](crate::buffer::Stream). It also keeps what the next acknowledgement has to report.
///
/// How a segment with the numbers `left..right`, cut to the window, comes in:
///
/// 1. What lies before RCV.NXT has come before: [`duplicate`](Self::duplicate), cut it off.
/// 2. Write the parts that are new, [`gaps`](Self::gaps), into the stream, so that no accepted byte
///    is ever replaced. The offset of a number there is the stream's `len`, and what the number is
///    behind RCV.NXT. If the pool runs out of blocks, the segment ends where the writing ended.
/// 3. If it begins with RCV.NXT: RCV.NXT becomes what [`advance`](Self::advance) answers, and the
///    stream advances as far. Otherwise [`insert`](Self::insert) it.
///
/// `advance` and `insert` notice duplicates behind RCV.NXT by themselves. All numbers that are
/// given in the life of one hole lie less than 2^31 apart, which the window ensures. Up to
/// [`RANGES_MAX`] ranges of 8 bytes; a change costs a binary search, and moves those 8 bytes for
/// each later range at most (CVE-2018-5390 was a walk over all early segments for each segment).
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// In order, neither overlapping nor touching.
    ranges: Vec<SackBlock>,
    /// A number in each of the ranges that changed last, the last one first.
    recent: [Seq; SACK_BLOCKS_MAX],
    recent_count: u8,
    /// Came twice, and was not reported yet.
    duplicate: Option<SackBlock>,
    /// Since when the first gap is open.
    since: Instant,
    /// Comparisons and moves, to show that the costs are as promised.
    #[cfg(test)]
    steps: u64,
}

#[cfg(not(test))]
const _: () = assert!(size_of::<Reassembly>() <= 64);

impl Reassembly {
    /// Nothing has arrived early.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ranges: Vec::new(),
            recent: [Seq(0); SACK_BLOCKS_MAX],
            recent_count: 0,
            duplicate: None,
            since: Instant::ZERO,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// The data from `left` up to, not with, `right` have arrived; `left` lies behind RCV.NXT. What
    /// of them had arrived before is reported as a duplicate.
    pub fn insert(&mut self, left: Seq, right: Seq) -> Inserted {
        if right.at_or_before(left) {
            return Inserted::Duplicate;
        }
        let length = right.distance(left);
        let (from, to) = (self.first_reaching(left), self.first_behind(right));
        let searched = self.ranges.len().checked_ilog2().unwrap_or(0) as usize + 1;
        self.count_steps(2 * searched + to - from);
        let touched = self.ranges.get(from..to).unwrap_or_default();
        let overlap = |range: &SackBlock| overlap(*range, SackBlock { left, right });
        let present =
            touched.iter().filter_map(overlap).map(|part| part.right.distance(part.left)).sum();
        let first_overlap = touched.iter().find_map(overlap);
        match (touched.first().copied(), touched.last().copied()) {
            (Some(first), Some(last)) => {
                let union = SackBlock {
                    left: if first.left.before(left) { first.left } else { left },
                    right: if last.right.after(right) { last.right } else { right },
                };
                self.replace(from, to, union);
            }
            _ if self.ranges.len() >= RANGES_MAX => return Inserted::Full,
            _ => self.replace(from, to, SackBlock { left, right }),
        }
        // RFC 2883, section 4: a duplicate is reported once, the first one of a segment.
        if let Some(block) = first_overlap {
            self.duplicate(block);
        }
        self.touch(left);
        match length.saturating_sub(present) {
            0 => Inserted::Duplicate,
            new => Inserted::Stored { new },
        }
    }

    /// All data up to `next` have arrived in order. Answers the new RCV.NXT: behind the ranges that
    /// this reaches, which are forgotten. What of them had arrived before is reported as a
    /// duplicate.
    pub fn advance(&mut self, next: Seq) -> Seq {
        let reached = self.first_behind(next);
        let Some(last) = self.ranges.get(..reached).and_then(<[_]>::last) else { return next };
        let after = if last.right.after(next) { last.right } else { next };
        if let Some(first) = self.ranges.first()
            && first.left.before(next)
        {
            let right = if first.right.before(next) { first.right } else { next };
            self.duplicate = Some(SackBlock { left: first.left, right });
        }
        self.count_steps(self.ranges.len());
        self.ranges.drain(..reached);
        if self.ranges.is_empty() {
            self.recent_count = 0;
            if self.ranges.capacity() > RANGES_KEPT_MAX {
                self.ranges = Vec::new();
            }
        }
        after
    }

    /// The parts of `left..right` that have not arrived, in order. What lies before RCV.NXT counts
    /// as not arrived.
    pub fn gaps(&self, left: Seq, right: Seq) -> impl Iterator<Item = (Seq, Seq)> {
        let mut left = left;
        let start = self.first_reaching(left);
        let mut ranges = self.ranges.get(start..).unwrap_or_default().iter();
        core::iter::from_fn(move || {
            while left.before(right) {
                let gap = match ranges.next() {
                    Some(range) if range.left.before(right) => {
                        let gap = (left, range.left);
                        left = range.right;
                        gap
                    }
                    _ => {
                        let gap = (left, right);
                        left = right;
                        gap
                    }
                };
                if gap.0.before(gap.1) {
                    return Some(gap);
                }
            }
            None
        })
    }

    /// This came although it was there already: the next acknowledgement says so. It may lie before
    /// RCV.NXT. Of several, the last one is reported (RFC 2883, section 4: a receiver acknowledges
    /// each duplicate at once, and repeats no report).
    pub const fn duplicate(&mut self, block: SackBlock) {
        self.duplicate = Some(block);
    }

    /// Whether a duplicate waits for its report.
    #[must_use]
    pub const fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// The blocks for the next acknowledgement, at most `max` and [`SACK_BLOCKS_MAX`]: first the
    /// last duplicate, once (RFC 2883, section 4), then the ranges, those that changed last first
    /// (RFC 2018, section 4).
    pub fn sack_blocks(&mut self, max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let max = max.min(SACK_BLOCKS_MAX);
        if max == 0 {
            return blocks;
        }
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(duplicate);
        }
        let first_range = blocks.as_slice().len();
        let recent = self.recent.iter().take(self.recent_count.into());
        let recent = recent.filter_map(|seq| self.containing(*seq));
        // Merged ranges leave places: the others follow, those with the highest numbers first.
        for range in recent.chain(self.ranges.iter().rev().copied().take(SACK_BLOCKS_MAX)) {
            if blocks.as_slice().len() == max {
                break;
            }
            if !blocks.as_slice().iter().skip(first_range).any(|block| *block == range) {
                blocks.push(range);
            }
        }
        blocks
    }

    /// Whether nothing has arrived early.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// What has arrived early, in order; the ranges neither overlap nor touch.
    #[must_use]
    pub fn ranges(&self) -> &[SackBlock] {
        &self.ranges
    }

    /// Forgets all that was here.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Forgets all ranges: their bytes were dropped, for want of memory. No acknowledgement reports
    /// them any more (RFC 2018, section 8); nor a duplicate of them, which without the range that
    /// it lies in would be read as a range of its own (RFC 2883, section 4). One before `next`,
    /// RCV.NXT, is reported still.
    pub fn discard(&mut self, next: Seq) {
        let duplicate = self.duplicate.filter(|block| block.right.at_or_before(next));
        *self = Self { duplicate, ..Self::new() };
    }

    /// The first gap is open since then: the first range came, or the gap before was filled.
    pub const fn set_since(&mut self, now: Instant) {
        self.since = now;
    }

    /// Since when the first gap is open.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// The first range that ends at `left` or behind it.
    fn first_reaching(&self, left: Seq) -> usize {
        self.ranges.partition_point(|range| range.right.before(left))
    }

    /// The first range that begins behind `right`.
    fn first_behind(&self, right: Seq) -> usize {
        self.ranges.partition_point(|range| range.left.at_or_before(right))
    }

    fn containing(&self, seq: Seq) -> Option<SackBlock> {
        let place = self.ranges.partition_point(|range| range.right.at_or_before(seq));
        self.ranges.get(place).copied().filter(|range| range.left.at_or_before(seq))
    }

    /// One range instead of those from one place up to another.
    fn replace(&mut self, from: usize, to: usize, range: SackBlock) {
        self.count_steps(if to - from == 1 { 0 } else { self.ranges.len() - to });
        if let Some(place) = self.ranges.get_mut(from).filter(|_| from < to) {
            *place = range;
            self.ranges.drain(from + 1..to);
        } else {
            self.ranges.insert(from, range);
        }
    }

    /// The range with this number is the one that changed last.
    fn touch(&mut self, seq: Seq) {
        let changed = self.containing(seq);
        let mut recent = [seq; SACK_BLOCKS_MAX];
        let others = self.recent.iter().take(self.recent_count.into());
        // Those that are gone, or in the same range by now, make room for the older ones.
        let others = others.filter(|other| {
            let range = self.containing(**other);
            range.is_some() && range != changed
        });
        let mut count = 1;
        for (place, other) in recent.iter_mut().skip(1).zip(others) {
            *place = *other;
            count += 1;
        }
        (self.recent, self.recent_count) = (recent, count);
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, clippy::needless_pass_by_ref_mut))]
    fn count_steps(&mut self, _count: usize) {
        #[cfg(test)]
        {
            self.steps += _count as u64;
        }
    }
}

fn overlap(one: SackBlock, other: SackBlock) -> Option<SackBlock> {
    let left = if one.left.after(other.left) { one.left } else { other.left };
    let right = if one.right.before(other.right) { one.right } else { other.right };
    left.before(right).then_some(SackBlock { left, right })
}

/// Ranges that are remembered. More holes than this are no network, but somebody who tries.
pub const RANGES_MAX: usize = 256;

/// Ranges for which the memory stays when all holes are filled: 64 bytes.
const RANGES_KEPT_MAX: usize = 8;

#[cfg(test)]
mod tests;
