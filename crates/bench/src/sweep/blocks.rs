//! Networks as they are written on command lines.

use std::net::Ipv4Addr;

/// The blocks (RFC 4632) that have the first `count` addresses from `first` on, and no other, the
/// largest first. `first` has to be the first of a block of at least `count` addresses.
pub(super) fn blocks(first: Ipv4Addr, count: u64) -> Vec<String> {
    let (mut address, mut left) = (u32::from(first), u32::try_from(count).unwrap_or(u32::MAX));
    let mut blocks = Vec::new();
    while left > 0 {
        let bits = left.ilog2();
        blocks.push(format!("{}/{}", Ipv4Addr::from(address), 32 - bits));
        address = address.wrapping_add(1 << bits);
        left -= 1 << bits;
    }
    blocks
}

#[cfg(test)]
mod tests;
