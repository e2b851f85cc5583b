//! Frames that arrive: Ethernet, ARP, and which way the rest goes.

use core::net::IpAddr;

use portolan_wire::{
    arp,
    ethernet::{self, EtherType, Packet},
    icmpv6, ipv6, mld, ndp,
};

use super::Stack;
use crate::{
    Checksum, Conflict, Instant,
    counters::{Delivered, Dropped, Noted},
    ip::{carrier::Carrier, joined::Joined},
    neighbor::{
        arp::{Said as ArpSaid, read as read_arp},
        cache::Evidence,
        ndp::{Said as NdpSaid, prefixes, read as read_ndp},
    },
    tcp::ConnectionId,
};

/// What comes with a frame besides its bytes.
pub(super) struct Arrival<'a> {
    pub checksum: Checksum,
    /// Who sent the frame; of a datagram that was put together, nobody.
    pub sender: ethernet::Address,
    pub now: Instant,
    pub deliver: &'a mut dyn FnMut(ConnectionId, &[u8]) -> usize,
}

impl Stack {
    /// Takes a frame. `checksum` says what the device knows of the upper layer's checksum.
    ///
    /// Data of TCP that is in order is offered to `deliver` where it lies in the frame; it says how
    /// many bytes it took, from the front. What it did not take is kept for `tcp_read`.
    pub fn handle_frame(
        &mut self,
        frame: &[u8],
        checksum: Checksum,
        now: Instant,
        deliver: &mut dyn FnMut(ConnectionId, &[u8]) -> usize,
    ) {
        if let Some(joined) = self.take_joined() {
            // Nobody asked for it: it is ours.
            self.handle_joined(&joined, now, deliver);
        }
        let sender = ethernet::Address::default();
        let fate = self.receive(frame, Arrival { checksum, sender, now, deliver });
        match &mut self.joined {
            // Who gets it counts the frame.
            Some(joined) => joined.frame_bytes = frame.len(),
            None => self.counters.frame(frame.len(), fate),
        }
    }

    /// A datagram that the last frame completed, of a stack that
    /// [shares flows](crate::Config::shares_flows) with others. Whoever owns the flow takes it by
    /// [`handle_joined`](Self::handle_joined); until that is asked for, this stack does with the
    /// next frame.
    pub fn take_joined(&mut self) -> Option<Joined> {
        self.joined.take()
    }

    /// Takes a datagram that another stack of this host has put together, or this one. `deliver`
    /// is that of [`handle_frame`](Self::handle_frame).
    pub fn handle_joined(
        &mut self,
        joined: &Joined,
        now: Instant,
        deliver: &mut dyn FnMut(ConnectionId, &[u8]) -> usize,
    ) {
        // The device has seen fragments alone.
        let (checksum, sender) = (Checksum::Unknown, ethernet::Address::default());
        let arrival = Arrival { checksum, sender, now, deliver };
        let fate = self.receive_joined(joined, arrival);
        self.counters.frame(joined.frame_bytes, fate);
    }

    fn receive(&mut self, frame: &[u8], arrival: Arrival<'_>) -> Result<Delivered, Dropped> {
        let frame = Packet::parse(frame).map_err(|_| Dropped::EthernetMalformed)?;
        let arrival = Arrival { sender: frame.source(), ..arrival };
        let destination = frame.destination();
        // Our own frames, which a switch sends back, are no other host's.
        if frame.source().is_multicast() || frame.source() == self.mac {
            return Err(Dropped::EthernetSource);
        }
        if !self.is_for_us(destination) {
            return Err(Dropped::EthernetDestination);
        }
        // VLAN 0 is none: the tag has a priority alone.
        if frame.vlan().is_some_and(|vlan| vlan != 0) {
            return Err(Dropped::Vlan);
        }
        let is_unicast = !destination.is_multicast();
        match frame.ethertype() {
            EtherType::IPV4 => self.receive_v4(frame.payload(), is_unicast, arrival),
            EtherType::IPV6 => self.receive_v6(frame.payload(), is_unicast, arrival),
            EtherType::ARP => self.receive_arp(frame.payload(), arrival.now),
            _ => Err(Dropped::EtherTypeUnknown),
        }
    }

    /// A device may let groups through that this host is not in; IP looks closer at those of IP.
    fn is_for_us(&self, destination: ethernet::Address) -> bool {
        let [first, second, ..] = destination.0;
        destination == self.mac
            || destination == ethernet::Address::BROADCAST
            || matches!((first, second), (0x33, 0x33) | (0x01, 0x00))
    }

    fn receive_arp(&mut self, payload: &[u8], now: Instant) -> Result<Delivered, Dropped> {
        let packet = arp::Packet::parse(payload).map_err(|_| Dropped::ArpMalformed)?;
        let is_asked = |address| self.neighbors.is_asked(address);
        match read_arp(&packet, self.mac, &self.addresses, is_asked)? {
            ArpSaid::Conflict(address) => {
                self.handle_conflict(address.into(), packet.sender_hardware(), now);
                Err(Dropped::ArpConflict)
            }
            ArpSaid::Neighbor { neighbor, reply } => {
                let mut is_news = reply.is_some();
                if let Some((address, hardware, evidence)) = neighbor {
                    is_news |= self.neighbors.hardware(address.into()).is_some();
                    is_news |= self.neighbors.is_asked(address.into());
                    self.learn(address.into(), hardware, evidence, now);
                }
                if let Some(reply) = reply {
                    self.send_arp(&reply, reply.target_hardware);
                }
                if is_news { Ok(Delivered::Arp) } else { Err(Dropped::ArpNotForUs) }
            }
        }
    }

