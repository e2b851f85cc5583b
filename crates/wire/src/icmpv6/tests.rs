use std::vec;

use etherparse::Icmpv6Slice;
use proptest::prelude::*;
use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{Icmpv6Packet, Icmpv6Repr},
};

use super::*;
use crate::{
    generators::{UNREACHABLE_V6, bytes, hex},
    ipv6,
    protocol::UDP,
    tcp,
};

#[test]
fn reads_an_error_of_linux() {
    let frame = hex(UNREACHABLE_V6);
    let carrier = ipv6::Packet::parse(&frame[14..]).unwrap();
    let packet = Packet::parse(carrier.upper_layer().unwrap().payload).unwrap();
    assert_eq!(packet.kind(), Kind::DESTINATION_UNREACHABLE);
    assert_eq!((packet.code(), packet.mtu()), (unreachable::PORT, None));
    assert_eq!(packet.check(carrier.source(), carrier.destination()), Check::Right);
    assert_eq!(packet.check(carrier.source(), Ipv6Addr::UNSPECIFIED), Check::Wrong);
    let quoted = ipv6::Packet::parse_quoted(packet.quoted().unwrap()).unwrap();
    let upper = quoted.upper_layer().unwrap();
    assert_eq!((upper.protocol, upper.payload.len()), (UDP, 10));
    let ports = tcp::Packet::parse_quoted_ports(upper.payload).unwrap();
    assert_eq!((ports.source_port, ports.destination_port), (38971, 47124));
}

/// RFC 4884, section 4.4: the length of the quoted packet in words of 8 bytes is the first byte of
/// the word behind the checksum; in other errors that byte is part of a number.
#[test]
fn leaves_extensions_out() {
    let quoted_bytes = |kind: Kind, words: u8| {
        let mut message = vec![0; HEADER_BYTES + 128 + 8];
        (message[0], message[4]) = (kind.0, words);
        Packet::parse(&message).unwrap().quoted().map(<[u8]>::len)
    };
    for kind in [Kind::DESTINATION_UNREACHABLE, Kind::TIME_EXCEEDED] {
        assert_eq!(quoted_bytes(kind, 16), Some(128));
        assert_eq!(quoted_bytes(kind, 15), Some(136));
        assert_eq!(quoted_bytes(kind, 18), Some(136));
    }
    for kind in [Kind::PACKET_TOO_BIG, Kind::PARAMETER_PROBLEM] {
        assert_eq!(quoted_bytes(kind, 16), Some(136));
    }
    for kind in [Kind::ECHO_REQUEST, Kind::ECHO_REPLY, Kind::NEIGHBOR_SOLICITATION, Kind(0)] {
        assert_eq!(quoted_bytes(kind, 16), None);
    }
}

#[test]
fn refuses_what_has_no_room() {
    let what = "ICMPv6 header";
    assert_eq!(
        Packet::parse(&[0; 7]).unwrap_err(),
        Malformed::Truncated { what, needed: 8, found: 7 }
    );
    let (source, destination) = (Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    assert_eq!(
        Repr::PacketTooBig { mtu: 1280 }.emit(&mut [0; 7], source, destination),
        Err(NoRoom::Buffer { what, needed: 8, found: 7 })
    );
}

fn repr() -> impl Strategy<Value = Repr> {
    let echo = any::<(u16, u16)>().prop_map(|(identifier, sequence)| Echo { identifier, sequence });
    prop_oneof![
        echo.clone().prop_map(Repr::EchoRequest),
        echo.prop_map(Repr::EchoReply),
        (0..7u8).prop_map(|code| Repr::DestinationUnreachable { code }),
        any::<u32>().prop_map(|mtu| Repr::PacketTooBig { mtu }),
        (0..2u8).prop_map(|code| Repr::TimeExceeded { code }),
        (0..3u8, any::<u32>()).prop_map(|(code, pointer)| Repr::ParameterProblem { code, pointer }),
    ]
}

proptest! {
    #[test]
    fn others_read_what_is_written(repr in repr(), data in bytes(60), source: Ipv6Addr,
                                   destination: Ipv6Addr) {
        let mut message = [&[0xee; HEADER_BYTES][..], &data].concat();
        repr.emit(&mut message, source, destination).unwrap();
        let ours = Packet::parse(&message).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (Some(repr), &data[..]));
        prop_assert_eq!(ours.check(source, destination), Check::Right);
        let theirs = Icmpv6Slice::from_slice(&message).unwrap();
        prop_assert_eq!((theirs.type_u8(), theirs.code_u8()), (ours.kind().0, ours.code()));
        prop_assert!(theirs.is_checksum_valid(source.octets(), destination.octets()));
        let theirs = Icmpv6Packet::new_checked(&message[..]);
        prop_assert!(theirs.is_ok_and(|theirs| theirs.verify_checksum(&source, &destination)));
        message[4] ^= 1;
        prop_assert_ne!(Packet::parse(&message).unwrap().check(source, destination), Check::Right);
    }

    #[test]
    fn reads_what_others_write(is_request: bool, ident: u16, seq_no: u16, data in bytes(60),
                               source: Ipv6Addr, destination: Ipv6Addr) {
        let theirs = if is_request {
            Icmpv6Repr::EchoRequest { ident, seq_no, data: &data }
        } else {
            Icmpv6Repr::EchoReply { ident, seq_no, data: &data }
        };
        let mut message = vec![0; theirs.buffer_len()];
        theirs.emit(
            &source,
            &destination,
            &mut Icmpv6Packet::new_unchecked(&mut message[..]),
            &ChecksumCapabilities::default(),
        );
        let ours = Packet::parse(&message).unwrap();
        let echo = Echo { identifier: ident, sequence: seq_no };
        let repr = if is_request { Repr::EchoRequest(echo) } else { Repr::EchoReply(echo) };
        prop_assert_eq!((ours.repr(), ours.payload()), (Some(repr), &data[..]));
        prop_assert_eq!(ours.check(source, destination), Check::Right);
    }

    #[test]
    fn any_bytes_are_read(bytes in bytes(200)) {
        if let Ok(packet) = Packet::parse(&bytes) {
            let _ = (packet.repr(), packet.check(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST));
            if let Some(quoted) = packet.quoted() {
                prop_assert!(packet.payload().starts_with(quoted));
            }
        }
    }
}
