//! Which connection a segment belongs to: one keyed hash, no matter how many connections exist.

use core::borrow::Borrow;

use hashbrown::{HashTable, hash_table::Entry};

use super::Flow;
use crate::random::Key;

/// Finds the index of a connection by its flow. The table holds the indices alone; the flows stay
/// where the connections are, and `flow_of` leads there: it answers the flow, by value or by
/// reference, of each index that is in the table.
///
/// An entry takes 5.7 to 11.4 bytes (4 for the index and 1 for a part of its hash, with 7/16 to 7/8
/// of the places in use). The hash is SipHash-1-3 with a secret key, so that nobody can choose
/// ports and addresses that meet at one place. Looking up allocates nothing. The table doubles when
/// it is full, which asks for all flows and moves all entries; and when it is more than half full
/// while connections come and go, it sorts itself anew now and then, at the same price.
/// [`with_capacity`](Self::with_capacity) for twice the connections avoids both. It never gets
/// smaller by itself: [`shrink`](Self::shrink).
#[derive(Debug)]
pub struct Table {
    key: Key,
    entries: HashTable<u32>,
}

impl Table {
    /// An empty table, which has no memory yet.
    #[must_use]
    pub const fn new(key: Key) -> Self {
        Self { key, entries: HashTable::new() }
    }

    /// A table that has the room for so many entries from the beginning.
    #[must_use]
    pub fn with_capacity(key: Key, entries: usize) -> Self {
        Self { key, entries: HashTable::with_capacity(entries) }
    }

    /// The index that was inserted for this flow.
    pub fn find<F: Borrow<Flow>>(&self, flow: &Flow, flow_of: impl Fn(u32) -> F) -> Option<u32> {
        let is_it = |index: &u32| flow_of(*index).borrow() == flow;
        self.entries.find(hash(&self.key, flow), is_it).copied()
    }

    /// Remembers the index for this flow. A flow that is there already keeps the index it has, and
    /// the answer is false.
    pub fn insert<F: Borrow<Flow>>(
        &mut self,
        flow: &Flow,
        index: u32,
        flow_of: impl Fn(u32) -> F,
    ) -> bool {
        let Self { key, entries } = self;
        let is_it = |other: &u32| flow_of(*other).borrow() == flow;
        let rehash = |other: &u32| hash(key, flow_of(*other).borrow());
        match entries.entry(hash(key, flow), is_it, rehash) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(index);
                true
            }
        }
    }

    /// Forgets this flow; answers the index that it had. `flow_of` has to know that index still.
    pub fn remove<F: Borrow<Flow>>(
        &mut self,
        flow: &Flow,
        flow_of: impl Fn(u32) -> F,
    ) -> Option<u32> {
        let is_it = |index: &u32| flow_of(*index).borrow() == flow;
        let entry = self.entries.find_entry(hash(&self.key, flow), is_it).ok()?;
        Some(entry.remove().0)
    }

    /// How many flows are in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no flow is in the table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many flows the table can hold before it moves its entries. Places that were used once
    /// and are not clean yet do not count.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Gives memory back: keeps the room for twice the entries that there are. It touches all of
    /// them, so that it belongs into a quiet moment, not between segments.
    pub fn shrink<F: Borrow<Flow>>(&mut self, flow_of: impl Fn(u32) -> F) {
        let Self { key, entries } = self;
        entries.shrink_to(entries.len() * 2, |index| hash(key, flow_of(*index).borrow()));
    }
}

fn hash(key: &Key, flow: &Flow) -> u64 {
    key.hash_hidden(flow.message().as_bytes())
}

#[cfg(test)]
mod tests;
