use etherparse::{Ipv4Header, Ipv4HeaderSlice};
use proptest::prelude::*;
use smoltcp::wire::Ipv4Packet;

use super::*;
use crate::{
    generators::{SYN_V4, UNREACHABLE_V4, bytes, hex},
    protocol::{ICMPV4, TCP},
};

#[test]
fn reads_a_packet_of_linux() {
    let frame = hex(SYN_V4);
    let packet = Packet::parse(&frame[14..]).unwrap();
    let repr = Repr {
        traffic_class: 0,
        identification: 0x4abe,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: TCP,
        source: Ipv4Addr::LOCALHOST,
        destination: Ipv4Addr::LOCALHOST,
        options: &[],
        payload_len: 40,
    };
    assert_eq!((packet.repr(), packet.header_len(), packet.total_len()), (repr, 20, 60));
    assert!(packet.checksum_is_right() && !packet.is_fragment());
    let mut again = [0; 20];
    repr.emit(&mut again).unwrap();
    assert_eq!(again, frame[14..34]);
    let frame = hex(UNREACHABLE_V4);
    let packet = Packet::parse(&frame[14..]).unwrap();
    assert_eq!((packet.protocol(), packet.traffic_class()), (ICMPV4, 0xc0));
}

/// A fragment with four bytes of options and two of padding behind it.
const FRAGMENT: &str = "4603001b0007201e400100000a0000010a000002940400006162630000";

#[test]
fn cuts_padding_and_finds_options() {
    let bytes = hex(FRAGMENT);
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!((packet.payload(), packet.option_bytes()), (&b"abc"[..], &[0x94, 4, 0, 0][..]));
    assert_eq!((packet.fragment_offset(), packet.more_fragments()), (240, true));
    assert!(packet.is_fragment() && !packet.dont_fragment() && !packet.checksum_is_right());
}

#[test]
fn refuses_wrong_lengths() {
    let with = |at: usize, value: u8| {
        let mut bytes = hex(FRAGMENT);
        bytes[at] = value;
        Packet::parse(&bytes).unwrap_err()
    };
    assert_eq!(with(0, 0x66), Malformed::Version { what: "IPv4", expected: 4, found: 6 });
    let what = "IPv4 header length";
    assert_eq!(with(0, 0x44), Malformed::Length { what, least: 20, found: 16 });
    let what = "IPv4 header";
    assert_eq!(with(0, 0x4f), Malformed::Truncated { what, needed: 60, found: 29 });
    let what = "IPv4 total length";
    assert_eq!(with(3, 23), Malformed::Length { what, least: 24, found: 23 });
    let what = "IPv4 packet";
    assert_eq!(with(3, 30), Malformed::Truncated { what, needed: 30, found: 29 });
}

#[test]
fn quoted_packets_may_be_cut() {
    let bytes = hex(FRAGMENT);
    let quoted = |bytes| Packet::parse_quoted(bytes).map(|packet| packet.payload());
    assert_eq!(quoted(&bytes).unwrap(), b"abc");
    assert_eq!(quoted(&bytes[..25]).unwrap(), b"a");
    assert_eq!(quoted(&bytes[..24]).unwrap(), b"");
    let what = "IPv4 header";
    assert_eq!(
        quoted(&bytes[..23]).unwrap_err(),
        Malformed::Truncated { what, needed: 24, found: 23 }
    );
    let mut changed = bytes.clone();
    changed[3] = 3;
    assert_eq!(quoted(&changed).unwrap(), b"abc\0\0");
}

#[test]
fn refuses_what_has_no_room() {
    let frame = hex(SYN_V4);
    let repr = Packet::parse(&frame[14..]).unwrap().repr();
    let mut buffer = [0; 20];
    let long = Repr { payload_len: 65_516, ..repr };
    let what = "IPv4 payload length";
    let error = NoRoom::Field { what, max: 65_515, found: 65_516 };
    assert_eq!(long.emit(&mut buffer), Err(error));
    assert!(Repr { payload_len: usize::MAX, ..repr }.emit(&mut buffer).is_err());
    assert!(repr.emit(&mut buffer[..19]).is_err());
    assert_eq!(buffer, [0; 20]);
    Repr { payload_len: 65_515, ..repr }.emit(&mut buffer).unwrap();
}

fn repr() -> impl Strategy<Value = Repr<'static>> {
    let numbers = any::<(u8, u16, bool, u8, u8)>();
    let fragment = (any::<bool>(), 0..=OFFSET, 0..=10usize);
    (numbers, fragment, any::<(Ipv4Addr, Ipv4Addr)>()).prop_map(|(numbers, fragment, addresses)| {
        let (traffic_class, identification, dont_fragment, ttl, protocol) = numbers;
        let (more_fragments, offset, words) = fragment;
        Repr {
            traffic_class,
            identification,
            dont_fragment,
            more_fragments,
            fragment_offset: offset * 8,
            ttl,
            protocol,
            source: addresses.0,
            destination: addresses.1,
            options: &OPTIONS[..words * 4],
            payload_len: 0,
        }
    })
}

/// A recorded route, and no operations.
const OPTIONS: [u8; 40] = {
    let mut bytes = [1; 40];
    (bytes[0], bytes[1], bytes[2]) = (7, 7, 4);
    bytes
};

