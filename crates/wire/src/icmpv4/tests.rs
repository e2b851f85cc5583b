use std::vec;

use etherparse::Icmpv4Slice;
use proptest::prelude::*;
use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{Icmpv4Packet, Icmpv4Repr},
};

use super::*;
use crate::{
    generators::{SYN_V4, UNREACHABLE_V4, bytes, hex},
    ipv4,
    protocol::UDP,
    tcp,
};

#[test]
fn reads_an_error_of_linux() {
    let frame = hex(UNREACHABLE_V4);
    let carrier = ipv4::Packet::parse(&frame[14..]).unwrap();
    let packet = Packet::parse(carrier.payload()).unwrap();
    assert_eq!(packet.kind(), Kind::DESTINATION_UNREACHABLE);
    assert_eq!((packet.code(), packet.echo()), (unreachable::PORT, None));
    assert!(packet.checksum_is_right());
    let quoted = ipv4::Packet::parse_quoted(packet.quoted().unwrap()).unwrap();
    assert_eq!((quoted.protocol(), quoted.payload().len()), (UDP, 10));
    let ports = tcp::Packet::parse_quoted_ports(quoted.payload()).unwrap();
    assert_eq!((ports.source_port, ports.destination_port), (36449, 47124));
}

/// RFC 792 asks for the header and 8 bytes, and no more.
#[test]
fn the_shortest_quotation_has_the_ports() {
    let frame = hex(SYN_V4);
    let mut message = [&[0; HEADER_BYTES][..], &frame[14..42]].concat();
    let repr = Repr::DestinationUnreachable {
        code: unreachable::FRAGMENTATION_NEEDED,
        next_hop_mtu: 1400,
    };
    repr.emit(&mut message).unwrap();
    let packet = Packet::parse(&message).unwrap();
    assert_eq!((packet.repr(), packet.next_hop_mtu()), (Some(repr), Some(1400)));
    assert!(packet.checksum_is_right());
    let quoted = ipv4::Packet::parse_quoted(packet.quoted().unwrap()).unwrap();
    let ports = tcp::Packet::parse_quoted_ports(quoted.payload()).unwrap();
    assert_eq!((ports.source_port, ports.destination_port), (34944, 47123));
    assert_eq!(ports.sequence.0, 0x7bbae94e);
    assert_eq!(tcp::Packet::parse_quoted_ports(&quoted.payload()[..7]), None);
}

/// RFC 4884, section 5.1: the length of the quoted packet in words of 4 bytes is the second byte
/// of the word behind the checksum.
#[test]
fn leaves_extensions_out() {
    let mut message = vec![0; HEADER_BYTES + 128 + 8];
    Repr::TimeExceeded { code: 0 }.emit(&mut message).unwrap();
    let quoted_bytes = |message: &[u8]| Packet::parse(message).unwrap().quoted().unwrap().len();
    assert_eq!(quoted_bytes(&message), 136);
    for (words, expected) in [(32, 128), (33, 132), (31, 136), (200, 136)] {
        message[5] = words;
        assert_eq!(quoted_bytes(&message), expected, "{words}");
    }
}

#[test]
fn knows_what_is_an_error() {
    for kind in 0..=255 {
        let message = [kind, 0, 0, 0, 0, 0, 0, 0, 1];
        let packet = Packet::parse(&message).unwrap();
        assert_eq!(packet.quoted().is_some(), matches!(kind, 3 | 11 | 12), "{kind}");
        assert_eq!(packet.echo().is_some(), matches!(kind, 0 | 8), "{kind}");
        assert_eq!(packet.next_hop_mtu(), None);
    }
    let what = "ICMP header";
    assert_eq!(
        Packet::parse(&[0; 7]).unwrap_err(),
        Malformed::Truncated { what, needed: 8, found: 7 }
    );
    assert!(Repr::TimeExceeded { code: 0 }.emit(&mut [0; 7]).is_err());
}

fn repr() -> impl Strategy<Value = Repr> {
    let echo = any::<(u16, u16)>().prop_map(|(identifier, sequence)| Echo { identifier, sequence });
    prop_oneof![
        echo.clone().prop_map(Repr::EchoRequest),
        echo.prop_map(Repr::EchoReply),
        (0..16u8, any::<u16>()).prop_map(|(code, mtu)| Repr::DestinationUnreachable {
            code,
            next_hop_mtu: if code == unreachable::FRAGMENTATION_NEEDED { mtu } else { 0 },
        }),
        (0..2u8).prop_map(|code| Repr::TimeExceeded { code }),
        // Pointers belong to code 0, and etherparse forgets others.
        any::<u8>().prop_map(|pointer| Repr::ParameterProblem { code: 0, pointer }),
        (1..3u8).prop_map(|code| Repr::ParameterProblem { code, pointer: 0 }),
    ]
}

proptest! {
    #[test]
    fn others_read_what_is_written(repr in repr(), data in bytes(60)) {
        let mut message = [&[0xee; HEADER_BYTES][..], &data].concat();
        repr.emit(&mut message).unwrap();
        let ours = Packet::parse(&message).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (Some(repr), &data[..]));
        prop_assert!(ours.checksum_is_right());
        let theirs = Icmpv4Slice::from_slice(&message).unwrap();
        prop_assert_eq!((theirs.type_u8(), theirs.code_u8()), (ours.kind().0, ours.code()));
        let header = theirs.header();
        prop_assert_eq!(header.icmp_type.calc_checksum(theirs.payload()), ours.checksum());
        let theirs = Icmpv4Packet::new_checked(&message[..]).unwrap();
        prop_assert!(theirs.verify_checksum());
        message[4] ^= 1;
        prop_assert!(!Packet::parse(&message).unwrap().checksum_is_right());
    }

    #[test]
    fn reads_what_others_write(is_request: bool, ident: u16, seq_no: u16, data in bytes(60)) {
        let theirs = if is_request {
            Icmpv4Repr::EchoRequest { ident, seq_no, data: &data }
        } else {
            Icmpv4Repr::EchoReply { ident, seq_no, data: &data }
        };
        let mut message = vec![0; theirs.buffer_len()];
        theirs.emit(
            &mut Icmpv4Packet::new_unchecked(&mut message[..]),
            &ChecksumCapabilities::default(),
        );
        let ours = Packet::parse(&message).unwrap();
        let echo = Echo { identifier: ident, sequence: seq_no };
        let repr = if is_request { Repr::EchoRequest(echo) } else { Repr::EchoReply(echo) };
        prop_assert_eq!((ours.repr(), ours.payload()), (Some(repr), &data[..]));
        prop_assert!(ours.checksum_is_right());
    }

    #[test]
    fn any_bytes_are_read(bytes in bytes(200)) {
        if let Ok(packet) = Packet::parse(&bytes) {
            let _ = (packet.repr(), packet.checksum_is_right());
            if let Some(quoted) = packet.quoted() {
                prop_assert!(packet.payload().starts_with(quoted));
                let _ = ipv4::Packet::parse_quoted(quoted);
            }
        }
    }
}
