//! Packets that are larger than their path takes are cut: RFC 791, section 3.2; RFC 8200,
//! section 4.5.

use core::net::IpAddr;

use portolan_wire::{ipv4, ipv6};

use crate::keyed::Keyed;

/// Identifications of fragments: RFC 7739, section 5.3. They are counters, so that none comes again
/// soon; but where a pair of addresses begins, and which others count along, only the key tells.
#[derive(Debug)]
pub struct Identifications {
    key: Keyed,
    counters: [u32; COUNTERS],
}

impl Identifications {
    /// All counters at 0.
    pub fn new(key: Keyed) -> Self {
        Self { key, counters: [0; COUNTERS] }
    }

    /// The next one for packets between these addresses. Over IPv4 its lower half is used.
    pub fn next(&mut self, source: IpAddr, destination: IpAddr) -> u32 {
        let hash = self.key.hash(&(source, destination));
        let [a, b, c, d, .., which] = hash.to_le_bytes();
        let start = u32::from_le_bytes([a, b, c, d]);
        let Some(counter) = self.counters.get_mut(usize::from(which) % COUNTERS) else {
            return start;
        };
        *counter = counter.wrapping_add(1);
        start.wrapping_add(*counter)
    }
}

/// A part of an upper layer's packet that goes into one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins, in bytes: a multiple of 8.
    pub offset: usize,
    /// Its length in bytes, a multiple of 8 unless it is the last one.
    pub len: usize,
    /// Whether others follow.
    pub more: bool,
}

/// The piece that begins at `offset`, of a packet of `total` bytes, on a path that takes packets of
/// `mtu` bytes.
pub fn piece(total: usize, offset: usize, mtu: u16, is_v6: bool) -> Piece {
    let headers = if is_v6 { ipv6::HEADER_BYTES + HEADER_BYTES } else { ipv4::HEADER_BYTES };
    // Every link takes 68 bytes: RFC 791, section 3.2.
    let room = usize::from(mtu).saturating_sub(headers).max(8) / 8 * 8;
    let rest = total.saturating_sub(offset);
    Piece { offset, len: rest.min(room), more: rest > room }
}

/// Length of IPv6's fragment header in bytes.
pub const HEADER_BYTES: usize = 8;
const COUNTERS: usize = 128;

#[cfg(test)]
mod tests;
