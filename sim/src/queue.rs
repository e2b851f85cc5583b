//! The virtual clock: what happens when.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use portolan_stack::Instant;

/// What is to happen, in the order of time; at the same moment, in the order of planning.
#[derive(Debug)]
pub struct Queue<T> {
    planned: BinaryHeap<Reverse<Planned<T>>>,
    count: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { planned: BinaryHeap::new(), count: 0 }
    }
}

impl<T> Queue<T> {
    /// Plans it for then.
    pub fn push(&mut self, at: Instant, what: T) {
        self.planned.push(Reverse(Planned { at, number: self.count, what }));
        self.count += 1;
    }

    /// When the next one is.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.planned.peek().map(|Reverse(next)| next.at)
    }

    /// Takes the next one out.
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        self.planned.pop().map(|Reverse(next)| (next.at, next.what))
    }
}

#[derive(Debug)]
struct Planned<T> {
    at: Instant,
    number: u64,
    what: T,
}

impl<T> Ord for Planned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<T> PartialOrd for Planned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Planned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Planned<T> {}

#[cfg(test)]
mod tests;
