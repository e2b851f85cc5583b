//! What waits for a moment: a hierarchical timer wheel.
//!
//! The idea is scheme 7 of Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987), with
//! the choice of levels by the highest digit that differs.

use alloc::vec::Vec;

use crate::Instant;

/// At most one deadline per key, in steps of 1 millisecond.
///
/// Setting and cancelling are O(1). A key moves to a finer level at most [`LEVELS`] - 1 times
/// before it is due, however far `now` leaps, and whatever the other keys do. A key takes 16 bytes,
/// for keys from 0 to the largest that was ever set: they are to be dense, such as indices of
/// connections. Memory grows only when a larger key than before is set, and never shrinks.
///
/// Deadlines are rounded up to whole milliseconds since [`Instant::ZERO`], so that no key is due
/// before its time, and none is late by a whole millisecond. What is to happen at once is not set,
/// but done: a deadline of now is due in up to a millisecond.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// By key.
    entries: Vec<Entry>,
    levels: [Level; LEVELS],
    /// The millisecond from which the levels count: no key that is set for later than this moment
    /// was popped, and none for earlier is left but in its slot of level 0, or in `moving`.
    elapsed: u64,
    /// The slot whose moment has come, and whose keys move to finer levels, a few per call.
    moving: Option<u16>,
    len: usize,
    /// How many keys were linked, unlinked or moved, to show that the costs are as promised.
    #[cfg(test)]
    steps: u64,
}

impl Wheel {
    /// A wheel without keys. `now` is any moment that is not after the deadlines to come.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            entries: Vec::new(),
            levels: [Level::EMPTY; LEVELS],
            elapsed: now.as_millis(),
            moving: None,
            len: 0,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Makes the room for the keys below `keys`, so that setting them allocates nothing.
    pub fn reserve(&mut self, keys: u32) {
        let keys = keys as usize;
        if self.entries.len() < keys {
            self.entries.reserve_exact(keys - self.entries.len());
            self.entries.resize(keys, Entry::UNSET);
        }
    }

    /// The key, which is below [`KEYS_MAX`], is due at this moment instead of the one set before. A
    /// moment that has passed already is due in the next [`pop`](Self::pop).
    ///
    /// # Panics
    ///
    /// When the key is not below [`KEYS_MAX`].
    pub fn set(&mut self, key: u32, at: Instant) {
        assert!(key < KEYS_MAX, "timer key {key}: keys are indices below {KEYS_MAX}");
        if key as usize >= self.entries.len() {
            self.entries.resize(key as usize + 1, Entry::UNSET);
        }
        self.cancel(key);
        self.len += 1;
        self.link(key, at.as_micros().div_ceil(TICK_US));
    }

    /// The key is not due any more. Nothing happens if it was not set.
    pub fn cancel(&mut self, key: u32) {
        if self.deadline(key).is_some() {
            self.len -= 1;
            self.unlink(key);
        }
    }

    /// When the key is due, rounded up to a whole millisecond; none: it is not set.
    #[must_use]
    pub fn deadline(&self, key: u32) -> Option<Instant> {
        let entry = self.entries.get(key as usize).filter(|entry| entry.previous != NONE)?;
        Some(Instant::from_micros(entry.tick.saturating_mul(TICK_US)))
    }