    /// Another host claims an address of ours.
    fn handle_conflict(&mut self, address: IpAddr, hardware: ethernet::Address, now: Instant) {
        let is_lost = self.addresses.lose(address);
        if is_lost {
            self.counters.note(Noted::AddressDuplicate);
        } else {
            self.counters.note(Noted::AddressConflict);
            if self.addresses.defend(address, now) && self.speaks {
                self.send_announcement(address);
            }
        }
        // What was lost is told in any case.
        if is_lost || !self.conflict.is_some_and(|earlier| earlier.is_lost) {
            self.conflict = Some(Conflict { address, hardware: hardware.0, is_lost });
        }
    }

    /// Remembers a neighbour's hardware address, and lets go what waits for it.
    pub(super) fn learn(
        &mut self,
        neighbor: IpAddr,
        hardware: ethernet::Address,
        evidence: Evidence,
        now: Instant,
    ) {
        if self.neighbors.learn(neighbor, hardware, evidence, now) {
            while let Some(message) = self.waiting.take(neighbor) {
                self.outbox.resume(message);
            }
        }
    }

    /// A message of neighbour discovery in a packet that may carry it.
    pub(super) fn receive_ndp(
        &mut self,
        packet: &ndp::Packet<'_>,
        carrier: &Carrier<'_>,
        sender: ethernet::Address,
        now: Instant,
    ) -> Result<Delivered, Dropped> {
        let header = ipv6::Packet::parse_quoted(carrier.packet);
        let header = header.map_err(|_| Dropped::NdpMalformed)?;
        packet.check_carrier(&header).map_err(|_| Dropped::NdpMalformed)?;
        match read_ndp(packet, header.source(), self.mac, &self.addresses)? {
            NdpSaid::Conflict(address) => {
                self.handle_conflict(address.into(), sender, now);
                return Err(Dropped::NdpConflict);
            }
            NdpSaid::Solicitation { neighbor, answer_to, target } => {
                // Who has an address of another network on this link is answered where he is.
                let mut stranger = None;
                if let Some((address, hardware)) = neighbor {
                    match self.is_neighbor(address.into()) {
                        true => self.learn(address.into(), hardware, Evidence::Request, now),
                        false => stranger = Some(hardware),
                    }
                }
                self.send_advertisement(target, answer_to, stranger);
            }
            NdpSaid::Advertisement { said, hardware, evidence } => {
                let address = IpAddr::V6(said.target);
                let known = self.neighbors.hardware(address);
                // RFC 4861, section 7.2.5: without an address, it can only confirm the known one.
                let hardware = hardware.or(known).ok_or(Dropped::NdpNotForUs)?;
                if known.is_none() && !self.neighbors.is_asked(address) {
                    return Err(Dropped::NdpNotForUs);
                }
                self.learn(address, hardware, evidence, now);
                if !said.is_router {
                    self.routes.forget_router(said.target);
                }
            }
            NdpSaid::Router { router: (router, hardware), said } => {
                if !self.discovers_routers {
                    return Err(Dropped::NdpNotForUs);
                }
                self.learn_router(packet, router, said, now);
                if let Some(hardware) = hardware {
                    self.learn(router.into(), hardware, Evidence::Request, now);
                }
            }
        }
        Ok(Delivered::Ndp)
    }

    fn learn_router(
        &mut self,
        packet: &ndp::Packet<'_>,
        router: core::net::Ipv6Addr,
        said: ndp::RouterAdvertisement,
        now: Instant,
    ) {
        let lifetime = core::time::Duration::from_secs(said.lifetime_s.into());
        self.routes.learn_router(router, lifetime, now);
        for (prefix, lifetime) in prefixes(packet) {
            self.routes.learn_prefix(prefix, lifetime, now);
        }
        if said.reachable_ms > 0 {
            let time = core::time::Duration::from_millis(said.reachable_ms.into());
            self.neighbors.set_reachable_time(time);
        }
        if said.lifetime_s > 0 {
            self.router_solicitations = None;
        }
    }

    /// A message of multicast listener discovery.
    pub(super) fn receive_mld(
        &mut self,
        message: &icmpv6::Packet<'_>,
        carrier: &Carrier<'_>,
        now: Instant,
    ) -> Result<Delivered, Dropped> {
        let packet = mld::Packet::parse(message).map_err(|_| Dropped::MldMalformed)?;
        let header = ipv6::Packet::parse_quoted(carrier.packet);
        let header = header.map_err(|_| Dropped::MldMalformed)?;
        packet.check_carrier(&header).map_err(|_| Dropped::MldMalformed)?;
        match packet.message() {
            mld::Message::Query(query) => self.groups.handle_query(&query, now),
            mld::Message::ReportV1(group) => self.groups.handle_report(group, now),
            mld::Message::Report | mld::Message::Done(_) => return Err(Dropped::MldNotForUs),
        }
        Ok(Delivered::Mld)
    }

    /// Whether the address can be that of a neighbour.
    fn is_neighbor(&self, address: IpAddr) -> bool {
        self.addresses.is_on_link(address)
    }
}
