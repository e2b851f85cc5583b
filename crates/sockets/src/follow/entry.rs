//! A socket as the table keeps it: what does not change without an event, in little memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use portolan_flow::{NetnsId, Transport};

use crate::{Row, State};

/// A socket; 48 bytes, and 32 elsewhere for IPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    addresses: Addresses,
    /// The kernel's unique number of the socket; 0 if it has none yet.
    pub cookie: u64,
    /// Inode number of the namespace, which has 32 bits.
    netns: u32,
    interface: u32,
    uid: u32,
    inode: u32,
    local_port: u16,
    remote_port: u16,
    transport: Transport,
    /// The state.
    pub state: State,
}

/// Local and remote.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Addresses {
    V4([Ipv4Addr; 2]),
    V6(Box<[Ipv6Addr; 2]>),
}

/// What two readings have in common of a socket that goes on, whatever its state.
pub type Tuple = (NetnsId, Transport, SocketAddr, SocketAddr);

impl Entry {
    /// From a row of that namespace.
    pub fn new(netns: NetnsId, row: &Row) -> Self {
        let addresses = match (row.local.ip(), row.remote.ip()) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => Addresses::V4([local, remote]),
            (local, remote) => Addresses::V6(Box::new([as_v6(local), as_v6(remote)])),
        };
        Self {
            addresses,
            cookie: row.cookie,
            netns: u32::try_from(netns).unwrap_or(0),
            interface: row.interface,
            uid: row.uid,
            inode: row.inode,
            local_port: row.local.port(),
            remote_port: row.remote.port(),
            transport: row.transport,
            state: row.state,
        }
    }

    /// The namespace.
    pub fn netns(&self) -> NetnsId {
        self.netns.into()
    }

    /// As a row, with everything 0 that has no events.
    pub fn row(&self) -> Row {
        let (local, remote) = match &self.addresses {
            Addresses::V4([local, remote]) => (
                SocketAddr::from((*local, self.local_port)),
                SocketAddr::from((*remote, self.remote_port)),
            ),
            Addresses::V6(both) => {
                (self.v6(both[0], self.local_port), self.v6(both[1], self.remote_port))
            }
        };
        Row {
            transport: self.transport,
            state: self.state,
            local,
            remote,
            interface: self.interface,
            only_v6: None,
            receive_queue: 0,
            send_queue: 0,
            uid: self.uid,
            inode: self.inode,
            cookie: self.cookie,
            retransmits: 0,
            timer: 0,
            expires_ms: 0,
            tcp: None,
            memory: None,
        }
    }

    /// Only a link-local address needs the interface to be complete (RFC 4007).
    fn v6(&self, address: Ipv6Addr, port: u16) -> SocketAddr {
        let scope = if address.is_unicast_link_local() { self.interface } else { 0 };
        SocketAddrV6::new(address, port, 0, scope).into()
    }

    /// Whether nothing more is to come but by an event. Before: a port is given after the state
    /// changed, a connection gets its holder when it is accepted, and one that is being closed
    /// loses it; one in TIME-WAIT goes without an event. States that pass soon are looked at
    /// anyway.
    pub fn is_settled(&self) -> bool {
        let right_holder = match self.state {
            State::FinWait2 => self.inode == 0,
            State::SynSent | State::SynReceived | State::FinWait1 => false,
            State::LastAck | State::Closing | State::TimeWait => false,
            _ => self.inode != 0,
        };
        right_holder && self.local_port != 0
    }

    /// Whether one in TIME-WAIT may stand in for it after it closed (`tcp_time_wait` of
    /// net/ipv4/tcp_minisocks.c).
    pub fn may_wait(&self) -> bool {
        matches!(self.state, State::FinWait1 | State::FinWait2 | State::Closing | State::TimeWait)
    }

    /// The one that stands in for it, held by nobody.
    pub fn waiting(&self) -> Self {
        Self { state: State::TimeWait, uid: 0, inode: 0, ..self.clone() }
    }

    /// The same in another state.
    pub fn in_state(&self, state: State) -> Self {
        Self { state, ..self.clone() }
    }

    /// With what a later look at the same socket found: its holder, and its addresses if it had no
    /// port before. One that is closed at that moment has lost its port already; and states come
    /// in order by events.
    pub fn completed(&self, row: &Row) -> Self {
        if self.local_port == 0 {
            return Self { state: self.state, cookie: self.cookie, ..Self::new(self.netns(), row) };
        }
        Self { uid: row.uid, inode: row.inode, ..self.clone() }
    }
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}
