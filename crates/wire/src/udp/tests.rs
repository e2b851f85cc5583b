use core::net::{Ipv4Addr, Ipv6Addr};
use std::{vec, vec::Vec};

use etherparse::{UdpHeader, UdpHeaderSlice};
use proptest::prelude::*;
use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{UdpPacket, UdpRepr},
};

use super::*;
use crate::generators::{UNREACHABLE_V4, addresses, bytes, hex};

const V4: (IpAddr, IpAddr) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::BROADCAST));
const V6: (IpAddr, IpAddr) = (IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));

/// The datagram that Linux quoted in an error: 2 bytes, its checksum left to the device.
#[test]
fn reads_a_datagram_of_linux() {
    let frame = hex(UNREACHABLE_V4);
    let datagram = &frame[14 + 20 + 8 + 20..];
    let packet = Packet::parse(datagram).unwrap();
    assert_eq!(packet.repr(), Repr { source_port: 36_449, destination_port: 47_124 });
    assert_eq!(packet.payload(), b"hi");
    let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
    assert_eq!(packet.check(localhost, localhost), Check::Partial);
    let mut again = [&[0xee; 8], &b"hi"[..]].concat();
    packet.repr().emit_partial(&mut again, localhost, localhost).unwrap();
    assert_eq!(again, datagram);
    let quoted = Packet::parse_quoted_ports(&datagram[..8]).unwrap();
    assert_eq!(quoted, Quoted { source_port: 36_449, destination_port: 47_124 });
    assert_eq!(Packet::parse_quoted_ports(&datagram[..7]), None);
}

#[test]
fn refuses_wrong_lengths() {
    let parse = |length: u8| {
        let bytes = [0, 1, 0, 2, 0, length, 0, 0, 9];
        Packet::parse(&bytes).map(|packet| packet.payload().len())
    };
    let what = "UDP length";
    assert_eq!(parse(0), Err(Malformed::Length { what, least: 8, found: 0 }));
    assert_eq!(parse(7), Err(Malformed::Length { what, least: 8, found: 7 }));
    assert_eq!((parse(8), parse(9)), (Ok(0), Ok(1)));
    let what = "UDP datagram";
    assert_eq!(parse(10), Err(Malformed::Truncated { what, needed: 10, found: 9 }));
    let what = "UDP header";
    let cut = Packet::parse(&[0; 7]).unwrap_err();
    assert_eq!(cut, Malformed::Truncated { what, needed: 8, found: 7 });
}

/// RFC 768: 0 says that there is no checksum; RFC 8200, section 8.1: over IPv6 there has to be one.
#[test]
fn a_checksum_may_be_absent_over_ipv4_alone() {
    let bytes = [0, 1, 0, 2, 0, 9, 0, 0, 9];
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!(packet.check(V4.0, V4.1), Check::Absent);
    assert_eq!(packet.check(V6.0, V6.1), Check::Wrong);
    assert!(packet.is_intact(V4.0, V4.1) && !packet.is_intact(V6.0, V6.1));
}

/// Where the checksum would be 0 it is 0xffff.
#[test]
fn a_checksum_is_never_zero() {
    let repr = Repr { source_port: 1, destination_port: 2 };
    let mut datagram = [0; 10];
    repr.emit(&mut datagram, V6.0, V6.1).unwrap();
    let first = Packet::parse(&datagram).unwrap().checksum();
    // With its own checksum as payload, the sum is 0xffff.
    datagram[8..].copy_from_slice(&first.to_be_bytes());
    repr.emit(&mut datagram, V6.0, V6.1).unwrap();
    let packet = Packet::parse(&datagram).unwrap();
    assert_eq!((packet.checksum(), packet.check(V6.0, V6.1)), (0xffff, Check::Right));
}

