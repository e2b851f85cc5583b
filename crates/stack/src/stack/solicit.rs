//! Questions and answers about hardware addresses that leave.

use core::net::{IpAddr, Ipv6Addr};

use portolan_wire::{
    arp,
    ethernet::{self, EtherType},
    mld,
    ndp::{self, NeighborAdvertisement, Option_, solicited_node},
};

use super::Stack;
use crate::{
    Instant,
    counters::Noted,
    icmp::mld::header as header_mld,
    ip::address::{ALL_NODES, ALL_ROUTERS},
    neighbor::{
        arp::{announcement, probe, request, write as write_arp},
        ndp::{header, write as write_ndp},
    },
    outbox::{Envelope, Message, Offload, Origin, Packet},
};

impl Stack {
    /// Sends an ARP packet.
    pub(super) fn send_arp(&mut self, repr: &arp::Repr, hardware: ethernet::Address) {
        let mut bytes = self.outbox.buffer();
        if write_arp(repr, &mut bytes).is_ok() {
            let envelope = Envelope::Link { hardware, ethertype: EtherType::ARP };
            self.push(Message { envelope, bytes, origin: Origin::Host });
        }
    }

    /// Sends a message of neighbour discovery; to a hardware address if it is given.
    fn send_ndp(
        &mut self,
        message: ndp::Message,
        option: Option<Option_<'_>>,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        hardware: Option<ethernet::Address>,
    ) {
        let mut bytes = self.outbox.buffer();
        if write_ndp(message, option, (source, destination), &mut bytes).is_ok() {
            let header = header(source, destination);
            let offload = Offload::default();
            let packet = Packet { header, hardware, fragments: None, offload };
            let envelope = Envelope::Ip(packet);
            self.push(Message { envelope, bytes, origin: Origin::Host });
        }
    }

    /// Asks for a neighbour's hardware address; the neighbour alone if that is known already.
    pub(super) fn send_solicitation(
        &mut self,
        neighbor: IpAddr,
        hardware: Option<ethernet::Address>,
    ) {
        let Some(source) = self.addresses.source_for(neighbor, neighbor) else { return };
        self.counters.note(Noted::Solicitation);
        match (source, neighbor) {
            (IpAddr::V4(source), IpAddr::V4(target)) => {
                let to = hardware.unwrap_or(ethernet::Address::BROADCAST);
                self.send_arp(&request(self.mac, source, target), to);
            }
            (IpAddr::V6(source), IpAddr::V6(target)) => {
                let message = ndp::Message::NeighborSolicitation { target };
                // RFC 4429, section 3.2: nobody is to learn an address that may be another's.
                let is_sure = !self.addresses.is_optimistic(source.into());
                let option = is_sure.then_some(Option_::SourceLinkLayerAddress(self.mac));
                let to = if hardware.is_some() { target } else { solicited_node(target) };
                self.send_ndp(message, option, (source, to), hardware);
            }
            _ => {}
        }
    }

    /// Answers a solicitation: RFC 4861, section 7.2.4; to a hardware address if it is given.
    pub(super) fn send_advertisement(
        &mut self,
        target: Ipv6Addr,
        to: Ipv6Addr,
        hardware: Option<ethernet::Address>,
    ) {
        let said = NeighborAdvertisement {
            target,
            is_router: false,
            is_solicited: !to.is_multicast(),
            // RFC 4429, section 3.3: whoever is known to have it keeps it.
            overrides: !self.addresses.is_optimistic(target.into()),
        };
        let message = ndp::Message::NeighborAdvertisement(said);
        let option = Some(Option_::TargetLinkLayerAddress(self.mac));
        self.send_ndp(message, option, (target, to), hardware);
    }

    /// Asks whether another host has the address.
    pub(super) fn send_probe(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => {
                self.send_arp(&probe(self.mac, address), ethernet::Address::BROADCAST);
            }
            IpAddr::V6(target) => {
                let message = ndp::Message::NeighborSolicitation { target };
                let between = (Ipv6Addr::UNSPECIFIED, solicited_node(target));
                self.send_ndp(message, None, between, None);
            }
        }
    }

    /// Tells all that the address is ours.
    pub(super) fn send_announcement(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => {
                self.send_arp(&announcement(self.mac, address), ethernet::Address::BROADCAST);
            }
            IpAddr::V6(address) => self.send_advertisement(address, ALL_NODES, None),
        }
    }

    /// Tells the groups that are due.
    pub(super) fn report_groups(&mut self, now: Instant) {
        while let Some(report) = self.groups.pop(now) {
            let routers = mld::ALL_ROUTERS.into();
            let local = self.addresses.source_for(routers, routers);
            // RFC 3590: without a link-local address from none, which switches take.
            let local = match local {
                Some(IpAddr::V6(local)) if local.is_unicast_link_local() => local,
                _ => {
                    self.groups.is_anonymous();
                    Ipv6Addr::UNSPECIFIED
                }
            };
            let mut bytes = self.outbox.buffer();
            let Ok(destination) = report.write(local, &mut bytes) else { continue };
            if self.push_ip(header_mld(local, destination), bytes, Origin::Host) {
                self.counters.note(Noted::MldReport);
            }
        }
    }

    /// Asks for routers, from a link-local address; whether there is one by now.
    pub(super) fn send_router_solicitation(&mut self) -> bool {
        let source = self.addresses.source_for(ALL_ROUTERS.into(), ALL_ROUTERS.into());
        let Some(IpAddr::V6(source)) = source else { return false };
        let option = Some(Option_::SourceLinkLayerAddress(self.mac));
        self.send_ndp(ndp::Message::RouterSolicitation, option, (source, ALL_ROUTERS), None);
        true
    }

    /// The hardware address for packets to this neighbour or group, if it is known; otherwise it is
    /// asked for.
    pub(super) fn resolve(&mut self, next_hop: IpAddr, now: Instant) -> Resolved {
        use crate::neighbor::cache::Lookup;
        let group = match next_hop {
            IpAddr::V4(group) if group.is_multicast() => {
                Some(ethernet::Address::of_multicast_v4(group))
            }
            IpAddr::V4(address) if self.addresses.is_broadcast(address) => {
                Some(ethernet::Address::BROADCAST)
            }
            IpAddr::V6(group) if group.is_multicast() => {
                Some(ethernet::Address::of_multicast_v6(group))
            }
            _ => None,
        };
        if let Some(group) = group {
            return Resolved::To(group);
        }
        match self.neighbors.lookup(next_hop, now) {
            Lookup::Hardware(hardware) => Resolved::To(hardware),
            Lookup::Wait { is_new } => {
                if is_new {
                    self.send_solicitation(next_hop, None);
                }
                Resolved::Later
            }
            Lookup::Silent => Resolved::Silent,
            Lookup::Full => Resolved::Full,
        }
    }
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// To this hardware address.
    To(ethernet::Address),
    /// It has to wait for an answer.
    Later,
    /// Nobody answers.
    Silent,
    /// There is no room to ask.
    Full,
}
