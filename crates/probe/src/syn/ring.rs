//! Past the kernel's IP: packets to routers by a packet socket, answers through memory shared with
//! the kernel. For sweeps of many targets behind a router on an Ethernet link.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd},
};

use portolan_sys::{
    address::Destination,
    packet::{ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, PacketReceiver, PacketSender},
};

use super::{
    filter,
    flights::{Flights, Heard},
    hear,
    outgoing::Outgoing,
    reserve::Reservation,
    routes::Route,
};
use crate::{Asked, Id};

/// Answers that the kernel can put down before they are taken: 8 MiB.
const FRAMES: usize = 1 << 14;

/// A packet socket to send, and one of each family to receive.
#[derive(Debug)]
pub struct RingLink {
    flights: Flights,
    _ports: Reservation,
    sender: PacketSender,
    v4: PacketReceiver,
    v6: PacketReceiver,
    outgoing: Outgoing,
}

impl RingLink {
    /// Opens the sockets.
    pub fn open((ports, flights): (Reservation, Flights)) -> io::Result<Self> {
        let block = flights.ports();
        Ok(Self {
            flights,
            _ports: ports,
            sender: PacketSender::open()?,
            v4: PacketReceiver::open(ETHER_TYPE_IPV4, &filter::packet_v4(block), FRAMES)?,
            v6: PacketReceiver::open(ETHER_TYPE_IPV6, &filter::packet_v6(block), FRAMES)?,
            outgoing: Outgoing::default(),
        })
    }

    /// What to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.v4.as_fd(), self.v6.as_fd()].into_iter()
    }

    /// See [`Method::ask`](crate::Method::ask).
    pub fn ask(&mut self, id: Id, target: SocketAddr, route: &Route, next_hop: [u8; 6]) -> Asked {
        if self.outgoing.is_full() {
            self.flush();
            if self.outgoing.is_full() {
                return Asked::Busy;
            }
        }
        let ether_type = if target.is_ipv4() { ETHER_TYPE_IPV4 } else { ETHER_TYPE_IPV6 };
        let to = Destination::Link { interface: route.interface, ether_type, address: next_hop };
        self.outgoing.ask(&mut self.flights, id, target, route, &to)
    }

    /// See [`Method::flush`](crate::Method::flush).
    pub fn flush(&mut self) {
        self.outgoing.flush(&self.sender);
    }

    /// See [`Method::hear`](crate::Method::hear).
    pub fn hear(&mut self, each: &mut dyn FnMut(Heard)) {
        let Self { flights, v4, v6, outgoing, .. } = self;
        outgoing.hear(each);
        v4.receive(|bytes, is_cut| each(hear::hear_v4(flights, bytes, is_cut)));
        v6.receive(|bytes, is_cut| each(hear::hear_v6(flights, bytes, is_cut)));
    }

    /// See [`Method::forget`](crate::Method::forget).
    pub fn forget(&mut self, id: Id) {
        self.flights.land(id);
        self.outgoing.forget(id);
    }

    /// Packets that there was no room for since the last call.
    pub fn take_lost(&self) -> u32 {
        // Statistics that cannot be read say nothing.
        [&self.v4, &self.v6].into_iter().filter_map(|ring| ring.take_lost().ok()).sum()
    }
}
