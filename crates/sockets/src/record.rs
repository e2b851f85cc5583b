//! The socket records of this crate's BPF programs (`bpf/row.h`), in host byte order but for the
//! addresses.
//!
//! ```text
//! family:1 state:1 timer:1 retransmits:1 local-port:2 remote-port:2
//! receive-queue:4 send-queue:4 interface:4 uid:4 inode:4 expires-ms:4 cookie:8
//! local and remote address, 4 bytes each for AF_INET, 16 for AF_INET6
//! ```

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use portolan_flow::Transport;

use crate::{Details, Query, Row, State};

/// No record is longer.
pub const BYTES_MAX: usize = FIXED_BYTES + 32;

/// `ROW_BYTES` of `bpf/row.h`.
const FIXED_BYTES: usize = 40;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// What a row is to carry beside addresses and state: `WANT_*` of `bpf/row.h`.
mod want {
    pub const QUEUES: u32 = 1;
    pub const HOLDER: u32 = 2;
    pub const COOKIE: u32 = 4;
    pub const TIMER: u32 = 8;
}

/// What a query asks for, as the programs take it. One that cannot tell something leaves it out.
pub(crate) fn wanted(query: &Query) -> u32 {
    let Details { queues, holder, cookie, timer, .. } = query.details;
    // A filter may ask for the user.
    let holder = holder || query.filter.as_ref().is_some_and(|filter| filter.has_expression());
    let all = [
        (queues, want::QUEUES),
        (holder, want::HOLDER),
        (cookie, want::COOKIE),
        (timer, want::TIMER),
    ];
    all.into_iter().filter(|(asked, _)| *asked).map(|(_, bit)| bit).sum()
}

/// Hands every socket in `bytes` to `each`; returns how many bytes at the end are no whole record.
/// After a record that makes no sense there is no telling where the next begins.
pub fn decode(bytes: &[u8], transport: Transport, each: &mut dyn FnMut(&Row)) -> usize {
    let mut rest = bytes;
    while let Some((row, length)) = first(rest, transport) {
        each(&row);
        rest = &rest[length..];
    }
    rest.len()
}

fn first(bytes: &[u8], transport: Transport) -> Option<(Row, usize)> {
    let fixed: &[u8; FIXED_BYTES] = bytes.first_chunk()?;
    let addresses = &bytes[FIXED_BYTES..];
    let half = |at: usize| u16::from_ne_bytes([fixed[at], fixed[at + 1]]);
    let word = |at: usize| u32::from_ne_bytes(fixed[at..at + 4].try_into().expect("four bytes"));
    let interface = word(16);
    let (local, remote, length) = match fixed[0] {
        AF_INET => (v4(addresses, 0, half(4))?, v4(addresses, 4, half(6))?, FIXED_BYTES + 8),
        AF_INET6 => {
            let local = v6(addresses, 0, half(4), interface)?;
            (local, v6(addresses, 16, half(6), interface)?, FIXED_BYTES + 32)
        }
        _ => return None,
    };
    let row = Row {
        transport,
        state: State::from_kernel(fixed[1])?,
        local,
        remote,
        interface,
        only_v6: None,
        receive_queue: word(8),
        send_queue: word(12),
        uid: word(20),
        inode: word(24),
        cookie: u64::from(word(32)) | u64::from(word(36)) << 32,
        retransmits: fixed[3],
        timer: fixed[2],
        expires_ms: word(28),
        tcp: None,
        memory: None,
    };
    Some((row, length))
}

fn v4(addresses: &[u8], at: usize, port: u16) -> Option<SocketAddr> {
    let octets: &[u8; 4] = addresses.get(at..)?.first_chunk()?;
    Some(SocketAddrV4::new(Ipv4Addr::from(*octets), port).into())
}

fn v6(addresses: &[u8], at: usize, port: u16, interface: u32) -> Option<SocketAddr> {
    let octets: &[u8; 16] = addresses.get(at..)?.first_chunk()?;
    Some(with_scope(Ipv6Addr::from(*octets), port, interface))
}

/// Only a link-local address needs the interface to be complete (RFC 4007).
fn with_scope(address: Ipv6Addr, port: u16, interface: u32) -> SocketAddr {
    let scope = if address.is_unicast_link_local() { interface } else { 0 };
    SocketAddrV6::new(address, port, 0, scope).into()
}

#[cfg(test)]
mod tests;