    /// When to call [`pop`](Self::pop): never later than the earliest deadline, and maybe earlier,
    /// when keys have to move to a finer level first. None: no key is set.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let tick = match self.moving {
            Some(slot) if self.first(slot) != NONE => self.elapsed,
            _ => self.earliest()?.1,
        };
        Some(Instant::from_micros(tick.saturating_mul(TICK_US)))
    }

    /// A key whose deadline is not after `now`; it is no longer set. To be called until it answers
    /// none, which also happens when it has moved [`MOVES_MAX`] keys to finer levels without end:
    /// then [`next`](Self::next) is not after `now`, and the caller goes on after what else there
    /// is to do, so that a million idle timers never hold up the frames.
    pub fn pop(&mut self, now: Instant) -> Option<u32> {
        let now = now.as_millis();
        let mut moves = 0;
        loop {
            while let Some(slot) = self.moving {
                let key = self.first(slot);
                if key == NONE {
                    self.moving = None;
                    break;
                }
                if moves == MOVES_MAX {
                    return None;
                }
                moves += 1;
                self.unlink(key);
                self.link(key, self.tick(key));
            }
            let (slot, tick) = match self.earliest() {
                Some((slot, tick)) if tick <= now => (slot, tick),
                // All slots that are in use begin later, so that they stay right.
                _ => {
                    self.elapsed = self.elapsed.max(now);
                    return None;
                }
            };
            self.elapsed = self.elapsed.max(tick);
            if usize::from(slot) < SLOTS {
                let key = self.first(slot);
                self.unlink(key);
                self.len -= 1;
                return Some(key);
            }
            self.moving = Some(slot);
        }
    }

    /// How many keys are set.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no key is set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first slot in use, and the millisecond at which it begins. What is on a level is before
    /// all that is on the coarser levels, since those differ from `elapsed` in a higher digit.
    fn earliest(&self) -> Option<(u16, u64)> {
        let (number, level) = self.levels.iter().enumerate().find(|(_, level)| level.used != 0)?;
        let digit = level.used.trailing_zeros() as usize;
        let shift = number as u32 * DIGIT_BITS;
        let above = self.elapsed.checked_shr(shift + DIGIT_BITS).unwrap_or(0);
        let tick = (above << DIGIT_BITS | digit as u64) << shift;
        Some(((number * SLOTS + digit) as u16, tick))
    }

    /// Puts a key that is in no list into the slot for this millisecond.
    fn link(&mut self, key: u32, tick: u64) {
        let due = tick.max(self.elapsed);
        let differing = (due ^ self.elapsed) | DIGIT_MASK;
        let level = (u64::BITS - 1 - differing.leading_zeros()) / DIGIT_BITS;
        let digit = (due >> (level * DIGIT_BITS)) & DIGIT_MASK;
        let slot = level as u16 * SLOTS as u16 + digit as u16;
        let next = self.first(slot);
        if let Some(entry) = self.entries.get_mut(next as usize) {
            entry.previous = key;
        }
        if let Some(entry) = self.entries.get_mut(key as usize) {
            *entry = Entry { next, previous: SLOT_FLAG | u32::from(slot), tick };
        }
        self.set_first(slot, key);
        self.count_step();
    }

    /// Takes a key out of its list.
    fn unlink(&mut self, key: u32) {
        let Some(entry) = self.entries.get_mut(key as usize) else { return };
        let Entry { next, previous, .. } = *entry;
        entry.previous = NONE;
        if let Some(after) = self.entries.get_mut(next as usize) {
            after.previous = previous;
        }
        if previous & SLOT_FLAG != 0 {
            self.set_first((previous & !SLOT_FLAG) as u16, next);
        } else if let Some(before) = self.entries.get_mut(previous as usize) {
            before.next = next;
        }
        self.count_step();
    }

    fn tick(&self, key: u32) -> u64 {
        self.entries.get(key as usize).map_or(0, |entry| entry.tick)
    }

    fn first(&self, slot: u16) -> u32 {
        let slot = usize::from(slot);
        let level = self.levels.get(slot / SLOTS);
        level.and_then(|level| level.first.get(slot % SLOTS)).copied().unwrap_or(NONE)
    }

    fn set_first(&mut self, slot: u16, key: u32) {
        let slot = usize::from(slot);
        let Some(level) = self.levels.get_mut(slot / SLOTS) else { return };
        let Some(first) = level.first.get_mut(slot % SLOTS) else { return };
        *first = key;
        let bit = 1 << (slot % SLOTS);
        if key == NONE { level.used &= !bit } else { level.used |= bit }
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, clippy::needless_pass_by_ref_mut))]
    fn count_step(&mut self) {
        #[cfg(test)]
        {
            self.steps += 1;
        }
    }
}

/// A key's place in the list of its slot.
#[derive(Clone, Copy, Debug)]
struct Entry {
    next: u32,
    /// The key before, or the slot with [`SLOT_FLAG`] for the first key; [`NONE`]: not set.
    previous: u32,
    /// The deadline in milliseconds.
    tick: u64,
}

impl Entry {
    const UNSET: Self = Self { next: NONE, previous: NONE, tick: 0 };
}

const _: () = assert!(size_of::<Entry>() == 16);

/// 64 slots; a slot of level n is 64^n milliseconds long.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// A bit for each slot that has keys.
    used: u64,
    first: [u32; SLOTS],
}

impl Level {
    const EMPTY: Self = Self { used: 0, first: [NONE; SLOTS] };
}

/// Keys are below this number.
pub const KEYS_MAX: u32 = SLOT_FLAG;

/// How many keys one call of [`Wheel::pop`] moves at most: some 10 microseconds.
pub const MOVES_MAX: u32 = 1_024;

/// Levels of the wheel: together they hold every [`Instant`].
pub const LEVELS: usize = 10;

const TICK_US: u64 = 1_000;

const DIGIT_BITS: u32 = 6;

const DIGIT_MASK: u64 = (1 << DIGIT_BITS) - 1;

const SLOTS: usize = 1 << DIGIT_BITS;

const _: () = assert!((u64::MAX / TICK_US) >> (LEVELS as u32 * DIGIT_BITS - 1) == 0);

const SLOT_FLAG: u32 = 1 << 31;

/// No key, no slot.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests;
