//! Ephemeral ports: RFC 6056, section 3.3.4, algorithm 4 (double-hash port selection).

use alloc::{boxed::Box, vec};
use core::{net::IpAddr, ops::RangeInclusive};

use crate::random::{Key, Message};

/// Picks the local port of a connection that this host opens.
///
/// Each destination begins at a place of its own in the range and goes on from there by one port
/// per connection, so that a port comes back as late as it can; to who does not know the key, the
/// places of different destinations have nothing to do with each other. 128 KiB, whatever the
/// number of destinations.
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
}

impl Ports {
    /// Picks among the ports of the range, both ends included.
    #[must_use]
    pub fn new(range: RangeInclusive<u16>, key: Key) -> Self {
        let (first, last) = range.into_inner();
        let count = (u32::from(last) + 1).saturating_sub(first.into());
        Self { first, count, key, counters: vec![0; COUNTERS].into_boxed_slice() }
    }

    /// A port for a connection from `local` to this remote address and port. `is_free` says whether
    /// a port can serve it: no connection has these two ends already, and whatever else the caller
    /// needs, such as that the answers come to this thread's queue. It is asked for each port of
    /// the range at most once, until it agrees; none is the answer if it never does.
    pub fn pick(
        &mut self,
        local: IpAddr,
        remote: IpAddr,
        remote_port: u16,
        mut is_free: impl FnMut(u16) -> bool,
    ) -> Option<u16> {
        let message = Message::new()
            .with_address(local)
            .with_address(remote)
            .with(&remote_port.to_be_bytes());
        let hash = self.key.hash(message.as_bytes());
        // RFC 6056's F and G, two functions with keys of their own: two halves of one keyed hash.
        let offset = (hash >> 32) as u32;
        let counter = self.counters.get_mut(hash as usize % COUNTERS)?;
        // Below 2^32 even with the counter's and the loop's 2^16 added.
        let start = offset.checked_rem(self.count)? + u32::from(*counter);
        let step = (0..self.count)
            .find(|step| is_free(self.first + ((start + step) % self.count) as u16))?;
        // Wraps where the range ends, so that the next port follows this one there too.
        *counter = ((u32::from(*counter) + step + 1) % self.count) as u16;
        Some(self.first + ((start + step) % self.count) as u16)
    }
}

const COUNTERS: usize = 1 << 16;

#[cfg(test)]
mod tests;
