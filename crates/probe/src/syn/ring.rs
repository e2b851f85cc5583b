//! Past the kernel's IP: packets to routers and neighbours by a packet socket, answers through
//! memory shared with the kernel. For sweeps of many targets on an Ethernet link, or behind a
//! router on one.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::fd::{AsFd, BorrowedFd},
};

use portolan_sys::{
    address::Destination,
    clock,
    datagrams::Outbox,
    packet::{ETHER_TYPE_ARP, ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, PacketReceiver, PacketSender},
    raw::Family,
};
use portolan_wire::{arp, ethernet};
use rustix::io::Errno;

use super::{
    filter,
    flights::{Flights, Heard},
    hear,
    neighbours::{Neighbours, Place, Waiting},
    outgoing::Outgoing,
    reserve::Reservation,
    routes::{Hop, Route},
};
use crate::{Asked, Id};

/// Answers that the kernel can put down before they are taken: 8 MiB.
const FRAMES: usize = 1 << 14;
/// The same of replies to ARP, of which nobody waits for more than one.
const ARP_FRAMES: usize = 1 << 13;

/// A packet socket to send, and one of each kind to receive.
#[derive(Debug)]
pub struct RingLink {
    flights: Flights,
    _ports: Reservation,
    sender: PacketSender,
    v4: PacketReceiver,
    v6: PacketReceiver,
    arp: PacketReceiver,
    neighbours: Neighbours,
    requests: Outbox<{ arp::PACKET_BYTES }>,
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
            arp: PacketReceiver::open(ETHER_TYPE_ARP, &filter::arp_replies(), ARP_FRAMES)?,
            neighbours: Neighbours::default(),
            requests: Outbox::default(),
            outgoing_v4: Outgoing::new(Family::V4, false)?,
            outgoing_v6: Outgoing::new(Family::V6, false)?,
        })
    }

    /// What to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.v4.as_fd(), self.v6.as_fd(), self.arp.as_fd()].into_iter()
    }

    /// See [`Method::ask`](crate::Method::ask).
    pub fn ask(&mut self, id: Id, target: SocketAddr, route: &Route) -> Asked {
        if self.requests.is_empty() && matches!(route.hop, Hop::OnLink { .. }) {
            // What came so far answers no request that is yet to be sent.
            self.hear_neighbours();
        }
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
        let interface = route.interface;
        let launched = self.flights.launch(id, target, route.source);
        let Some((flight, attempt)) = launched else { return Asked::Busy };
        let syn_to = match (route.hop, target.ip(), route.source) {
            (Hop::Neighbour(address), _, _) => Some(address),
            (Hop::OnLink { own }, IpAddr::V4(address), IpAddr::V4(source)) => {
                let place = Place { interface, address };
                let waiting = Waiting { id, flight, attempt };
                let sends = self.neighbours.ask(place, waiting, clock::coarse());
                if sends.request {
                    push_request(&mut self.requests, &self.sender, place, own, source);
                }
                sends.syn_to
            }
            // Never: there is no neighbour to find out.
            _ => None,
        };
        if let Some(address) = syn_to {
            let to = Destination::Link { interface, ether_type, address };
            outgoing.push(id, &flight, attempt, &to);
        }
        Asked::Sent
    }

    /// See [`Method::flush`](crate::Method::flush).
    pub fn flush(&mut self) {
        send_requests(&mut self.requests, &self.sender);
        self.outgoing_v4.flush(&self.sender);
        self.outgoing_v6.flush(&self.sender);
    }

    /// See [`Method::take_unsent`](crate::Method::take_unsent).
    pub fn take_unsent(&mut self, each: &mut dyn FnMut(Id)) {
        let Self { flights, neighbours, outgoing_v4, outgoing_v6, .. } = self;
        for outgoing in [outgoing_v4, outgoing_v6] {
            outgoing.take_unsent(&mut |id| {
                flights.take_back(id);
                neighbours.forget(id);
                each(id);
            });
        }
    }

    /// See [`Method::hear`](crate::Method::hear).
    pub fn hear(&mut self, each: &mut dyn FnMut(Heard)) {
        self.hear_neighbours();
        let Self { flights, v4, v6, outgoing_v4, outgoing_v6, .. } = self;
        outgoing_v4.hear(each);
        outgoing_v6.hear(each);
        v4.receive(|bytes, is_cut| each(hear::hear_v4(flights, bytes, is_cut)));
        v6.receive(|bytes, is_cut| each(hear::hear_v6(flights, bytes, is_cut)));
    }

    /// Takes replies to ARP, and sends the SYNs that waited for them.
    fn hear_neighbours(&mut self) {
        let Self { sender, arp, neighbours, requests, outgoing_v4, .. } = self;
        // What there was no room for before.
        send_requests(requests, sender);
        let now = clock::coarse();
        arp.receive_by_link(|interface, bytes, _| {
            let Ok(reply) = arp::Packet::parse(bytes) else { return };
            let ethernet::Address(address) = reply.sender_hardware();
            let to = Destination::Link { interface, ether_type: ETHER_TYPE_IPV4, address };
            neighbours.handle_reply(interface, &reply.repr(), now, &mut |waiting| {
                if outgoing_v4.is_full() {
                    outgoing_v4.flush(&*sender);
                }
                // If there is still no room, the next question finds the neighbour known.
                if !outgoing_v4.is_full() {
                    outgoing_v4.push(waiting.id, &waiting.flight, waiting.attempt, &to);
                }
            });
        });
        outgoing_v4.flush(&*sender);
    }

    /// See [`Method::forget`](crate::Method::forget).
    pub fn forget(&mut self, id: Id) {
        self.flights.land(id);
        self.neighbours.forget(id);
        self.outgoing_v4.forget(id);
        self.outgoing_v6.forget(id);
    }

    /// Packets that there was no room for since the last call.
    pub fn take_lost(&self) -> u32 {
        // Statistics that cannot be read say nothing.
        let rings = [&self.v4, &self.v6, &self.arp];
        rings.into_iter().filter_map(|ring| ring.take_lost().ok()).sum()
    }
}

/// Takes in a request of RFC 826 for the Ethernet address of who is at `place`.
fn push_request(
    requests: &mut Outbox<{ arp::PACKET_BYTES }>,
    sender: &PacketSender,
    place: Place,
    own: [u8; 6],
    source: Ipv4Addr,
) {
    if requests.is_full() {
        send_requests(requests, sender);
    }
    // There has been no room for a while: what is not asked now is asked again, as what was lost.
    if requests.is_full() {
        requests.clear();
    }
    let request = arp::Repr {
        operation: arp::Operation::Request,
        sender_hardware: ethernet::Address(own),
        sender_protocol: source,
        target_hardware: ethernet::Address::default(),
        target_protocol: place.address,
    };
    let to = Destination::Link {
        interface: place.interface,
        ether_type: ETHER_TYPE_ARP,
        address: ethernet::Address::BROADCAST.0,
    };
    requests.push(&to, |buffer| request.emit(buffer).map_or(0, |()| request.header_len()));
}

/// Sends the requests, as far as there is room for them.
fn send_requests(requests: &mut Outbox<{ arp::PACKET_BYTES }>, sender: &PacketSender) {
    while !requests.is_empty() {
        let Err(error) = requests.send(sender) else { continue };
        match Errno::from_io_error(&error) {
            Some(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::INTR) => return,
            // The link is gone; the next question learns that from the routes.
            _ => requests.drop_first(),
        }
    }
}
