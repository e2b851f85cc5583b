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
    raw::Family,
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
    outgoing_v4: Outgoing,
    outgoing_v6: Outgoing,
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
            outgoing_v4: Outgoing::new(Family::V4, false)?,
            outgoing_v6: Outgoing::new(Family::V6, false)?,
        })
    }

    /// What to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.v4.as_fd(), self.v6.as_fd()].into_iter()
    }

    /// See [`Method::ask`](crate::Method::ask).
    pub fn ask(&mut self, id: Id, target: SocketAddr, route: &Route, next_hop: [u8; 6]) -> Asked {
        let (outgoing, ether_type) = match target {
            SocketAddr::V4(_) => (&mut self.outgoing_v4, ETHER_TYPE_IPV4),
            SocketAddr::V6(_) => (&mut self.outgoing_v6, ETHER_TYPE_IPV6),
        };
        if outgoing.is_full() {
            outgoing.flush(&self.sender);
            if outgoing.is_full() {
                return Asked::Busy;
            }
        }
        let Some((flight, attempt)) = self.flights.launch(id, target, route.source) else {
            return Asked::Busy;
        };
        let to = Destination::Link { interface: route.interface, ether_type, address: next_hop };
        outgoing.push(id, &flight, attempt, &to);
        Asked::Sent
    }

    /// See [`Method::flush`](crate::Method::flush).
    pub fn flush(&mut self) {
        self.outgoing_v4.flush(&self.sender);
        self.outgoing_v6.flush(&self.sender);
    }

    /// See [`Method::hear`](crate::Method::hear).
    pub fn hear(&mut self, each: &mut dyn FnMut(Heard)) {
        let Self { flights, v4, v6, outgoing_v4, outgoing_v6, .. } = self;
        outgoing_v4.hear(each);
        outgoing_v6.hear(each);
        v4.receive(|bytes, is_cut| each(hear::hear_v4(flights, bytes, is_cut)));
        v6.receive(|bytes, is_cut| each(hear::hear_v6(flights, bytes, is_cut)));
    }

    /// See [`Method::forget`](crate::Method::forget).
    pub fn forget(&mut self, id: Id) {
        self.flights.land(id);
        self.outgoing_v4.forget(id);
        self.outgoing_v6.forget(id);
    }

    /// Packets that there was no room for since the last call.
    pub fn take_lost(&self) -> u32 {
        // Statistics that cannot be read say nothing.
        [&self.v4, &self.v6].into_iter().filter_map(|ring| ring.take_lost().ok()).sum()
    }
}
