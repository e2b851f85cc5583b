//! Packets that are right, with some bytes changed or cut off: what two other implementations read,
//! this one reads as well, and the same in it; where one is stricter than the others, the test says
//! where, and why.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice, UdpHeaderSlice};
use portolan_wire::{
    Seq, ipv4, ipv6,
    protocol::{DESTINATION_OPTIONS, TCP, UDP},
    tcp, udp,
};
use proptest::{collection::vec, prelude::*, sample::Index};
use smoltcp::wire::{Ipv4Packet, Ipv6Packet, TcpPacket, UdpPacket};

const V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// A segment or datagram of a random connection, in a packet of a random version.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let tcp = any::<(u32, u32, u8, Option<u16>, Option<(u32, u32)>)>();
    (any::<(bool, bool, bool)>(), tcp, vec(any::<u8>(), 0..40)).prop_map(
        |(
            (is_v4, is_tcp, is_extended),
            (sequence, acknowledgment, flags, mss, clocks),
            payload,
        )| {
            let address: IpAddr = if is_v4 { V4.into() } else { V6.into() };
            let upper = if is_tcp {
                let repr = tcp::Repr {
                    source_port: 80,
                    destination_port: 40_000,
                    sequence: Seq(sequence),
                    acknowledgment: Seq(acknowledgment),
                    flags: tcp::Flags(flags),
                    window: 1000,
                    urgent_pointer: 0,
                    options: tcp::Options {
                        mss,
                        timestamps: clocks.map(|(value, echo)| tcp::Timestamps { value, echo }),
                        ..tcp::Options::default()
                    },
                };
                let mut bytes = vec![0; repr.header_len()];
                bytes.extend_from_slice(&payload);
                repr.emit(&mut bytes, address, address).unwrap();
                bytes
            } else {
                let repr = udp::Repr { source_port: 53, destination_port: 40_000 };
                let mut bytes = vec![0; repr.header_len()];
                bytes.extend_from_slice(&payload);
                repr.emit(&mut bytes, address, address).unwrap();
                bytes
            };
            let protocol = if is_tcp { TCP } else { UDP };
            if is_v4 {
                in_v4(protocol, is_extended, &upper)
            } else {
                in_v6(protocol, is_extended, &upper)
            }
        },
    )
}

fn in_v4(protocol: u8, is_extended: bool, upper: &[u8]) -> Vec<u8> {
    let header = ipv4::Repr {
        traffic_class: 0,
        identification: 7,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol,
        source: V4,
        destination: V4,
        options: if is_extended { &[7, 7, 4, 0, 0, 0, 0, 1] } else { &[] },
        payload_len: upper.len(),
    };
    let mut bytes = vec![0; header.header_len()];
    header.emit(&mut bytes).unwrap();
    [&bytes, upper].concat()
}

fn in_v6(protocol: u8, is_extended: bool, upper: &[u8]) -> Vec<u8> {
    let extension = ipv6::extension::Repr {
        next_header: protocol,
        extension: ipv6::Extension::DestinationOptions(&[]),
    };
    let mut payload = vec![0; if is_extended { extension.header_len() } else { 0 }];
    if is_extended {
        extension.emit(&mut payload).unwrap();
    }
    payload.extend_from_slice(upper);
    let header = ipv6::Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header: if is_extended { DESTINATION_OPTIONS } else { protocol },
        hop_limit: 64,
        source: V6,
        destination: V6,
        payload_len: payload.len(),
    };
    let mut bytes = vec![0; ipv6::HEADER_BYTES];
    header.emit(&mut bytes).unwrap();
    [bytes, payload].concat()
}

fn mutate(bytes: &mut Vec<u8>, changes: &[(Index, u8)], cut: Option<Index>) {
    for (at, bits) in changes {
        // Most of what can go wrong is in the headers.
        let at = at.index(bytes.len().min(70));
        bytes[at] ^= bits;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len() + 1));
    }
}

fn compare_v4(bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = ipv4::Packet::parse(bytes);
    // etherparse reads a header without the packet.
    let header = Ipv4HeaderSlice::from_slice(bytes);
    let is_whole = header.as_ref().is_ok_and(|header| {
        let total = usize::from(header.total_len());
        (header.slice().len()..=bytes.len()).contains(&total)
    });
    prop_assert_eq!(ours.is_ok(), is_whole);
    // smoltcp takes any version here, and a header length that its fields do not fit into: both
    // would be read from what is not there (RFC 791, section 3.1), so that it is refused here.
    let smoltcp = Ipv4Packet::new_checked(bytes);
    let is_plausible = bytes.first().is_some_and(|first| first >> 4 == 4 && first & 15 >= 5);
    prop_assert_eq!(ours.is_ok(), smoltcp.is_ok() && is_plausible);
    let (Ok(ours), Ok(header), Ok(smoltcp)) = (ours, header, smoltcp) else { return Ok(()) };
    prop_assert_eq!(ours.payload(), smoltcp.payload());
    prop_assert_eq!(ours.checksum_is_right(), smoltcp.verify_checksum());
    prop_assert_eq!(ours.option_bytes(), header.options());
    prop_assert_eq!(ours.is_fragment(), header.is_fragmenting_payload());
    prop_assert_eq!(ours.source(), header.source_addr());
    prop_assert_eq!(ours.ttl(), header.ttl());
    compare_upper(ours.protocol(), ours.payload(), ours.source().into(), ours.destination().into())
}

