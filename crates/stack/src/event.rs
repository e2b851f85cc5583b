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
    /// Another host has this address. It is not used if that was found before; else it is defended.
    AddressConflict(IpAddr),
}
