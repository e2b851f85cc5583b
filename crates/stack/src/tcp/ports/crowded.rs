//! Which ports are taken, of destinations that have most of them.

use alloc::{boxed::Box, vec, vec::Vec};

/// A few destinations, by their hash.
#[derive(Debug, Default)]
pub(super) struct Crowded {
    destinations: Vec<(u64, Taken)>,
    /// Which one makes room for the next.
    hand: usize,
}

/// The ports of one destination, by their place in the range.
#[derive(Debug)]
struct Taken {
    /// A bit for each, the first one lowest. Those from `known` on may be wrong.
    words: Box<[u64]>,
    count: u32,
    known: u32,
}

impl Crowded {
    /// Remembers the destination, if it is not there, and asks for so many more of its ports.
    pub fn learn(
        &mut self,
        destination: u64,
        count: u32,
        more: u32,
        is_free: &mut impl FnMut(u32) -> bool,
    ) {
        let taken = match self.position(destination) {
            Some(at) => self.destinations.get_mut(at),
            None => self.begin(destination, count),
        };
        let Some((_, taken)) = taken else { return };
        let end = taken.count.min(taken.known + more);
        for at in taken.known..end {
            taken.set(at, !is_free(at));
        }
        taken.known = end;
    }

    /// The first free port from this one on, round the range: none if there is none. Without an
    /// answer, not enough is known of the destination.
    pub fn search(
        &mut self,
        destination: u64,
        start: u32,
        is_free: &mut impl FnMut(u32) -> bool,
    ) -> Option<Option<u32>> {
        let at = self.position(destination)?;
        let (_, taken) = self.destinations.get_mut(at)?;
        if taken.known < taken.count {
            return None;
        }
        // Only what the caller wants besides can make him refuse.
        for _ in 0..REFUSALS_MAX {
            let Some(at) = taken.first_free(start) else { return Some(None) };
            if is_free(at) {
                return Some(Some(at));
            }
            taken.set(at, true);
        }
        None
    }

    /// A port was taken or released.
    pub fn set(&mut self, destination: u64, at: u32, is_taken: bool) {
        if let Some((_, taken)) =
            self.position(destination).and_then(|place| self.destinations.get_mut(place))
        {
            taken.set(at, is_taken);
        }
    }

    /// The destination is crowded no more.
    pub fn forget(&mut self, destination: u64) {
        if let Some(at) = self.position(destination) {
            self.destinations.swap_remove(at);
        }
    }

    /// How many are known.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.destinations.len()
    }

    fn begin(&mut self, destination: u64, count: u32) -> Option<&mut (u64, Taken)> {
        let words = vec![0; count.div_ceil(64) as usize].into_boxed_slice();
        let new = (destination, Taken { words, count, known: 0 });
        if self.destinations.len() < CROWDED_MAX {
            self.destinations.push(new);
            return self.destinations.last_mut();
        }
        self.hand = (self.hand + 1) % CROWDED_MAX;
        let place = self.destinations.get_mut(self.hand)?;
        *place = new;
        Some(place)
    }

    fn position(&self, destination: u64) -> Option<usize> {
        self.destinations.iter().position(|(one, _)| *one == destination)
    }
}

impl Taken {
    fn set(&mut self, at: u32, is_taken: bool) {
        let Some(word) = self.words.get_mut(at as usize / 64) else { return };
        let bit = 1 << (at % 64);
        *word = if is_taken { *word | bit } else { *word & !bit };
    }

    fn first_free(&self, start: u32) -> Option<u32> {
        self.first_free_in(start, self.count).or_else(|| self.first_free_in(0, start))
    }

    /// A word at a time: a thousand of them at most.
    fn first_free_in(&self, start: u32, end: u32) -> Option<u32> {
        let first_word = start / 64;
        let mut before = !0 << (start % 64);
        for (number, word) in (first_word..).zip(self.words.iter().skip(first_word as usize)) {
            let free = !word & before;
            before = !0;
            let at = number * 64 + free.trailing_zeros();
            if at >= end {
                // Behind the end, or in this word's end none.
                if number * 64 >= end {
                    return None;
                }
                continue;
            }
            if free != 0 {
                return Some(at);
            }
        }
        None
    }
}

/// Destinations that are known at a time.
const CROWDED_MAX: usize = 64;

/// How many ports are learnt of with each connection: all before the range is full.
pub(super) const LEARNT_PER_PICK: u32 = 16;

const REFUSALS_MAX: u32 = 16;
