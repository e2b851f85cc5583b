//! Which connection a segment belongs to: one keyed hash, no matter how many connections exist.

use alloc::{boxed::Box, vec::Vec};

use super::Flow;
use crate::random::Key;

/// What a [`Table`] leads to: entries with numbers, each with its flow and room for the number of
/// the entry behind it. Numbers are below 2^32 - 1.
pub trait Entries {
    /// The flow of the entry with this number, and what was last given to
    /// [`set_next`](EntriesMut::set_next).
    fn entry(&self, index: u32) -> Option<(&Flow, u32)>;
}

/// Entries whose order can be changed.
pub trait EntriesMut: Entries {
    /// Remembers which entry follows.
    fn set_next(&mut self, index: u32, next: u32);
}

/// Finds the number of a connection by its flow. The flows stay where the connections are, and so
/// do the numbers of those that follow at the same place ([`EntriesMut`]): the table holds the
/// first one of each place alone, 4 bytes.
///
/// Places are as many as flows, about: with each flow that is put in, one place is added and one
/// other shares what it has with it (linear hashing, W. Litwin, 1980). So no call moves more than
/// what two places hold, a flow or two each, however many there are and however they come and go;
/// a table that doubles, or that sorts itself anew when places are worn out, stops everything for
/// tens of milliseconds at a million. When flows have become few, places are given back in the same
/// way.
///
/// The hash is `SipHash-1-3` with a secret key, so that nobody can choose ports and addresses that
/// meet at one place. Looking up allocates nothing.
#[derive(Debug)]
pub struct Table {
    key: Key,
    /// The first entry of each place, in pieces, so that a growing table moves none of them.
    pieces: Vec<Box<[u32; PIECE]>>,
    places: u32,
    len: u32,
}

impl Table {
    /// An empty table, which has no memory yet.
    #[must_use]
    pub const fn new(key: Key) -> Self {
        Self { key, pieces: Vec::new(), places: 0, len: 0 }
    }

    /// The number that was inserted for this flow.
    pub fn find(&self, flow: &Flow, entries: &impl Entries) -> Option<u32> {
        self.find_at(self.place(self.hash(flow)), flow, entries)
    }

    /// Remembers the number for this flow, which it has in `entries` already. A flow that is there
    /// keeps the number it has, and the answer is false.
    pub fn insert(&mut self, flow: &Flow, index: u32, entries: &mut impl EntriesMut) -> bool {
        let hash = self.hash(flow);
        if self.find_at(self.place(hash), flow, entries).is_some() {
            return false;
        }
        if self.len >= self.places {
            self.split(entries);
        }
        self.push(self.place(hash), index, entries);
        self.len += 1;
        true
    }

    /// Forgets this flow; answers the number that it had. It has to have that still in `entries`.
    pub fn remove(&mut self, flow: &Flow, entries: &mut impl EntriesMut) -> Option<u32> {
        let place = self.place(self.hash(flow));
        let (mut before, mut index) = (NONE, self.first(place));
        loop {
            let (other, next) = entries.entry(index)?;
            if other == flow {
                match before {
                    NONE => self.set_first(place, next),
                    before => entries.set_next(before, next),
                }
                break;
            }
            (before, index) = (index, next);
        }
        self.len -= 1;
        // As many places as keep step with the flows.
        for _ in 0..PLACES_PER_FLOW_MAX {
            if self.places > PLACES_MIN && self.len < self.places / PLACES_PER_FLOW_MAX {
                self.join(entries);
            }
        }
        Some(index)
    }

    /// How many flows are in the table.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether no flow is in the table.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bytes the table takes, without what is in the entries.
    #[must_use]
    pub const fn allocation_size(&self) -> usize {
        self.pieces.len() * size_of::<[u32; PIECE]>()
            + self.pieces.capacity() * size_of::<Box<[u32; PIECE]>>()
    }

    /// One place more: it gets those entries of another one whose hash says so.
    fn split(&mut self, entries: &mut impl EntriesMut) {
        let added = self.places;
        if added as usize >= self.pieces.len() * PIECE {
            // A piece is 4 KiB: small enough to be filled at once.
            self.pieces.push(Box::new([NONE; PIECE]));
        }
        self.places += 1;
        if added == 0 {
            return;
        }
        let shared = sharer(added);
        let mut index = self.first(shared);
        self.set_first(shared, NONE);
        while let Some((flow, next)) = entries.entry(index) {
            let place = self.place(self.hash(flow));
            self.push(place, index, entries);
            index = next;
        }
    }

    /// One place less: its entries go to the one from which it had them.
    fn join(&mut self, entries: &mut impl EntriesMut) {
        let removed = self.places - 1;
        let mut index = self.first(removed);
        self.set_first(removed, NONE);
        self.places = removed;
        while let Some((_, next)) = entries.entry(index) {
            self.push(sharer(removed), index, entries);
            index = next;
        }
        // One piece stays in reserve, so that a table at its edge does not allocate all the time.
        if self.pieces.len() * PIECE >= removed as usize + 2 * PIECE {
            self.pieces.pop();
        }
    }

    fn find_at(&self, place: u32, flow: &Flow, entries: &impl Entries) -> Option<u32> {
        let mut index = self.first(place);
        loop {
            let (other, next) = entries.entry(index)?;
            if other == flow {
                return Some(index);
            }
            index = next;
        }
    }

    fn hash(&self, flow: &Flow) -> u32 {
        self.key.hash_hidden(flow.message().as_bytes()) as u32
    }

    /// Where a flow belongs: the low bits of its hash, or one bit less where that place is not
    /// there yet.
    fn place(&self, hash: u32) -> u32 {
        let mask = self.places.next_power_of_two().wrapping_sub(1);
        let place = hash & mask;
        if place < self.places { place } else { hash & (mask >> 1) }
    }

    fn push(&mut self, place: u32, index: u32, entries: &mut impl EntriesMut) {
        entries.set_next(index, self.first(place));
        self.set_first(place, index);
    }

    fn first(&self, place: u32) -> u32 {
        let piece = self.pieces.get(place as usize / PIECE);
        piece.and_then(|piece| piece.get(place as usize % PIECE)).copied().unwrap_or(NONE)
    }

    fn set_first(&mut self, place: u32, index: u32) {
        let piece = self.pieces.get_mut(place as usize / PIECE);
        if let Some(first) = piece.and_then(|piece| piece.get_mut(place as usize % PIECE)) {
            *first = index;
        }
    }
}

/// The place whose entries a new one shares: the same number without its highest bit.
const fn sharer(place: u32) -> u32 {
    match place.checked_ilog2() {
        Some(highest) => place & !(1 << highest),
        None => 0,
    }
}

/// No entry has this number.
const NONE: u32 = u32::MAX;

/// Places in a piece.
const PIECE: usize = 1_024;

/// With fewer flows than a quarter of the places, places are given back.
const PLACES_PER_FLOW_MAX: u32 = 4;

/// Places that stay, whatever leaves.
const PLACES_MIN: u32 = PIECE as u32;

#[cfg(test)]
mod tests;
