//! The table of holders by inode number.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// The process id by inode number.
pub type Holders = HashMap<u32, u32, BuildHasherDefault<InodeHasher>>;

/// Spreads numbers that the kernel gives out one after the other. Nobody else chooses them, so it
/// needs no key; and there may be millions.
#[derive(Debug, Default)]
pub struct InodeHasher(u64);

/// 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming 3, section 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for InodeHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        let product = (self.0 ^ u64::from(number)).wrapping_mul(GOLDEN);
        // The table looks at the lowest bits, and the product's best are the highest.
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