/// Options of 5 bytes take 8.
#[test]
fn pads_options() {
    let frame = hex(SYN_V4);
    let repr = Packet::parse(&frame[14..]).unwrap().repr();
    let repr = Repr { options: &[130, 5, 9, 9, 9], payload_len: 0, ..repr };
    let mut buffer = [0xee; 30];
    repr.emit(&mut buffer).unwrap();
    let packet = Packet::parse(&buffer).unwrap();
    assert_eq!((packet.header_len(), packet.total_len()), (28, 28));
    assert_eq!(packet.option_bytes(), [130, 5, 9, 9, 9, 0, 0, 0]);
    assert!(packet.checksum_is_right() && buffer[28..] == [0xee; 2]);
    assert_eq!(packet.options().count(), 1);
}

#[test]
fn refuses_what_no_header_can_say() {
    let frame = hex(SYN_V4);
    let repr = Packet::parse(&frame[14..]).unwrap().repr();
    let mut buffer = [0; 100];
    let what = "length of IPv4 options";
    assert_eq!(
        Repr { options: &[1; 41], ..repr }.emit(&mut buffer),
        Err(NoRoom::Field { what, max: 40, found: 41 })
    );
    let what = "IPv4 fragment offset, a multiple of 8,";
    assert_eq!(
        Repr { fragment_offset: 9, ..repr }.emit(&mut buffer),
        Err(NoRoom::Field { what, max: 65_528, found: 9 })
    );
    let what = "IPv4 header";
    assert_eq!(
        Repr { options: &[1; 3], ..repr }.emit(&mut buffer[..23]),
        Err(NoRoom::Buffer { what, needed: 24, found: 23 })
    );
    assert_eq!(buffer, [0; 100]);
}

proptest! {
    #[test]
    fn others_read_what_is_written(repr in repr(), payload in bytes(100)) {
        let repr = Repr { payload_len: payload.len(), ..repr };
        let mut packet = [&[0xee; 60][..repr.header_len()], &payload].concat();
        repr.emit(&mut packet).unwrap();
        let ours = Packet::parse(&packet).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (repr, &payload[..]));
        prop_assert!(ours.checksum_is_right());

        let theirs = Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header();
        prop_assert_eq!(theirs.dscp.value() << 2 | theirs.ecn.value(), repr.traffic_class);
        prop_assert_eq!(usize::from(theirs.total_len), packet.len());
        prop_assert_eq!(theirs.identification, repr.identification);
        prop_assert_eq!(theirs.dont_fragment, repr.dont_fragment);
        prop_assert_eq!(theirs.more_fragments, repr.more_fragments);
        prop_assert_eq!(theirs.fragment_offset.value() * 8, repr.fragment_offset);
        prop_assert_eq!(theirs.options.as_slice(), repr.options);
        prop_assert_eq!((theirs.time_to_live, theirs.protocol.0), (repr.ttl, repr.protocol));
        prop_assert_eq!(theirs.source, repr.source.octets());
        prop_assert_eq!(theirs.destination, repr.destination.octets());
        prop_assert_eq!(theirs.calc_header_checksum(), ours.checksum());
        let theirs = Ipv4Packet::new_checked(&packet[..]).unwrap();
        prop_assert!(theirs.verify_checksum());
        prop_assert_eq!((theirs.src_addr(), theirs.dst_addr()), (repr.source, repr.destination));
        prop_assert_eq!((theirs.frag_offset(), theirs.payload()),
                        (repr.fragment_offset, &payload[..]));
    }

    #[test]
    fn reads_what_others_write(repr in repr(), words in 0..=10usize, offset in 0..0x2000u16,
                               more: bool) {
        let mut theirs = Ipv4Header::new(
            0, repr.ttl, repr.protocol.into(), repr.source.octets(), repr.destination.octets(),
        ).unwrap();
        theirs.options = [1; 40][..words * 4].try_into().unwrap();
        theirs.set_payload_len(3).unwrap();
        theirs.fragment_offset = offset.try_into().unwrap();
        theirs.more_fragments = more;
        theirs.header_checksum = theirs.calc_header_checksum();
        let bytes = [&theirs.to_bytes()[..], b"abcdef"].concat();
        let ours = Packet::parse(&bytes).unwrap();
        prop_assert_eq!(ours.payload(), b"abc");
        prop_assert_eq!(ours.option_bytes().len(), words * 4);
        prop_assert_eq!((ours.fragment_offset(), ours.more_fragments()), (offset * 8, more));
        prop_assert_eq!(ours.is_fragment(), theirs.is_fragmenting_payload());
        prop_assert!(ours.checksum_is_right());
        prop_assert_eq!((ours.source(), ours.destination()), (repr.source, repr.destination));
    }

    #[test]
    fn any_bytes_are_read(mut bytes in bytes(100), is_version_4: bool) {
        if is_version_4 && bytes.len() > 4 {
            bytes[0] = 0x40 | bytes[0] & 7;
            bytes[2] = 0;
        }
        if let Ok(packet) = Packet::parse(&bytes) {
            prop_assert_eq!(packet.header_len() + packet.payload().len(), packet.total_len());
            let quoted = Packet::parse_quoted(&bytes).unwrap();
            prop_assert_eq!(quoted.payload(), packet.payload());
        }
        prop_assert_eq!(
            Packet::parse_quoted(&bytes).is_ok(),
            Ipv4HeaderSlice::from_slice(&bytes).is_ok()
        );
    }
}
