//! Requests under way, of each connection in the order in which they were begun: rings of one size
//! in one piece of memory, so that nothing is allocated for a request.

use std::time::Instant;

use crate::deadlines::position;

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) target: u32,
    /// When it was meant to begin, and when it did.
    pub(super) intended: Instant,
    pub(super) begun: Instant,
}

/// One connection's place among them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ring {
    first: u32,
    /// How many there are, and how many of the last of them are not sent completely.
    pub(super) count: u32,
    pub(super) unsent: u32,
    /// So many bytes of the first unsent one are sent.
    pub(super) sent_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Flights {
    all: Box<[Flight]>,
    depth: u32,
}

impl Flights {
    /// For connections with so many requests under way at once.
    pub(super) fn new(connections: u32, depth: u32, now: Instant) -> Self {
        let flight = Flight { target: 0, intended: now, begun: now };
        let all = vec![flight; position(connections) * position(depth)];
        Self { all: all.into(), depth }
    }

    /// The number of a connection's `nth` place, which is also that of its deadline.
    #[inline]
    fn number(&self, slot: u32, ring: &Ring, nth: u32) -> u32 {
        let place = ring.first + nth;
        let place = if place >= self.depth { place - self.depth } else { place };
        slot * self.depth + place
    }

    /// The connection that a deadline is of.
    pub(super) fn slot(&self, number: u32) -> u32 {
        number / self.depth
    }

    /// The number of the deadline of a connection that is being established.
    pub(super) fn handshake(&self, slot: u32) -> u32 {
        slot * self.depth
    }

    /// The connection's `nth` request, 0 for the oldest, and its number.
    #[inline]
    pub(super) fn get(&mut self, slot: u32, ring: &Ring, nth: u32) -> (u32, &mut Flight) {
        let number = self.number(slot, ring, nth);
        (number, &mut self.all[position(number)])
    }

    /// Appends one, which is not sent; its number.
    #[inline]
    pub(super) fn push(&mut self, slot: u32, ring: &mut Ring, flight: Flight) -> u32 {
        debug_assert!(ring.count < self.depth);
        let number = self.number(slot, ring, ring.count);
        self.all[position(number)] = flight;
        ring.count += 1;
        ring.unsent += 1;
        number
    }

    /// Takes the oldest away, if there is one: its number, and what it was.
    #[inline]
    pub(super) fn pop(&self, slot: u32, ring: &mut Ring) -> Option<(u32, Flight)> {
        if ring.count == 0 {
            return None;
        }
        let number = self.number(slot, ring, 0);
        ring.first = if ring.first + 1 < self.depth { ring.first + 1 } else { 0 };
        ring.count -= 1;
        if ring.unsent > ring.count {
            (ring.unsent, ring.sent_bytes) = (ring.count, 0);
        }
        Some((number, self.all[position(number)]))
    }
}

#[cfg(test)]
mod tests;
