//! Any frame is read: VLAN tags, ARP, both versions of IP, their options, extension headers,
//! datagrams, and the packets that ICMP errors quote, each a part of what it was in.

#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use portolan_wire::{
    Check, arp, ethernet, ethernet::EtherType, icmpv4, icmpv6, ipv4, ipv6, protocol, tcp, udp,
};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(frame) = ethernet::Packet::parse(bytes) {
        let repr = frame.repr();
        let mut written = vec![0; repr.header_len()];
        repr.emit(&mut written).expect("tags that were read fit");
        assert_eq!(written, bytes[..written.len()]);
        match frame.ethertype() {
            EtherType::ARP => {
                let _ = arp::Packet::parse(frame.payload()).map(|packet| packet.repr());
            }
            EtherType::IPV4 => version_4(frame.payload()),
            EtherType::IPV6 => version_6(frame.payload()),
            _ => {}
        }
    }
    // Without a frame too, so that less has to be guessed.
    version_4(bytes);
    version_6(bytes);
    let _ = icmpv4::Packet::parse(bytes).map(quoted_4);
    let _ = icmpv6::Packet::parse(bytes).map(quoted_6);
});

fn version_4(bytes: &[u8]) {
    let quoted = ipv4::Packet::parse_quoted(bytes);
    let Ok(packet) = ipv4::Packet::parse(bytes) else { return };
    assert_eq!(packet.header_len() + packet.payload().len(), packet.total_len());
    assert_eq!(quoted.expect("it is less strict").payload(), packet.payload());
    let repr = packet.repr();
    let mut written = vec![0; repr.header_len()];
    repr.emit(&mut written).expect("a payload that was read fits");
    written.extend_from_slice(packet.payload());
    let again = ipv4::Packet::parse(&written).expect("what was written is read");
    assert_eq!(again.repr(), repr);
    assert!(again.checksum_is_right());
    assert!(packet.options().count() <= ipv4::OPTIONS_BYTES_MAX);
    if packet.protocol() == protocol::UDP {
        datagram(packet.payload(), packet.source().into(), packet.destination().into());
    }
    if packet.protocol() == protocol::ICMPV4 && !packet.is_fragment() {
        let _ = icmpv4::Packet::parse(packet.payload()).map(quoted_4);
    }
}

fn version_6(bytes: &[u8]) {
    let quoted = ipv6::Packet::parse_quoted(bytes);
    let Ok(packet) = ipv6::Packet::parse(bytes) else { return };
    assert_eq!(quoted.expect("it is less strict").payload(), packet.payload());
    let mut written = [0; ipv6::HEADER_BYTES];
    packet.repr().emit(&mut written).expect("a payload that was read fits");
    assert_eq!(written, bytes[..ipv6::HEADER_BYTES]);
    let Ok(upper) = packet.upper_layer() else { return };
    assert_eq!(bytes[upper.offset..][..upper.payload.len()], *upper.payload);
    assert_eq!(bytes[upper.named_at], upper.protocol);
    extensions(&packet);
    if upper.protocol == protocol::UDP {
        datagram(upper.payload, packet.source().into(), packet.destination().into());
    }
    if upper.protocol == protocol::ICMPV6 && !upper.is_later_fragment() {
        let Ok(message) = icmpv6::Packet::parse(upper.payload) else { return };
        let _ = message.check(packet.source(), packet.destination());
        quoted_6(message);
    }
}

/// What is written of each header reads the same; options are gone through in bounded steps.
fn extensions(packet: &ipv6::Packet<'_>) {
    for located in packet.extensions() {
        let header = located.expect("they were walked before").header;
        let mut written = vec![0; header.header_len()];
        header.emit(&mut written).expect("a header that was read fits");
        let again = ipv6::extension::Repr::parse(header.protocol(), &written);
        match header.extension {
            // Not each has a length that is a multiple of 8: RFC 4302 has it from the sender.
            ipv6::Extension::Authentication(_) => assert!(again.is_ok()),
            _ => assert_eq!(again, Ok(Some((header, &[][..])))),
        }
        if let ipv6::Extension::HopByHop(bytes) | ipv6::Extension::DestinationOptions(bytes) =
            header.extension
        {
            assert!(ipv6::extension::options::Iter::new(bytes).count() <= bytes.len());
        }
    }
}

fn datagram(bytes: &[u8], source: IpAddr, destination: IpAddr) {
    let Ok(packet) = udp::Packet::parse(bytes) else { return };
    let is_wrong = packet.check(source, destination) == Check::Wrong;
    assert_eq!(packet.is_intact(source, destination), !is_wrong);
    let mut written = vec![0; packet.repr().header_len()];
    written.extend_from_slice(packet.payload());
    packet.repr().emit(&mut written, source, destination).expect("a payload that was read fits");
    let again = udp::Packet::parse(&written).expect("what was written is read");
    assert_eq!((again.repr(), again.payload()), (packet.repr(), packet.payload()));
    assert_eq!(again.check(source, destination), Check::Right);
}

fn quoted_4(message: icmpv4::Packet<'_>) {
    let _ = (message.checksum_is_right(), message.next_hop_mtu());
    if let Some(repr) = message.repr() {
        let mut written = [0; icmpv4::HEADER_BYTES];
        repr.emit(&mut written).expect("it has no other length");
        let again = icmpv4::Packet::parse(&written).expect("what was written is read");
        assert_eq!(again.repr(), Some(repr));
    }
    let Some(quoted) = message.quoted() else { return };
    assert!(message.payload().starts_with(quoted));
    if let Ok(packet) = ipv4::Packet::parse_quoted(quoted) {
        let _ = tcp::Packet::parse_quoted_ports(packet.payload());
    }
}

fn quoted_6(message: icmpv6::Packet<'_>) {
    if let Some(repr) = message.repr() {
        let mut written = [0; icmpv6::HEADER_BYTES];
        let address = std::net::Ipv6Addr::LOCALHOST;
        repr.emit(&mut written, address, address).expect("it has no other length");
        let again = icmpv6::Packet::parse(&written).expect("what was written is read");
        assert_eq!(again.repr(), Some(repr));
    }
    let Some(quoted) = message.quoted() else { return };
    assert!(message.payload().starts_with(quoted));
    let Ok(packet) = ipv6::Packet::parse_quoted(quoted) else { return };
    if let Ok(upper) = packet.upper_layer() {
        let _ = tcp::Packet::parse_quoted_ports(upper.payload);
    }
}
