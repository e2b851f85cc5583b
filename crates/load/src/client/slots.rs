//! Which slots are free for the next start: a slot is a connection or socket, and has a place for
//! each request that may be under way on it.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Who has failed rests this long, so that a target that refuses is not hammered.
const REST: Duration = Duration::from_millis(10);

/// Slots in turns: the one that has been free longest is next.
#[derive(Debug)]
pub(super) struct Slots {
    ready: VecDeque<u32>,
    resting: VecDeque<(Instant, u32)>,
    count: usize,
}

impl Slots {
    /// So many slots, with `depth` places each: the first place of all, then the second, and so on.
    pub(super) fn new(count: u32, depth: u32) -> Self {
        let ready: VecDeque<u32> = (0..depth).flat_map(|_| 0..count).collect();
        let count = ready.len();
        Self { ready, resting: VecDeque::with_capacity(count), count }
    }

    pub(super) fn take(&mut self, now: Instant) -> Option<u32> {
        while let Some(&(until, slot)) = self.resting.front()
            && until <= now
        {
            self.resting.pop_front();
            self.ready.push_back(slot);
        }
        self.ready.pop_front()
    }

    pub(super) fn give_back(&mut self, slot: u32) {
        self.ready.push_back(slot);
    }

    /// Gives it back after a while.
    pub(super) fn rest(&mut self, slot: u32, now: Instant) {
        self.resting.push_back((now + REST, slot));
    }

    /// When a slot is free without anything else happening; `None` if that cannot be.
    pub(super) fn free_at(&self, now: Instant) -> Option<Instant> {
        let rested = self.resting.front().map(|&(until, _)| until);
        if self.ready.is_empty() { rested } else { Some(now) }
    }

    /// How many places are in use.
    pub(super) fn in_use(&self) -> usize {
        self.count - self.ready.len() - self.resting.len()
    }
}
