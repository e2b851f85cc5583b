//! Which source port a connection gets: chosen here, not searched for by the kernel.
//!
//! The kernel's search takes 1.5 ms a connection once half of the range to one destination is in
//! use (`__inet_hash_connect` in net/ipv4/inet_hashtables.c). Here ports are handed out one after
//! the other, for each pair of source address and destination on its own, in constant time: a port
//! comes again only after all others, when its last connection's TIME-WAIT is most likely over or
//! may be reused (after a second on loopback, `tcp_twsk_unique` in net/ipv4/tcp_ipv4.c). Whoever
//! finds a port taken all the same asks for the next one.

use std::ops::RangeInclusive;

/// The ports that one worker may use, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePorts {
    ports: Box<[u16]>,
}

/// Where one pair of source address and destination is in the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(u32);

impl SourcePorts {
    /// Of the ports in `range` that are not `reserved`, every `of`th from the `nth` on: so workers
    /// share a range without meeting.
    #[must_use]
    pub fn new(
        range: RangeInclusive<u16>,
        reserved: &[RangeInclusive<u16>],
        nth: usize,
        of: usize,
    ) -> Self {
        let is_free = |port: &u16| !reserved.iter().any(|taken| taken.contains(port));
        Self { ports: range.filter(is_free).skip(nth).step_by(of.max(1)).collect() }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// A pair's start: anywhere, so that two runs in a row do not use the same ports.
    #[must_use]
    pub fn cursor(&self, anywhere: u32) -> Cursor {
        let count = u32::try_from(self.ports.len()).unwrap_or(0).max(1);
        Cursor(anywhere % count)
    }

    /// The pair's next port; `None` where there are no ports at all.
    #[must_use]
    pub fn next(&self, cursor: &mut Cursor) -> Option<u16> {
        let at = usize::try_from(cursor.0).unwrap_or(0);
        let port = *self.ports.get(at).or_else(|| self.ports.first())?;
        cursor.0 = if at + 1 < self.ports.len() { cursor.0 + 1 } else { 0 };
        Some(port)
    }
}

/// Reads `net.ipv4.ip_local_reserved_ports`: `8080,9000-9010`. What cannot be read is left out.
#[must_use]
pub fn parse_reserved(text: &str) -> Vec<RangeInclusive<u16>> {
    let range = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).collect()
}

#[cfg(test)]
mod tests;
