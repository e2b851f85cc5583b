//! The structures of bpf/edge.h, as bytes of maps and of the queue.

use std::net::{IpAddr, Ipv6Addr};

use portolan_flow::{Totals, Transport};

/// `struct edge`.
pub const EDGE_BYTES: usize = 72;
/// `struct totals`.
pub const TOTALS_BYTES: usize = 136;

/// Which end of the connection was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The client's.
    Active,
    /// The server's.
    Passive,
}

/// A process as a program saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name {
    /// `comm`, with zeros up to its end; empty where no process was seen.
    pub comm: [u8; 16],
    /// The inode number of its group in the unified hierarchy.
    pub cgroup: u64,
    /// It is that of a thread, and not of the process (bpf/caller.h).
    pub is_threads: bool,
}

impl Name {
    /// Whether no process was seen.
    pub fn is_empty(&self) -> bool {
        self.comm[0] == 0
    }

    /// Without the zeros.
    pub fn comm(&self) -> &[u8] {
        let end = self.comm.iter().position(|&byte| byte == 0).unwrap_or(self.comm.len());
        &self.comm[..end]
    }
}

/// `struct edge`: one end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// This end's address; IPv4-mapped is IPv4.
    pub local: IpAddr,
    /// The other end's.
    pub remote: IpAddr,
    /// This end's process.
    pub name: Name,
    /// This end's network namespace.
    pub netns: u32,
    /// The listening port.
    pub port: u16,
    /// Which end.
    pub side: Side,
    /// The transport protocol.
    pub transport: Transport,
    /// The side was guessed.
    pub guessed: bool,
}

impl Edge {
    /// Reads a key; `None` of what no program writes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; EDGE_BYTES] = bytes.first_chunk()?;
        let side = match bytes[64] {
            1 => Side::Active,
            2 => Side::Passive,
            _ => return None,
        };
        let transport = match bytes[65] {
            6 => Transport::Tcp,
            17 => Transport::Udp,
            _ => return None,
        };
        Some(Self {
            local: address(bytes, 8),
            remote: address(bytes, 24),
            name: name(bytes, 40, 0),
            netns: word(bytes, 56),
            port: u16::from_ne_bytes([bytes[60], bytes[61]]),
            side,
            transport,
            guessed: bytes[66] != 0,
        })
    }
}

/// `struct totals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// What went over it.
    pub totals: Totals,
    /// Connections that the walk met.
    pub up: u64,
    /// A process that was there; 0 where none was seen.
    pub pid: u32,
}

impl Counted {
    /// Reads a value.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TOTALS_BYTES] = bytes.first_chunk()?;
        let mut counted = Self { up: long(bytes, 128), pid: word(bytes, 56), ..Self::default() };
        let totals = &mut counted.totals;
        let in_order = [
            &mut totals.opened,
            &mut totals.closed,
            &mut totals.bytes_sent,
            &mut totals.bytes_received,
            &mut totals.rtt_us_sum,
            &mut totals.rtt_samples,
            &mut totals.duration_us_sum,
        ];
        let behind = [
            &mut totals.resets,
            &mut totals.refused,
            &mut totals.timed_out,
            &mut totals.unreachable,
            &mut totals.abandoned,
            &mut totals.datagrams_sent,
            &mut totals.datagrams_received,
            &mut totals.retransmits,
        ];
        for (at, count) in in_order.into_iter().enumerate() {
            *count = long(bytes, 8 * at);
        }
        for (at, count) in behind.into_iter().enumerate() {
            *count = long(bytes, 64 + 8 * at);
        }
        Some(counted)
    }

    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        self.totals.add(&other.totals);
        self.up += other.up;
        if other.pid != 0 {
            self.pid = other.pid;
        }
    }
}

/// An address of 16 bytes.
pub fn address(bytes: &[u8], at: usize) -> IpAddr {
    let octets: [u8; 16] = bytes[at..at + 16].try_into().expect("16 bytes");
    IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
}

/// A name of 16 bytes, and its control group.
pub fn name(bytes: &[u8], comm_at: usize, cgroup_at: usize) -> Name {
    let mut comm: [u8; 16] = bytes[comm_at..comm_at + 16].try_into().expect("16 bytes");
    // The kernel's own has a zero there.
    let is_threads = comm[15] == 1;
    if is_threads {
        comm[15] = 0;
    }
    // What is behind the first zero is of no meaning.
    if let Some(end) = comm.iter().position(|&byte| byte == 0) {
        comm[end..].fill(0);
    }
    Name { comm, cgroup: long(bytes, cgroup_at), is_threads }
}

/// A number of four bytes, in host byte order.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
