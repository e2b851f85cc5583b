//! ARP: what is believed, and what is answered: RFC 826, RFC 5227.

use core::net::{IpAddr, Ipv4Addr};

use alloc::vec::Vec;

use portolan_wire::{
    NoRoom,
    arp::{Operation, PACKET_BYTES, Packet, Repr},
    ethernet,
};

use super::cache::Evidence;
use crate::{counters::Dropped, ip::address::Addresses};

/// What a packet says to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The neighbour has this hardware address, and wants to know ours if there is a reply.
    Neighbor {
        /// Who; nobody in a probe.
        neighbor: Option<(Ipv4Addr, ethernet::Address, Evidence)>,
        /// The answer.
        reply: Option<Repr>,
    },
    /// Another host uses this address of ours, or is about to.
    Conflict(Ipv4Addr),
}

/// Reads a packet that another host sent. `is_asked` tells whose answer is waited for.
///
/// # Errors
///
/// Why it is dropped.
pub fn read(
    packet: &Packet<'_>,
    mac: ethernet::Address,
    addresses: &Addresses,
    is_asked: impl Fn(IpAddr) -> bool,
) -> Result<Said, Dropped> {
    let (sender, hardware) = (packet.sender_protocol(), packet.sender_hardware());
    let target = packet.target_protocol();
    let is_request = packet.operation() == Operation::Request;
    let is_probe = sender.is_unspecified() && is_request;
    let is_host = !sender.is_multicast() && !sender.is_loopback() && !sender.is_unspecified();
    let is_sender = is_probe || (is_host && !addresses.is_broadcast(sender));
    if !is_sender || hardware.is_multicast() || hardware == mac {
        return Err(Dropped::ArpSender);
    }
    let mine = |address| addresses.is_own(IpAddr::V4(address));
    let tentative = |address| addresses.is_tentative(IpAddr::V4(address));
    if mine(sender) || tentative(sender) {
        return Ok(Said::Conflict(sender));
    }
    let optimistic = |address| addresses.is_optimistic(IpAddr::V4(address));
    if is_probe && (tentative(target) || optimistic(target)) {
        return Ok(Said::Conflict(target));
    }
    let reply = (is_request && mine(target)).then_some(Repr {
        operation: Operation::Reply,
        sender_hardware: mac,
        sender_protocol: target,
        target_hardware: hardware,
        target_protocol: sender,
    });
    let address = IpAddr::V4(sender);
    let evidence = match packet.operation() {
        // Who is not on the link is answered, but not remembered.
        Operation::Request if reply.is_some() && addresses.is_on_link(address) => Evidence::Request,
        Operation::Reply if mine(target) && is_asked(address) => {
            Evidence::Answer { overrides: true }
        }
        _ => Evidence::Announcement { overrides: true },
    };
    let neighbor = (!is_probe).then_some((sender, hardware, evidence));
    Ok(Said::Neighbor { neighbor, reply })
}

/// Asks for the hardware address of `target`.
pub const fn request(mac: ethernet::Address, source: Ipv4Addr, target: Ipv4Addr) -> Repr {
    Repr {
        operation: Operation::Request,
        sender_hardware: mac,
        sender_protocol: source,
        target_hardware: ethernet::Address([0; 6]),
        target_protocol: target,
    }
}

/// Asks whether anybody has the address: RFC 5227, section 2.1.1.
pub const fn probe(mac: ethernet::Address, target: Ipv4Addr) -> Repr {
    request(mac, Ipv4Addr::UNSPECIFIED, target)
}

/// Tells all that the address is ours: RFC 5227, section 2.3.
pub const fn announcement(mac: ethernet::Address, address: Ipv4Addr) -> Repr {
    request(mac, address, address)
}

/// Writes a packet into the empty buffer.
///
/// # Errors
///
/// [`NoRoom`], which cannot be, as the buffer grows.
pub fn write(repr: &Repr, buffer: &mut Vec<u8>) -> Result<(), NoRoom> {
    buffer.resize(PACKET_BYTES, 0);
    repr.emit(buffer)
}
