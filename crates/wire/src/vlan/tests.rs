use std::vec;

use etherparse::SlicedPacket;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::ethernet::{Address, Packet, Repr};

fn tag() -> impl Strategy<Value = Tag> {
    (any::<(bool, bool)>(), 0..=7u8, 0..=4095u16).prop_map(
        |((is_service, drop), priority, vlan)| {
            let protocol = if is_service { EtherType::SERVICE_VLAN } else { EtherType::VLAN };
            Tag { protocol, priority, drop_eligible: drop, identifier: vlan }
        },
    )
}

#[test]
fn refuses_what_has_no_room() {
    let tag = Tag { protocol: EtherType::VLAN, priority: 7, drop_eligible: true, identifier: 4095 };
    let emit = |tag: Tag, length: usize| {
        let mut repr = Repr {
            source: Address::default(),
            destination: Address::BROADCAST,
            tags: Tags::default(),
            ethertype: EtherType::IPV4,
        };
        assert!(repr.tags.is_empty() && repr.tags.push(tag));
        let mut buffer = vec![0; length];
        let result = repr.emit(&mut buffer);
        assert!(result.is_ok() || buffer.iter().all(|byte| *byte == 0));
        result
    };
    assert_eq!(emit(tag, 18), Ok(()));
    let what = "Ethernet header";
    assert_eq!(emit(tag, 17), Err(NoRoom::Buffer { what, needed: 18, found: 17 }));
    let what = "VLAN identifier";
    let error = NoRoom::Field { what, max: 4095, found: 4096 };
    assert_eq!(emit(Tag { identifier: 4096, ..tag }, 18), Err(error));
    let error = NoRoom::Field { what: "VLAN priority", max: 7, found: 8 };
    assert_eq!(emit(Tag { priority: 8, ..tag }, 18), Err(error));
    let mut tags = Tags::default();
    assert!(tags.push(tag) && tags.push(tag) && !tags.push(tag));
}

proptest! {
    #[test]
    fn etherparse_reads_what_is_written(list in vec(tag(), 0..=TAGS_MAX),
                                        ethertype in 0x600..=u16::MAX) {
        let ethertype = EtherType(ethertype);
        // etherparse would go on to read these.
        prop_assume!(!matches!(
            ethertype,
            EtherType::VLAN | EtherType::SERVICE_VLAN | EtherType::IPV4 | EtherType::IPV6
                | EtherType::ARP | EtherType(0x9100) | EtherType(0x88e5)
        ));
        let mut tags = Tags::default();
        for tag in &list {
            prop_assert!(tags.push(*tag));
        }
        let (source, destination) = (Address([2; 6]), Address([4; 6]));
        let repr = Repr { source, destination, tags, ethertype };
        let mut frame = vec![0xee; repr.header_len() + 3];
        repr.emit(&mut frame).unwrap();
        let ours = Packet::parse(&frame).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (repr, &[0xee; 3][..]));
        prop_assert_eq!(ours.vlan(), list.first().map(|tag| tag.identifier));

        let theirs = SlicedPacket::from_ethernet(&frame).unwrap();
        let theirs: vec::Vec<_> = theirs.link_exts.iter().filter_map(|extension| {
            let etherparse::LinkExtSlice::Vlan(vlan) = extension else { return None };
            Some((vlan.priority_code_point().value(), vlan.drop_eligible_indicator(),
                  vlan.vlan_identifier().value()))
        }).collect();
        let ours: vec::Vec<_> = ours.tags().iter()
            .map(|tag| (tag.priority, tag.drop_eligible, tag.identifier)).collect();
        prop_assert_eq!(ours, theirs);
    }
}
