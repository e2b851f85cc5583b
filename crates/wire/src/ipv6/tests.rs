use std::{vec, vec::Vec};

use etherparse::{
    IpAuthHeader, IpNumber, Ipv6Extensions, Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader,
    Ipv6RoutingExtensions,
};
use proptest::prelude::*;
use smoltcp::wire::{Ipv6Packet, Ipv6Repr};

use super::*;
use crate::{
    generators::{SYN_V6, bytes, hex},
    protocol::{
        AUTHENTICATION, DESTINATION_OPTIONS, ESP, FRAGMENT, HOP_BY_HOP, NO_NEXT_HEADER, ROUTING,
        TCP,
    },
};

#[test]
fn reads_a_packet_of_linux() {
    let frame = hex(SYN_V6);
    let packet = Packet::parse(&frame[14..]).unwrap();
    let repr = Repr {
        traffic_class: 0,
        flow_label: 0xf2ae9,
        next_header: TCP,
        hop_limit: 64,
        source: Ipv6Addr::LOCALHOST,
        destination: Ipv6Addr::LOCALHOST,
        payload_len: 40,
    };
    assert_eq!(packet.repr(), repr);
    let upper = packet.upper_layer().unwrap();
    let expected = UpperLayer {
        protocol: TCP,
        payload: &frame[54..],
        fragment: None,
        offset: 40,
        named_at: 6,
    };
    assert_eq!(upper, expected);
    let mut again = [0; 40];
    repr.emit(&mut again).unwrap();
    assert_eq!(again, frame[14..54]);
}

/// A packet that begins with this extension header, and has these bytes behind the header.
fn packet(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let repr = Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header,
        hop_limit: 1,
        source: Ipv6Addr::LOCALHOST,
        destination: Ipv6Addr::LOCALHOST,
        payload_len: payload.len(),
    };
    let mut packet = [&[0; HEADER_BYTES][..], payload].concat();
    repr.emit(&mut packet).unwrap();
    packet
}

#[test]
fn refuses_wrong_lengths() {
    let mut bytes = packet(TCP, b"abc");
    let parse = |bytes: &[u8]| Packet::parse(bytes).map(|_| ());
    let what = "IPv6 packet";
    assert_eq!(parse(&bytes[..42]), Err(Malformed::Truncated { what, needed: 43, found: 42 }));
    assert_eq!(Packet::parse_quoted(&bytes[..42]).unwrap().payload(), b"ab");
    let what = "IPv6 header";
    assert_eq!(parse(&bytes[..39]), Err(Malformed::Truncated { what, needed: 40, found: 39 }));
    bytes.push(0);
    assert_eq!(Packet::parse(&bytes).unwrap().payload(), b"abc");
    assert_eq!(Packet::parse_quoted(&bytes).unwrap().payload(), b"abc");
    bytes[0] = 0x45;
    assert_eq!(parse(&bytes), Err(Malformed::Version { what: "IPv6", expected: 6, found: 4 }));
    assert!(Packet::parse_quoted(&bytes).is_err());
}

#[test]
fn refuses_what_has_no_room() {
    let repr = Packet::parse(&packet(TCP, b"")).unwrap().repr();
    let mut buffer = [0; 40];
    assert!(repr.emit(&mut buffer[..39]).is_err());
    assert!(Repr { payload_len: 65_536, ..repr }.emit(&mut buffer).is_err());
    let what = "IPv6 flow label";
    assert_eq!(
        Repr { flow_label: 1 << 20, ..repr }.emit(&mut buffer),
        Err(NoRoom::Field { what, max: 0xfffff, found: 0x100000 })
    );
    assert_eq!(buffer, [0; 40]);
}

/// RFC 8200, section 4.5: the fragment header of a later fragment ends the walk, whatever the
/// next header says.
#[test]
fn stops_at_later_fragments() {
    let payload = [&[DESTINATION_OPTIONS, 0, 0x00, 0x19, 0, 0, 0, 7][..], b"abc"].concat();
    let bytes = packet(FRAGMENT, &payload);
    let upper = Packet::parse(&bytes).unwrap().upper_layer().unwrap();
    let fragment = Fragment { offset: 24, more_fragments: true, identification: 7 };
    assert!(upper.is_later_fragment());
    assert_eq!((upper.protocol, upper.payload), (DESTINATION_OPTIONS, &b"abc"[..]));
    assert_eq!(upper.fragment, Some(fragment));
}

