//! The bytes that a connection carries: known at each offset, and kept nowhere.

use crate::random::mixed;

/// An endless stream of bytes that a number decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern(pub u64);

impl Pattern {
    /// Writes the bytes from this offset on.
    pub fn fill(self, offset: u64, into: &mut [u8]) {
        for (at, byte) in (offset..).zip(into) {
            *byte = self.byte(at);
        }
    }

    /// The offset of the first byte that is not what it should be; none where all are right.
    #[must_use]
    pub fn differs(self, offset: u64, bytes: &[u8]) -> Option<u64> {
        (offset..).zip(bytes).find(|&(at, &byte)| byte != self.byte(at)).map(|(at, _)| at)
    }

    /// Eight offsets share a word of which each has a byte; nothing repeats, so that data at a
    /// wrong place is found.
    const fn byte(self, offset: u64) -> u8 {
        (mixed((offset >> 3) ^ self.0) >> (8 * (offset & 7))) as u8
    }
}

#[cfg(test)]
mod tests;
