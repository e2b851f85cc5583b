//! The records of `bpf/follow.bpf.c` (`struct event` of `bpf/follow.h`), in host byte order but for
//! the addresses.
//!
//! ```text
//! address:8 netns:4 bucket:4, then a row as in src/record.rs
//! ```

use std::fmt;

use portolan_flow::{NetnsId, Transport};

use crate::{Row, record};

/// `struct event` up to its row.
const HEAD_BYTES: usize = 16;

/// An event of a socket over IPv4: `EVENT_V4_BYTES` of `bpf/follow.h`.
pub const V4_BYTES: usize = 64;

/// An event of a socket over IPv6: `EVENT_V6_BYTES`.
pub const V6_BYTES: usize = 88;

const AF_INET: u8 = 2;

/// A connection that has a new state, or was found by a walk.
#[derive(Debug)]
pub struct Event {
    /// Where to ask the kernel about it again.
    pub place: Where,
    /// Its network namespace.
    pub netns: NetnsId,
    /// What it is; of its state, the new one.
    pub row: Row,
}

/// Where a socket lies in the kernel's memory, only to ask about it (`struct question`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// At this address.
    Socket(u64),
    /// In the chain at this address, with this number, of the kernel's table of connections.
    Chain(u64, u32),
}

/// `AT_SOCKET`, where the number of a chain would be.
pub const AT_SOCKET: u32 = u32::MAX;

/// Addresses of the kernel's are nobody's business.
impl fmt::Debug for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Socket(_) => "Socket",
            Self::Chain(..) => "Chain",
        })
    }
}

/// Hands every event in `bytes` to `each`; returns how many bytes at the end are no whole event.
pub fn decode(bytes: &[u8], each: &mut dyn FnMut(Event)) -> usize {
    let mut rest = bytes;
    while let Some(&family) = rest.get(HEAD_BYTES) {
        let length = if family == AF_INET { V4_BYTES } else { V6_BYTES };
        let Some(event) = rest.get(..length) else { break };
        let Some(row) = row(&event[HEAD_BYTES..]) else { break };
        let word = |at: usize| u32::from_ne_bytes(event[at..at + 4].try_into().expect("four"));
        let address = u64::from_ne_bytes(event[..8].try_into().expect("eight bytes"));
        let place = match word(12) {
            AT_SOCKET => Where::Socket(address),
            bucket => Where::Chain(address, bucket),
        };
        each(Event { place, netns: word(8).into(), row });
        rest = &rest[length..];
    }
    rest.len()
}

/// The row at the beginning of `bytes`, if there is one.
pub fn row(bytes: &[u8]) -> Option<Row> {
    let length = if *bytes.first()? == AF_INET { V4_BYTES } else { V6_BYTES } - HEAD_BYTES;
    let row = bytes.get(..length)?;
    let mut found = None;
    record::decode(row, Transport::Tcp, &mut |row| found = Some(row.clone()));
    found
}

#[cfg(test)]
mod tests;
