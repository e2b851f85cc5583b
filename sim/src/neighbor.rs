//! Hosts that are no whole ones say what their hardware address is.

use std::net::{IpAddr, Ipv6Addr};

use portolan_wire::{
    arp, ethernet,
    ethernet::EtherType,
    icmpv6,
    ndp::{self, Message, NeighborAdvertisement, Option_},
    protocol,
};

use crate::{
    frame::{Datagram, Frame, Way, wrapped},
    host,
};

/// The answer to a question for the hardware address of the host of this number; none to any other
/// frame.
pub(crate) fn answer(frame: &[u8], number: usize, ipv6: bool) -> Option<Frame> {
    match host::address(number, ipv6) {
        IpAddr::V4(address) => {
            let frame = ethernet::Packet::parse(frame).ok()?;
            if frame.ethertype() != EtherType::ARP {
                return None;
            }
            let question = arp::Packet::parse(frame.payload()).ok()?.repr();
            (question.operation == arp::Operation::Request && question.target_protocol == address)
                .then(|| reply(question, host::mac(number)))
        }
        IpAddr::V6(address) => advertisement(frame, address, host::mac(number)),
    }
}

fn reply(question: arp::Repr, own: ethernet::Address) -> Frame {
    let reply = arp::Repr {
        operation: arp::Operation::Reply,
        sender_hardware: own,
        sender_protocol: question.target_protocol,
        target_hardware: question.sender_hardware,
        target_protocol: question.sender_protocol,
    };
    let header = ethernet::Repr {
        source: own,
        destination: question.sender_hardware,
        tags: Default::default(),
        ethertype: EtherType::ARP,
    };
    let mut frame = vec![0; ethernet::HEADER_BYTES + arp::PACKET_BYTES];
    let written = header.emit(&mut frame).and(reply.emit(&mut frame[ethernet::HEADER_BYTES..]));
    debug_assert!(written.is_ok(), "an answer of ARP fits");
    frame
}

fn advertisement(frame: &[u8], address: Ipv6Addr, own: ethernet::Address) -> Option<Frame> {
    let datagram = Datagram::read(frame)?;
    let asking = ethernet::Packet::parse(frame).ok()?.source();
    let IpAddr::V6(asks) = datagram.source else { return None };
    if datagram.protocol != protocol::ICMPV6 {
        return None;
    }
    let message = icmpv6::Packet::parse(datagram.payload).ok()?;
    let question = ndp::Packet::parse(&message).ok()?.message();
    if question != (Message::NeighborSolicitation { target: address }) {
        return None;
    }
    let advertisement = NeighborAdvertisement {
        target: address,
        is_router: false,
        is_solicited: true,
        overrides: true,
    };
    let options = [Option_::TargetLinkLayerAddress(own)];
    let answer =
        ndp::Repr { message: Message::NeighborAdvertisement(advertisement), options: &options };
    let mut message = vec![0; answer.header_len()];
    answer.emit(&mut message, address, asks).ok()?;
    let way = Way {
        source_mac: own,
        destination_mac: asking,
        source: address.into(),
        destination: asks.into(),
    };
    Some(wrapped(way, protocol::ICMPV6, 0, &message))
}
