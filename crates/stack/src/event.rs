//! What the program is told.

use core::net::IpAddr;

use crate::{tcp, udp::UdpId};

/// Something happened that the program may act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A listener or a connection is ready for something.
    Tcp(tcp::Event),
    /// A datagram or an error waits at a bound port. It is told once, until all was taken.
    Udp(UdpId),
    /// Another host has an address of this one.
    AddressConflict(Conflict),
}

/// Two hosts have an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The address.
    pub address: IpAddr,
    /// The other host's hardware address.
    pub hardware: [u8; 6],
    /// Whether this host does not use the address (any more): the other one answered when it was
    /// asked. Otherwise the address is defended, once in 10 seconds: RFC 5227, section 2.4 (b).
    pub is_lost: bool,
}
