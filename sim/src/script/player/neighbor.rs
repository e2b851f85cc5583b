//! The peer of a script says what its hardware address is.

use std::net::{IpAddr, Ipv6Addr};

use portolan_wire::{
    arp, ethernet,
    ethernet::EtherType,
    icmpv6,
    ndp::{self, Message, NeighborAdvertisement, Option_},
    protocol,
};

use super::{PEER, STACK};
use crate::{
    frame::{Datagram, Frame, Way, wrapped},
    host,
};

/// The answer to a question for the peer's hardware address; none to any other frame.
pub(super) fn answer(frame: &[u8], ipv6: bool) -> Option<Frame> {
    match host::address(PEER, ipv6) {
        IpAddr::V4(peer) => {
            let frame = ethernet::Packet::parse(frame).ok()?;
            if frame.ethertype() != EtherType::ARP {
                return None;
            }
            let question = arp::Packet::parse(frame.payload()).ok()?.repr();
            (question.operation == arp::Operation::Request && question.target_protocol == peer)
                .then(|| reply(question))
        }
        IpAddr::V6(peer) => advertisement(frame, peer),
    }
}

fn reply(question: arp::Repr) -> Frame {
    let reply = arp::Repr {
        operation: arp::Operation::Reply,
        sender_hardware: host::mac(PEER),
        sender_protocol: question.target_protocol,
        target_hardware: question.sender_hardware,
        target_protocol: question.sender_protocol,
    };
    let header = ethernet::Repr {
        source: host::mac(PEER),
        destination: question.sender_hardware,
        tags: Default::default(),
        ethertype: EtherType::ARP,
    };
    let mut frame = vec![0; ethernet::HEADER_BYTES + arp::PACKET_BYTES];
    let written = header.emit(&mut frame).and(reply.emit(&mut frame[ethernet::HEADER_BYTES..]));
    debug_assert!(written.is_ok(), "an answer of ARP fits");
    frame
}

fn advertisement(frame: &[u8], peer: Ipv6Addr) -> Option<Frame> {
    let datagram = Datagram::read(frame)?;
    let IpAddr::V6(asks) = datagram.source else { return None };
    if datagram.protocol != protocol::ICMPV6 {
        return None;
    }
    let message = icmpv6::Packet::parse(datagram.payload).ok()?;
    let question = ndp::Packet::parse(&message).ok()?.message();
    if question != (Message::NeighborSolicitation { target: peer }) {
        return None;
    }
    let advertisement = NeighborAdvertisement {
        target: peer,
        is_router: false,
        is_solicited: true,
        overrides: true,
    };
    let options = [Option_::TargetLinkLayerAddress(host::mac(PEER))];
    let answer = ndp::Repr {
        message: Message::NeighborAdvertisement(advertisement),
        options: &options,
    };
    let mut message = vec![0; answer.header_len()];
    answer.emit(&mut message, peer, asks).ok()?;
    let way = Way {
        source_mac: host::mac(PEER),
        destination_mac: host::mac(STACK),
        source: peer.into(),
        destination: asks.into(),
    };
    Some(wrapped(way, protocol::ICMPV6, 0, &message))
}
