//! Tables that strangers fill, in which they cannot choose the places.

use core::hash::{BuildHasher, Hash};

use siphasher::sip::SipHasher13;

use crate::random::Random;

/// A key for SipHash, which nobody outside knows.
#[derive(Clone, Copy, Debug)]
pub struct Keyed {
    first: u64,
    second: u64,
}

impl Keyed {
    /// A key of its own.
    pub fn new(random: &mut Random) -> Self {
        Self { first: random.next_u64(), second: random.next_u64() }
    }

    /// The hash of a value.
    pub fn hash(&self, value: &impl Hash) -> u64 {
        self.hash_one(value)
    }
}

impl BuildHasher for Keyed {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.first, self.second)
    }
}

/// A map whose places nobody outside can choose.
pub type KeyedMap<K, V> = hashbrown::HashMap<K, V, Keyed>;