#[test]
fn refuses_what_has_no_room() {
    let repr = Repr { source_port: 1, destination_port: 2 };
    let mut buffer = [0; 7];
    let what = "UDP header";
    let error = NoRoom::Buffer { what, needed: 8, found: 7 };
    assert_eq!(repr.emit(&mut buffer, V4.0, V4.1), Err(error));
    assert_eq!(buffer, [0; 7]);
    let mut buffer = vec![0; HEADER_BYTES + PAYLOAD_BYTES_MAX + 1];
    let what = "UDP payload length";
    let error = NoRoom::Field { what, max: 65_527, found: 65_528 };
    assert_eq!(repr.emit(&mut buffer, V4.0, V4.1), Err(error));
    assert!(buffer.iter().all(|byte| *byte == 0));
    repr.emit(&mut buffer[..65_535], V4.0, V4.1).unwrap();
}

proptest! {
    #[test]
    fn others_read_what_is_written((source_port, destination_port) in any::<(u16, u16)>(),
                                   (source, destination) in addresses(), payload in bytes(60)) {
        let repr = Repr { source_port, destination_port };
        let mut datagram = [&[0xee; HEADER_BYTES][..], &payload].concat();
        repr.emit(&mut datagram, source, destination).unwrap();
        let ours = Packet::parse(&datagram).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (repr, &payload[..]));
        prop_assert_eq!(ours.check(source, destination), Check::Right);
        prop_assert!(ours.is_intact(source, destination));
        let theirs = UdpHeaderSlice::from_slice(&datagram).unwrap().to_header();
        prop_assert_eq!((theirs.source_port, theirs.destination_port),
                        (source_port, destination_port));
        let sum = match (source, destination) {
            (IpAddr::V4(a), IpAddr::V4(b)) =>
                theirs.calc_checksum_ipv4_raw(a.octets(), b.octets(), &payload).unwrap(),
            (IpAddr::V6(a), IpAddr::V6(b)) =>
                theirs.calc_checksum_ipv6_raw(a.octets(), b.octets(), &payload).unwrap(),
            _ => unreachable!("one family"),
        };
        prop_assert_eq!(ours.checksum(), sum);
        let theirs = UdpPacket::new_checked(&datagram[..]).unwrap();
        prop_assert!(theirs.verify_checksum(&source.into(), &destination.into()));
        prop_assert_eq!(theirs.payload(), &payload);
    }

    #[test]
    fn reads_what_smoltcp_writes(ports: (u16, u16), (source, destination) in addresses(),
                                 payload in bytes(60)) {
        let theirs = UdpRepr { src_port: ports.0, dst_port: ports.1 };
        let mut datagram = vec![0; theirs.header_len() + payload.len()];
        theirs.emit(
            &mut UdpPacket::new_unchecked(&mut datagram[..]),
            &source.into(),
            &destination.into(),
            payload.len(),
            |to| to.copy_from_slice(&payload),
            &ChecksumCapabilities::default(),
        );
        let ours = Packet::parse(&datagram).unwrap();
        prop_assert_eq!((ours.repr().source_port, ours.repr().destination_port), ports);
        prop_assert_eq!(ours.check(source, destination), Check::Right);
    }

    /// etherparse and smoltcp read any header; smoltcp also wants the length to be one, as here.
    #[test]
    fn any_bytes_are_read(mut bytes in bytes(40), length: u8, is_plausible: bool) {
        if is_plausible && bytes.len() > 8 {
            (bytes[4], bytes[5]) = (0, length % 40);
        }
        let theirs = UdpPacket::new_checked(&bytes[..]);
        prop_assert_eq!(Packet::parse(&bytes).is_ok(), theirs.is_ok());
        let Ok(ours) = Packet::parse(&bytes) else { return Ok(()) };
        prop_assert_eq!(ours.payload(), theirs.unwrap().payload());
        let theirs: UdpHeader = UdpHeaderSlice::from_slice(&bytes).unwrap().to_header();
        prop_assert_eq!(usize::from(theirs.length), HEADER_BYTES + ours.payload().len());
        prop_assert_eq!(theirs.checksum, ours.checksum());
        for (source, destination) in [V4, V6] {
            let is_wrong = ours.check(source, destination) == Check::Wrong;
            prop_assert_eq!(ours.is_intact(source, destination), !is_wrong);
        }
        let again: Vec<u8> = bytes[..HEADER_BYTES + ours.payload().len()].to_vec();
        prop_assert_eq!(Packet::parse(&again).unwrap().payload(), ours.payload());
    }
}
