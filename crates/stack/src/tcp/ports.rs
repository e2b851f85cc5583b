//! Ephemeral ports: RFC 6056, section 3.3.4, algorithm 4 (double-hash port selection).

use alloc::{boxed::Box, vec};
use core::{net::IpAddr, ops::RangeInclusive};

use super::Flow;
use crate::random::{Key, Message};

mod crowded;

use crowded::{Crowded, LEARNT_PER_PICK};

/// Picks the local port of a connection that this host opens.
///
/// Each destination begins at a place of its own in the range and goes on from there by one port
/// per connection, so that a port comes back as late as it can; to who does not know the key, the
/// places of different destinations have nothing to do with each other.
///
/// A pick asks for few ports, however few are free. Where the next ones are taken it tries some at
/// random; and of destinations that have most ports of the range, it keeps which ones these are,
/// which it is told by [`taken`](Self::taken) and [`released`](Self::released). It finds that out
/// by a few ports with each pick, long before the last quarter of the range is used. 384 KiB,
/// whatever the number of destinations, and 8 KiB for each of those that are crowded, of which it
/// knows 64 at a time.
#[derive(Debug)]
pub struct Ports {
    first: u16,
    /// How many ports there are, 0 to 65,536.
    count: u32,
    key: Key,
    /// How many ports on the next one is, for the destinations that share the counter. The table is
    /// as long as Linux's since CVE-2022-1012 (net/ipv4/inet_hashtables.c), because who has
    /// connections to this host from many addresses may learn something of those destinations that
    /// share a counter with them.
    counters: Box<[u16]>,
    /// How many ports are in use, for the same destinations together.
    in_use: Box<[u32]>,
    crowded: Crowded,
}

impl Ports {
    /// Picks among the ports of the range, both ends included.
    #[must_use]
    pub fn new(range: RangeInclusive<u16>, key: Key) -> Self {
        let (first, last) = range.into_inner();
        let count = (u32::from(last) + 1).saturating_sub(first.into());
        let counters = vec![0; COUNTERS].into_boxed_slice();
        let in_use = vec![0; COUNTERS].into_boxed_slice();
        Self { first, count, key, counters, in_use, crowded: Crowded::default() }
    }

    /// A port for a connection from `local` to this remote address and port. `is_free` says whether
    /// a port can serve it: no connection has these two ends already, and whatever else the caller
    /// needs, such as that the answers come to this thread's queue. None is the answer if it agrees
    /// to no port of the range.
    ///
    /// It is asked about [`PROBES_MAX`] ports at most, once the picker knows of those of a crowded
    /// destination; about each of the range where hardly any is free and it was not told of those
    /// that are taken, or where they were not its own choice.
    pub fn pick(
        &mut self,
        local: IpAddr,
        remote: IpAddr,
        remote_port: u16,
        mut is_free: impl FnMut(u16) -> bool,
    ) -> Option<u16> {
        let destination = self.destination(local, remote, remote_port);
        let first = self.first;
        let mut is_free = |at: u32| is_free(first + at as u16);
        let slot = slot(destination);
        // RFC 6056's F and G, two functions with keys of their own: two halves of one keyed hash.
        let offset = (destination >> 32) as u32;
        // Below 2^32 even with the counter's 2^16 added.
        let start = offset.checked_rem(self.count)? + u32::from(*self.counters.get(slot)?);
        let start = start % self.count;
        let is_crowded = self.in_use.get(slot).is_some_and(|in_use| in_use / 3 >= self.count / 4);
        if is_crowded {
            self.crowded.learn(destination, self.count, LEARNT_PER_PICK, &mut is_free);
        }
        let at = match self.crowded.search(destination, start, &mut is_free) {
            Some(found) => found?,
            None => match self.try_some(start, destination, &mut is_free) {
                Some(at) => at,
                None if is_crowded => {
                    self.crowded.learn(destination, self.count, self.count, &mut is_free);
                    self.crowded.search(destination, start, &mut is_free)??
                }
                None => self.try_all(start, &mut is_free)?,
            },
        };
        // Wraps where the range ends, so that the next port follows this one there too.
        let next = (at + self.count - offset % self.count + 1) % self.count;
        if let Some(counter) = self.counters.get_mut(slot) {
            *counter = next as u16;
        }
        Some(first + at as u16)
    }

    /// The flow has its local port from now on, whoever has chosen it.
    pub fn taken(&mut self, flow: &Flow) {
        let Some((destination, at)) = self.find(flow) else { return };
        if let Some(in_use) = self.in_use.get_mut(slot(destination)) {
            *in_use += 1;
        }
        self.crowded.set(destination, at, true);
    }

    /// The flow has gone.
    pub fn released(&mut self, flow: &Flow) {
        let Some((destination, at)) = self.find(flow) else { return };
        if let Some(in_use) = self.in_use.get_mut(slot(destination)) {
            *in_use = in_use.saturating_sub(1);
            if *in_use < self.count / 2 {
                return self.crowded.forget(destination);
            }
        }
        self.crowded.set(destination, at, false);
    }

    /// The next ports, then some anywhere.
    fn try_some(
        &self,
        start: u32,
        destination: u64,
        is_free: &mut impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let next = (0..NEXT_PORTS.min(self.count)).map(|step| (start + step) % self.count);
        let mut state = destination ^ u64::from(start);
        let anywhere = (0..RANDOM_PORTS).map(|_| {
            // Knuth's MMIX generator: the destination's hash is random, this only goes on from it.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 32) as u32 % self.count
        });
        next.chain(anywhere).find(|at| is_free(*at))
    }

    fn try_all(&self, start: u32, is_free: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        (0..self.count).map(|step| (start + step) % self.count).find(|at| is_free(*at))
    }

    /// How many ports are in use, for all destinations.
    #[cfg(test)]
    pub fn in_use(&self) -> u32 {
        self.in_use.iter().sum()
    }

    /// The destination of the flow, and the place of its port in the range.
    fn find(&self, flow: &Flow) -> Option<(u64, u32)> {
        let at = u32::from(flow.local_port.checked_sub(self.first)?);
        if at >= self.count {
            return None;
        }
        Some((self.destination(flow.local, flow.remote, flow.remote_port), at))
    }

    fn destination(&self, local: IpAddr, remote: IpAddr, remote_port: u16) -> u64 {
        let message = Message::new()
            .with_address(local)
            .with_address(remote)
            .with(&remote_port.to_be_bytes());
        self.key.hash(message.as_bytes())
    }
}

const fn slot(destination: u64) -> usize {
    destination as usize % COUNTERS
}

/// How many ports the caller is asked about for one connection: those that follow, those at random,
/// those that a crowded destination learns of, and one.
pub const PROBES_MAX: u32 = NEXT_PORTS + RANDOM_PORTS + LEARNT_PER_PICK + 1;

const COUNTERS: usize = 1 << 16;
const NEXT_PORTS: u32 = 16;
/// With three quarters of the range in use, and somewhat more while a crowded destination is
/// learnt, all of them are taken once in a hundred million picks.
const RANDOM_PORTS: u32 = 64;

#[cfg(test)]
mod tests;
