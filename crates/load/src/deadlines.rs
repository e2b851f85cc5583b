//! Until when each slot waits: all wait equally long, so who began first is first.

use std::time::Instant;

/// Slots in the order of their deadlines, as a list within the slots' own numbers: to enter, to
/// leave and to look at the first takes constant time, and nothing is allocated.
#[derive(Debug)]
pub(crate) struct Deadlines {
    links: Box<[Link]>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    /// Towards the earlier deadline; the anchor's is the last slot.
    before: u32,
    /// Towards the later one; the anchor's is the first slot.
    after: u32,
    /// `None` while the slot waits for nothing.
    at: Option<Instant>,
}

impl Deadlines {
    /// For slots numbered from 0.
    pub(crate) fn new(slots: u32) -> Self {
        // One more: the anchor, which is before the first and after the last.
        let link = |own| Link { before: own, after: own, at: None };
        Self { links: (0..=slots).map(link).collect() }
    }

    /// The slot waits until `at`, which is not before anybody else's deadline.
    pub(crate) fn enter(&mut self, slot: u32, at: Instant) {
        self.leave(slot);
        let anchor = self.anchor();
        let last = self.links[position(anchor)].before;
        self.links[position(slot)] = Link { before: last, after: anchor, at: Some(at) };
        self.links[position(last)].after = slot;
        self.links[position(anchor)].before = slot;
    }

    /// The slot waits no longer.
    pub(crate) fn leave(&mut self, slot: u32) {
        let Link { before, after, at: Some(_) } = self.links[position(slot)] else { return };
        self.links[position(before)].after = after;
        self.links[position(after)].before = before;
        self.links[position(slot)].at = None;
    }

    /// The first deadline, and whose it is.
    pub(crate) fn first(&self) -> Option<(u32, Instant)> {
        let first = self.links[position(self.anchor())].after;
        Some((first, self.links[position(first)].at?))
    }

    fn anchor(&self) -> u32 {
        u32::try_from(self.links.len() - 1).unwrap_or(0)
    }
}

/// A slot's number as an index; Linux runs on nothing that has less than 32 bits.
pub(crate) fn position(slot: u32) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
