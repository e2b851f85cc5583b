//! Neighbour discovery: what is believed, and what is answered: RFC 4861, RFC 4862.

use core::{
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use alloc::vec::Vec;

use portolan_wire::{
    NoRoom, ethernet,
    ndp::{HOP_LIMIT, Message, NeighborAdvertisement, Option_, Packet, Repr, RouterAdvertisement},
    protocol::ICMPV6,
};

use super::cache::Evidence;
use crate::{
    counters::Dropped,
    ip::{
        address::{ALL_NODES, Addresses, Cidr},
        output::Header,
    },
};

/// What a message says to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A neighbour asks for an address of ours.
    Solicitation {
        /// Who it is, where it told.
        neighbor: Option<(Ipv6Addr, ethernet::Address)>,
        /// Whom to answer; all nodes if the neighbour has no address yet.
        answer_to: Ipv6Addr,
        /// Our address.
        target: Ipv6Addr,
    },
    /// A neighbour tells its hardware address.
    Advertisement {
        /// What it tells.
        said: NeighborAdvertisement,
        /// The hardware address, where it is repeated.
        hardware: Option<ethernet::Address>,
        /// How sure it is.
        evidence: Evidence,
    },
    /// A router tells about itself and the link; its options are gone through by
    /// [`prefixes`].
    Router {
        /// Its address and, where it told, hardware address.
        router: (Ipv6Addr, Option<ethernet::Address>),
        /// What it tells.
        said: RouterAdvertisement,
    },
    /// Another host has this address of ours, or is about to.
    Conflict(Ipv6Addr),
}

/// Reads a message whose carrier was checked, and came from another host.
///
/// # Errors
///
/// Why it is dropped.
pub fn read(
    packet: &Packet<'_>,
    source: Ipv6Addr,
    mac: ethernet::Address,
    addresses: &Addresses,
) -> Result<Said, Dropped> {
    let mine = |address: Ipv6Addr| addresses.is_own(IpAddr::V6(address));
    let tentative = |address: Ipv6Addr| addresses.is_tentative(IpAddr::V6(address));
    let optimistic = |address: Ipv6Addr| addresses.is_optimistic(IpAddr::V6(address));
    match packet.message() {
        // RFC 4862, section 5.4.3: two are about to use it.
        Message::NeighborSolicitation { target }
            if source.is_unspecified() && (tentative(target) || optimistic(target)) =>
        {
            Ok(Said::Conflict(target))
        }
        Message::NeighborSolicitation { target } if mine(target) => {
            let hardware = source_hardware(packet);
            let is_odd = hardware.is_some_and(|one| one.is_multicast() || one == mac);
            if is_odd {
                return Err(Dropped::NdpMalformed);
            }
            let neighbor = hardware.map(|hardware| (source, hardware));
            let answer_to = if source.is_unspecified() { ALL_NODES } else { source };
            Ok(Said::Solicitation { neighbor, answer_to, target })
        }
        Message::NeighborAdvertisement(said) if mine(said.target) || tentative(said.target) => {
            Ok(Said::Conflict(said.target))
        }
        Message::NeighborAdvertisement(said) => {
            let hardware = packet.options().find_map(|option| match option {
                Option_::TargetLinkLayerAddress(address) => Some(address),
                _ => None,
            });
            if hardware.is_some_and(ethernet::Address::is_multicast) {
                return Err(Dropped::NdpMalformed);
            }
            let overrides = said.overrides;
            let evidence = match said.is_solicited {
                true => Evidence::Answer { overrides },
                false => Evidence::Announcement { overrides },
            };
            Ok(Said::Advertisement { said, hardware, evidence })
        }
        Message::RouterAdvertisement(said) => {
            let hardware = source_hardware(packet).filter(|one| !one.is_multicast());
            Ok(Said::Router { router: (source, hardware), said })
        }
        Message::Redirect { .. } => Err(Dropped::Redirect),
        Message::NeighborSolicitation { .. } | Message::RouterSolicitation => {
            Err(Dropped::NdpNotForUs)
        }
    }
}

fn source_hardware(packet: &Packet<'_>) -> Option<ethernet::Address> {
    packet.options().find_map(|option| match option {
        Option_::SourceLinkLayerAddress(address) => Some(address),
        _ => None,
    })
}

/// The prefixes that a router says are on this link, and for how long: RFC 4861, section 6.3.4.
/// A host that lies here draws no more than it could by answering for neighbours.
pub fn prefixes(packet: &Packet<'_>) -> impl Iterator<Item = (Cidr, Duration)> {
    packet.options().take(OPTIONS_MAX).filter_map(|option| match option {
        Option_::Prefix(prefix) if prefix.on_link => {
            let cidr = Cidr::new(IpAddr::V6(prefix.prefix), prefix.prefix_len)?;
            Some((cidr, Duration::from_secs(prefix.valid_lifetime_s.into())))
        }
        _ => None,
    })
}

/// Writes a message between these addresses into the empty buffer.
///
/// # Errors
///
/// [`NoRoom`], which cannot be, as the buffer grows.
pub fn write(
    message: Message,
    option: Option<Option_<'_>>,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    buffer: &mut Vec<u8>,
) -> Result<(), NoRoom> {
    let repr = Repr { message, options: option.as_slice() };
    buffer.resize(repr.header_len(), 0);
    repr.emit(buffer, source, destination)
}

/// The header of a packet that carries a message.
pub const fn header(source: Ipv6Addr, destination: Ipv6Addr) -> Header {
    Header {
        source: IpAddr::V6(source),
        destination: IpAddr::V6(destination),
        protocol: ICMPV6,
        traffic_class: 0,
        hop_limit: HOP_LIMIT,
        dont_fragment: true,
    }
}

const OPTIONS_MAX: usize = 64;
