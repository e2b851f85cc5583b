use std::{string::ToString, vec::Vec};

use etherparse::Ethernet2Header;
use proptest::prelude::*;
use smoltcp::wire::{EthernetFrame, EthernetRepr};

use super::*;
use crate::generators::{SYN_V6, bytes, hardware_address, hex};

#[test]
fn reads_a_frame_of_linux() {
    let frame = hex(SYN_V6);
    let packet = Packet::parse(&frame).unwrap();
    assert_eq!(packet.ethertype(), EtherType::IPV6);
    assert_eq!((packet.source(), packet.vlan()), (Address::default(), None));
    assert_eq!(packet.payload(), &frame[14..]);
}

/// IEEE 802.1Q, clause 9.6: priority 5, VLAN 291.
#[test]
fn reads_a_tag() {
    let frame = hex("ffffffffffff0200000000018100a1230806aa");
    let packet = Packet::parse(&frame).unwrap();
    assert_eq!((packet.vlan(), packet.ethertype()), (Some(0x123), EtherType::ARP));
    assert_eq!(packet.payload(), [0xaa]);
    assert!(packet.destination().is_multicast() && !packet.source().is_multicast());
    assert_eq!(packet.source().to_string(), "02:00:00:00:00:01");
    let cut = Packet::parse(&frame[..17]).unwrap_err();
    assert_eq!(cut, Malformed::Truncated { what: "VLAN tag", needed: 4, found: 3 });
}

/// IEEE 802.1ad: VLAN 1 of a provider around VLAN 2, priority 7, of a customer; and one more.
#[test]
fn leaves_the_third_tag() {
    let frame = hex("ffffffffffff02000000000188a800018100f0020800");
    let packet = Packet::parse(&frame).unwrap();
    let tags: Vec<_> =
        packet.tags().iter().map(|tag| (tag.protocol, tag.priority, tag.identifier)).collect();
    assert_eq!(tags, [(EtherType::SERVICE_VLAN, 0, 1), (EtherType::VLAN, 7, 2)]);
    assert_eq!((packet.vlan(), packet.ethertype()), (Some(1), EtherType::IPV4));
    let frame = hex("ffffffffffff0200000000018100000181000002810000030800");
    let packet = Packet::parse(&frame).unwrap();
    assert_eq!((packet.tags().len(), packet.ethertype()), (2, EtherType::VLAN));
    assert_eq!(packet.payload(), hex("00030800"));
}

#[test]
fn groups_have_addresses() {
    let all_hosts = Address::of_multicast_v4(Ipv4Addr::new(224, 129, 2, 3));
    assert_eq!(all_hosts.to_string(), "01:00:5e:01:02:03");
    let group = Address::of_multicast_v6("ff02::1:ff01:203".parse().unwrap());
    assert_eq!(group.to_string(), "33:33:ff:01:02:03");
    assert!(all_hosts.is_multicast() && group.is_multicast());
}

#[test]
fn says_how_much_is_missing() {
    let cut = Packet::parse(&[0; 13]).unwrap_err();
    assert_eq!(cut, Malformed::Truncated { what: "Ethernet header", needed: 14, found: 13 });
    let repr = Packet::parse(&[0; 14]).unwrap().repr();
    let short = repr.emit(&mut [0; 13]).unwrap_err();
    assert_eq!(short, NoRoom::Buffer { what: "Ethernet header", needed: 14, found: 13 });
}

proptest! {
    #[test]
    fn others_read_what_is_written(source in hardware_address(), destination in hardware_address(),
                                   ethertype: u16, payload in bytes(50)) {
        let ethertype_ = EtherType(ethertype);
        prop_assume!(!matches!(ethertype_, EtherType::VLAN | EtherType::SERVICE_VLAN));
        let tags = Tags::default();
        let repr = Repr { source, destination, tags, ethertype: ethertype_ };
        let mut frame = [&[0xee; HEADER_BYTES][..], &payload].concat();
        repr.emit(&mut frame).unwrap();
        let ours = Packet::parse(&frame).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (repr, &payload[..]));
        let (theirs, rest) = Ethernet2Header::from_slice(&frame).unwrap();
        prop_assert_eq!(theirs.source, source.0);
        prop_assert_eq!(theirs.destination, destination.0);
        prop_assert_eq!(theirs.ether_type.0, ethertype);
        prop_assert_eq!(rest, &payload);
        let theirs = EthernetRepr::parse(&EthernetFrame::new_checked(&frame[..]).unwrap()).unwrap();
        prop_assert_eq!(theirs.src_addr.0, source.0);
        prop_assert_eq!(theirs.dst_addr.0, destination.0);
        prop_assert_eq!(u16::from(theirs.ethertype), ethertype);
    }

    #[test]
    fn any_bytes_are_read(bytes in bytes(40)) {
        if let Ok(packet) = Packet::parse(&bytes) {
            let tag_bytes = packet.tags().len() * TAG_BYTES;
            prop_assert_eq!(packet.payload().len() + HEADER_BYTES + tag_bytes, bytes.len());
        }
    }
}