#[test]
fn what_is_not_known_is_the_upper_layer() {
    for protocol in [ESP, NO_NEXT_HEADER, TCP, 255] {
        let bytes = packet(ROUTING, &[protocol, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        let upper = Packet::parse(&bytes).unwrap().upper_layer().unwrap();
        assert_eq!((upper.protocol, upper.payload), (protocol, &[1, 2][..]));
        assert!(!upper.is_later_fragment());
    }
}

/// RFC 8200, section 4: hop-by-hop options are such directly behind the IPv6 header alone; and
/// where each header begins, for the pointer of an ICMPv6 error.
#[test]
fn hop_by_hop_options_come_first() {
    let alert = [DESTINATION_OPTIONS, 0, 5, 2, 0, 0, 1, 0];
    let late = [HOP_BY_HOP, 0, 1, 4, 0, 0, 0, 0];
    let bytes = packet(HOP_BY_HOP, &[&alert[..], &late, &[TCP, 0, 0, 0, 0, 0, 0, 0]].concat());
    let packet = Packet::parse(&bytes).unwrap();
    let upper = packet.upper_layer().unwrap();
    assert_eq!((upper.protocol, upper.offset, upper.named_at), (HOP_BY_HOP, 56, 48));
    assert_eq!(upper.payload.len(), 8);
    let walked: Vec<_> = packet.extensions().map(|located| located.unwrap()).collect();
    let [first, second] = walked[..] else { panic!("two headers: {walked:?}") };
    assert_eq!((first.offset, second.offset), (40, 48));
    assert_eq!(first.header.extension, Extension::HopByHop(&alert[2..]));
    assert_eq!(second.header.extension, Extension::DestinationOptions(&late[2..]));
}

#[test]
fn walks_a_bounded_number() {
    let walk = |count: usize| {
        let mut payload = [DESTINATION_OPTIONS, 0, 1, 4, 0, 0, 0, 0].repeat(count);
        payload[(count - 1) * 8] = TCP;
        let bytes = packet(HOP_BY_HOP, &payload);
        Packet::parse(&bytes).unwrap().upper_layer().map(|upper| upper.protocol)
    };
    assert_eq!(walk(EXTENSIONS_MAX), Ok(TCP));
    assert_eq!(walk(EXTENSIONS_MAX + 1), Err(Malformed::Extensions { max: EXTENSIONS_MAX }));
}

#[test]
fn refuses_cut_extensions() {
    for (kind, payload, needed) in [
        (HOP_BY_HOP, vec![TCP, 1, 0, 0, 0, 0, 0, 0, 0], 16),
        (DESTINATION_OPTIONS, vec![TCP], 2),
        (AUTHENTICATION, vec![TCP, 1, 0, 0, 0, 0, 0, 0, 0], 12),
        (ROUTING, vec![TCP, 0, 0, 0, 0, 0, 0], 8),
        (FRAGMENT, vec![TCP, 0, 0, 0, 0, 0, 0], 8),
    ] {
        let bytes = packet(kind, &payload);
        let found = payload.len();
        let error = Malformed::Truncated { what: extension::WHAT, needed, found };
        assert_eq!(Packet::parse(&bytes).unwrap().upper_layer(), Err(error));
    }
}

/// Any of the extension headers, in the order of RFC 8200, section 4.1.
fn extensions() -> impl Strategy<Value = Ipv6Extensions> {
    let raw = || {
        (0..4usize).prop_map(|words| {
            Ipv6RawExtHeader::new_raw(0.into(), &[0; 40][..6 + words * 8]).unwrap()
        })
    };
    let auth = (0..5usize)
        .prop_map(|words| IpAuthHeader::new(0.into(), 1, 2, &[9; 20][..words * 4]).unwrap());
    let fragment = (0..2u16, any::<(bool, u32)>()).prop_map(|(offset, (more, identification))| {
        Ipv6FragmentHeader::new(0.into(), offset.try_into().unwrap(), more, identification)
    });
    use prop::option::of as option;
    let routing = option((raw(), option(raw()))).prop_map(|routing| {
        routing.map(|(routing, last)| Ipv6RoutingExtensions {
            routing,
            final_destination_options: last,
        })
    });
    (option(raw()), option(raw()), routing, option(fragment), option(auth)).prop_map(
        |(hop_by_hop_options, destination_options, routing, fragment, auth)| Ipv6Extensions {
            hop_by_hop_options,
            destination_options,
            routing,
            fragment,
            auth,
        },
    )
}

proptest! {
    #[test]
    fn others_read_what_is_written(
        (traffic_class, next_header, hop_limit) in any::<(u8, u8, u8)>(),
        flow_label in 0..1u32 << 20, addresses: (Ipv6Addr, Ipv6Addr), payload in bytes(50),
    ) {
        let (source, destination) = addresses;
        let payload_len = payload.len();
        let repr = Repr {
            traffic_class, flow_label, next_header, hop_limit, source, destination, payload_len,
        };
        let mut packet = [&[0xee; HEADER_BYTES][..], &payload].concat();
        repr.emit(&mut packet).unwrap();
        let ours = Packet::parse(&packet).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (repr, &payload[..]));

        let (theirs, rest) = Ipv6Header::from_slice(&packet).unwrap();
        prop_assert_eq!(theirs.traffic_class, traffic_class);
        prop_assert_eq!(theirs.flow_label.value(), flow_label);
        prop_assert_eq!(usize::from(theirs.payload_length), payload_len);
        prop_assert_eq!((theirs.next_header.0, theirs.hop_limit), (next_header, hop_limit));
        prop_assert_eq!(theirs.source, source.octets());
        prop_assert_eq!(theirs.destination, destination.octets());
        prop_assert_eq!(rest, &payload);
        prop_assert_eq!(&theirs.to_bytes()[..], &packet[..HEADER_BYTES]);
        let theirs = Ipv6Repr::parse(&Ipv6Packet::new_checked(&packet[..]).unwrap()).unwrap();
        prop_assert_eq!((theirs.src_addr, theirs.dst_addr), addresses);
    }

    #[test]
    fn walks_what_others_write(mut theirs in extensions(), payload in bytes(20)) {
        let first = theirs.set_next_headers(IpNumber::TCP);
        let mut written = Vec::new();
        theirs.write(&mut written, first).unwrap();
        written.extend_from_slice(&payload);
        let bytes = packet(first.0, &written);
        let upper = Packet::parse(&bytes).unwrap().upper_layer().unwrap();
        let fragment = theirs.fragment.map(|fragment| Fragment {
            offset: fragment.fragment_offset.value() * 8,
            more_fragments: fragment.more_fragments,
            identification: fragment.identification,
        });
        prop_assert_eq!(upper.fragment, fragment);
        // Of a later fragment, what would be further headers is payload.
        if upper.is_later_fragment() {
            prop_assert!(upper.payload.ends_with(&payload));
        } else {
            prop_assert_eq!((upper.protocol, upper.payload), (TCP, &payload[..]));
        }
    }

    #[test]
    fn any_bytes_are_read(payload in bytes(120), first in 0..8usize) {
        let kinds =
            [HOP_BY_HOP, ROUTING, DESTINATION_OPTIONS, FRAGMENT, AUTHENTICATION, TCP, ESP, 4];
        let bytes = packet(kinds[first], &payload);
        let whole = Packet::parse(&bytes).unwrap();
        if let Ok(upper) = whole.upper_layer() {
            prop_assert!(payload.ends_with(upper.payload));
            prop_assert_eq!(&bytes[upper.offset..], upper.payload);
            prop_assert_eq!(bytes[upper.named_at], upper.protocol);
        }
        let _ = Packet::parse(&payload).map(|packet| packet.upper_layer());
        let _ = Packet::parse_quoted(&payload).map(|packet| packet.upper_layer());
    }
}
