//! Secret keys, and numbers that a stranger cannot guess: both grow from one secret.

use core::{fmt, net::IpAddr};

use siphasher::sip::{SipHasher13, SipHasher24};

/// One independent key per purpose, so that what one use lets a stranger see says nothing about
/// another use.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Places of connections in [`tcp::table::Table`](crate::tcp::table::Table).
    pub table: Key,
    /// Initial sequence numbers, [`tcp::isn::isn`](crate::tcp::isn::isn).
    pub isn: Key,
    /// Where the timestamps of a flow begin,
    /// [`tcp::isn::timestamp_offset`](crate::tcp::isn::timestamp_offset).
    pub timestamp: Key,
    /// SYN cookies, [`tcp::cookie`](crate::tcp::cookie).
    pub cookie: Key,
    /// Ephemeral ports, [`tcp::ports::Ports`](crate::tcp::ports::Ports).
    pub ports: Key,
    /// Identifications of IP fragments (RFC 7739), and the table of datagrams in parts.
    pub fragment: Key,
    /// What [`Random`] draws from.
    random: Key,
}

impl Keys {
    /// The keys that follow from a secret of 32 bytes, which comes from the system's source of
    /// randomness and belongs to this stack alone.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        let key =
            |purpose: u64| Key::new(derive(&secret, purpose * 2), derive(&secret, purpose * 2 + 1));
        Self {
            table: key(0),
            isn: key(1),
            timestamp: key(2),
            cookie: key(3),
            ports: key(4),
            fragment: key(5),
            random: key(6),
        }
    }
}

/// A key of SipHash: 128 bits. It does not show itself in `Debug`.
#[derive(Clone, Copy)]
pub struct Key(u64, u64);

impl Key {
    /// A key of two halves.
    #[must_use]
    pub const fn new(first: u64, second: u64) -> Self {
        Self(first, second)
    }

    /// SipHash-2-4 of the bytes: a stranger who sees the result, or a part of it, learns nothing
    /// about the key or the result for other bytes.
    #[must_use]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        SipHasher24::new_with_keys(self.0, self.1).hash(bytes)
    }

    /// SipHash-1-3 of the bytes: half the work, for results that nobody else sees, such as places
    /// in a table, which nobody shall be able to choose.
    #[must_use]
    pub fn hash_hidden(&self, bytes: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.0, self.1).hash(bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(..)")
    }
}

/// A source of numbers for jitter and identifications: SipHash-2-4 of a counter. Who sees some
/// numbers cannot tell the next ones. Not for initial sequence numbers, which have rules of their
/// own ([`tcp::isn`](crate::tcp::isn)).
#[derive(Clone, Debug)]
pub struct Random {
    key: Key,
    counter: u64,
}

impl Random {
    /// The numbers for one purpose. The same purpose gives the same numbers, another purpose
    /// independent ones: each owner of a source takes a number of its own.
    #[must_use]
    pub fn new(keys: &Keys, purpose: u64) -> Self {
        let half =
            |which: u128| keys.random.hash(&(u128::from(purpose) << 64 | which).to_le_bytes());
        Self { key: Key::new(half(0), half(1)), counter: 0 }
    }

    /// 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(1);
        self.key.hash(&self.counter.to_le_bytes())
    }

    /// 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// One of the numbers below `bound`, each as likely as any other to within 2^-32; 0 when there
    /// is none.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u32
    }
}

/// Bytes to be hashed, put together without the heap.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    bytes: [u8; MESSAGE_BYTES_MAX],
    len: usize,
}

impl Message {
    /// No bytes.
    pub const fn new() -> Self {
        Self { bytes: [0; MESSAGE_BYTES_MAX], len: 0 }
    }

    /// With these bytes at the end. Callers stay below [`MESSAGE_BYTES_MAX`]; what is beyond it
    /// would be missing.
    #[must_use]
    pub fn with(mut self, bytes: &[u8]) -> Self {
        debug_assert!(
            self.len + bytes.len() <= MESSAGE_BYTES_MAX,
            "the message is longer than planned"
        );
        for (to, from) in self.bytes.iter_mut().skip(self.len).zip(bytes) {
            *to = *from;
        }
        self.len = (self.len + bytes.len()).min(MESSAGE_BYTES_MAX);
        self
    }

    /// With the address at the end.
    #[must_use]
    pub fn with_address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.with(&address.octets()),
            IpAddr::V6(address) => self.with(&address.octets()),
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Both halves of the secret take part with a hash of their own, so that all 256 bits count.
fn derive(secret: &[u8; 32], label: u64) -> u64 {
    let (first, second) = secret.split_at(16);
    let half = |bytes: &[u8]| {
        let mut words = bytes
            .chunks_exact(8)
            .map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        Key::new(words.next().unwrap_or(0), words.next().unwrap_or(0))
    };
    half(first).hash(&label.to_le_bytes()) ^ half(second).hash(&label.to_be_bytes())
}

/// Two addresses of IPv6, two ports, and 12 bytes besides.
const MESSAGE_BYTES_MAX: usize = 48;

#[cfg(test)]
mod tests;
