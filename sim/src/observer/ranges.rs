//! Which sequence numbers have arrived.

use portolan_wire::Seq;

/// A set of sequence numbers, all less than 2^31 from its first one.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    base: Option<Seq>,
    /// Disjoint, not touching, in order; relative to the base.
    ranges: Vec<(i64, i64)>,
}

impl Ranges {
    /// Puts the numbers in, and says whether one of them is new.
    pub(super) fn insert(&mut self, left: Seq, length: u32) -> bool {
        self.base.get_or_insert(left);
        let mut left = self.offset(left);
        let mut right = left + i64::from(length);
        if length == 0 || self.ranges.iter().any(|&(from, to)| from <= left && right <= to) {
            return false;
        }
        self.ranges.retain(|&(from, to)| {
            let touches = from <= right && left <= to;
            if touches {
                (left, right) = (left.min(from), right.max(to));
            }
            !touches
        });
        let at = self.ranges.partition_point(|&(from, _)| from < left);
        self.ranges.insert(at, (left, right));
        true
    }

    /// Whether all numbers from the left one up to the right one, without it, are in.
    pub(super) fn holds(&self, left: Seq, right: Seq) -> bool {
        let length = i64::from(right.distance(left));
        let left = self.offset(left);
        let right = left + length;
        self.ranges.iter().any(|&(from, to)| from <= left && right <= to)
    }

    /// Where the gapless numbers from this one on end.
    pub(super) fn end_of(&self, first: Seq) -> Seq {
        let offset = self.offset(first);
        let range = self.ranges.iter().find(|&&(from, to)| from <= offset && offset < to);
        range.map_or(first, |&(_, to)| first + low(to - offset))
    }

    fn offset(&self, seq: Seq) -> i64 {
        seq.distance(self.base.unwrap_or_default()).cast_signed().into()
    }
}

/// A difference of sequence numbers, on their circle.
fn low(offset: i64) -> u32 {
    u32::try_from(offset & i64::from(u32::MAX)).unwrap_or_default()
}
