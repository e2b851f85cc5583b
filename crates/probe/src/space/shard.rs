//! One of several parts of a run, and the order in which its checks come.

use std::{fmt, str::FromStr};

use super::Permutation;
use crate::targets::quoted;

/// One of so many parts, of about the same size, that together are everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// The only one.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// `index` counts from 1. `None` where it is not one of the `count`.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (1..=count).contains(&index).then_some(Self { index, count })
    }

    /// Which, from 1.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Of how many.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many of `total` positions are in it.
    #[must_use]
    pub fn len(&self, total: u64) -> u64 {
        total.saturating_sub(self.first()).div_ceil(self.count.into())
    }

    /// None of `total` positions is in it: there are fewer than shards.
    #[must_use]
    pub fn is_empty(&self, total: u64) -> bool {
        self.len(total) == 0
    }

    fn first(&self) -> u64 {
        u64::from(self.index) - 1
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

/// `2/5`: the second of five.
impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            let number = |text: &str| text.trim().parse::<u32>().ok();
            Self::new(number(index)?, number(count)?)
        });
        numbers.ok_or_else(|| ShardError { input: quoted(text) })
    }
}

/// A text that names no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shard {input}: not one of several; write 2/5 for the second of five, counting from 1")]
pub struct ShardError {
    input: String,
}

/// The checks of a shard, shuffled.
///
/// To go on later, keep [`Self::position`] and give it to [`Self::resume_at`] of an order of the
/// same length, seed and shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    permutation: Permutation,
    shard: Shard,
    next: u64,
}

impl Order {
    /// From the beginning.
    #[must_use]
    pub fn new(permutation: Permutation, shard: Shard) -> Self {
        Self { next: shard.first().min(permutation.len()), permutation, shard }
    }

    /// The position of the next check; that of none, the length, at the end.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Goes on at this position, or at the next one that is the shard's.
    pub fn resume_at(&mut self, position: u64) {
        let count = u64::from(self.shard.count);
        let above = position.saturating_sub(self.shard.first());
        let steps = above.div_ceil(count);
        let next = steps.checked_mul(count).and_then(|ahead| ahead.checked_add(self.shard.first()));
        self.next = next.map_or(self.permutation.len(), |next| next.min(self.permutation.len()));
    }

    /// How many checks are still to come.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        (self.permutation.len() - self.next).div_ceil(self.shard.count.into())
    }
}

/// Pairs of the position and the number of the check there.
impl Iterator for Order {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let position = self.next;
        let index = self.permutation.at(position)?;
        let next = position.saturating_add(self.shard.count.into());
        self.next = next.min(self.permutation.len());
        Some((position, index))
    }
}

#[cfg(test)]
mod tests;