fn compare_v6(bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = ipv6::Packet::parse(bytes);
    let header = Ipv6HeaderSlice::from_slice(bytes);
    let is_whole = header.as_ref().is_ok_and(|header| {
        usize::from(header.payload_length()) + ipv6::HEADER_BYTES <= bytes.len()
    });
    prop_assert_eq!(ours.is_ok(), is_whole);
    // As with version 4, smoltcp takes any version.
    let smoltcp = Ipv6Packet::new_checked(bytes);
    let is_plausible = bytes.first().is_some_and(|first| first >> 4 == 6);
    prop_assert_eq!(ours.is_ok(), smoltcp.is_ok() && is_plausible);
    let (Ok(ours), Ok(header), Ok(smoltcp)) = (ours, header, smoltcp) else { return Ok(()) };
    prop_assert_eq!(ours.payload(), smoltcp.payload());
    prop_assert_eq!(ours.flow_label(), header.flow_label().value());
    prop_assert_eq!(ours.traffic_class(), header.traffic_class());
    prop_assert_eq!(ours.destination(), header.destination_addr());
    let Ok(upper) = ours.upper_layer() else { return Ok(()) };
    if upper.is_later_fragment() {
        return Ok(());
    }
    compare_upper(upper.protocol, upper.payload, ours.source().into(), ours.destination().into())
}

fn compare_upper(
    protocol: u8,
    bytes: &[u8],
    source: IpAddr,
    destination: IpAddr,
) -> Result<(), TestCaseError> {
    match protocol {
        TCP => compare_tcp(bytes, source, destination),
        UDP => compare_udp(bytes, source, destination),
        _ => Ok(()),
    }
}

fn compare_tcp(bytes: &[u8], source: IpAddr, destination: IpAddr) -> Result<(), TestCaseError> {
    let ours = tcp::Packet::parse(bytes);
    let (header, smoltcp) = (TcpHeaderSlice::from_slice(bytes), TcpPacket::new_checked(bytes));
    prop_assert_eq!(ours.is_ok(), header.is_ok());
    prop_assert_eq!(ours.is_ok(), smoltcp.is_ok());
    let (Ok(ours), Ok(header), Ok(smoltcp)) = (ours, header, smoltcp) else { return Ok(()) };
    prop_assert_eq!(ours.header_len(), header.slice().len());
    prop_assert_eq!(ours.payload(), smoltcp.payload());
    prop_assert_eq!(ours.sequence().0, header.sequence_number());
    prop_assert_eq!(ours.flags().contains(tcp::Flags::SYN), header.syn());
    let is_right = ours.check(source, destination) == portolan_wire::Check::Right;
    let theirs = smoltcp.verify_checksum(&source.into(), &destination.into());
    prop_assert_eq!(is_right, theirs);
    // etherparse ends at the first option that it does not know or whose length is wrong; this one
    // goes on behind those whose end is known, as Linux does. So theirs are the beginning of ours.
    let theirs = header.options_iterator().map_while(Result::ok);
    let mss = theirs.into_iter().find_map(|option| match option {
        etherparse::TcpOptionElement::MaximumSegmentSize(mss) => Some(mss),
        _ => None,
    });
    let first = ours.options().flatten().find_map(|option| match option {
        tcp::Option_::MaximumSegmentSize(mss) => Some(mss),
        _ => None,
    });
    prop_assert!(mss.is_none() || mss == first);
    Ok(())
}

fn compare_udp(bytes: &[u8], source: IpAddr, destination: IpAddr) -> Result<(), TestCaseError> {
    let (ours, smoltcp) = (udp::Packet::parse(bytes), UdpPacket::new_checked(bytes));
    prop_assert_eq!(ours.is_ok(), smoltcp.is_ok());
    let (Ok(ours), Ok(smoltcp)) = (ours, smoltcp) else { return Ok(()) };
    prop_assert_eq!(ours.payload(), smoltcp.payload());
    let header = UdpHeaderSlice::from_slice(bytes).unwrap();
    prop_assert_eq!(
        (ours.source_port(), ours.checksum()),
        (header.source_port(), header.checksum())
    );
    if ours.checksum() != 0 {
        let is_right = ours.check(source, destination) == portolan_wire::Check::Right;
        let theirs = smoltcp.verify_checksum(&source.into(), &destination.into());
        prop_assert_eq!(is_right, theirs);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn all_read_the_same(mut bytes in packet(), changes in vec(any::<(Index, u8)>(), 0..4),
                         cut in prop::option::weighted(0.3, any::<Index>())) {
        mutate(&mut bytes, &changes, cut);
        // As either version, whatever the first byte has become.
        compare_v4(&bytes)?;
        compare_v6(&bytes)?;
    }

    /// Nothing that was not changed is refused.
    #[test]
    fn what_is_right_is_read(bytes in packet()) {
        let is_v4 = bytes[0] >> 4 == 4;
        let (source, protocol, upper) = if is_v4 {
            let packet = ipv4::Packet::parse(&bytes).unwrap();
            prop_assert!(packet.checksum_is_right() && packet.options().all(|item| item.is_ok()));
            (packet.source().into(), packet.protocol(), packet.payload())
        } else {
            let packet = ipv6::Packet::parse(&bytes).unwrap();
            let upper = packet.upper_layer().unwrap();
            (IpAddr::V6(packet.source()), upper.protocol, upper.payload)
        };
        let is_intact = match protocol {
            TCP => tcp::Packet::parse(upper).unwrap().is_intact(source, source),
            _ => udp::Packet::parse(upper).unwrap().is_intact(source, source),
        };
        prop_assert!(is_intact);
    }
}
