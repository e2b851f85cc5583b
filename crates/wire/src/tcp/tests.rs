use core::net::{Ipv4Addr, Ipv6Addr};
use std::{format, vec, vec::Vec};

use etherparse::{TcpHeader, TcpHeaderSlice};
use proptest::prelude::*;
use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{TcpControl, TcpPacket, TcpRepr, TcpSeqNumber, TcpTimestampRepr},
};

use super::*;
use crate::{
    generators::{SYN_V4, SYN_V6, addresses, bytes, hex, segment},
    ipv4, ipv6,
};

#[test]
fn reads_a_segment_of_linux() {
    let frame = hex(SYN_V4);
    let carrier = ipv4::Packet::parse(&frame[14..]).unwrap();
    let packet = Packet::parse(carrier.payload()).unwrap();
    let repr = packet.repr();
    assert_eq!(
        repr,
        Repr {
            source_port: 34944,
            destination_port: 47123,
            sequence: Seq(0x7bbae94e),
            acknowledgment: Seq(0),
            flags: Flags::SYN,
            window: 65495,
            urgent_pointer: 0,
            options: Options {
                mss: Some(65495),
                window_scale: Some(10),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: 0x2ff0794c, echo: 0 }),
                ..Options::default()
            },
        }
    );
    assert_eq!((packet.header_len(), packet.sequence_len()), (40, 1));
    let (source, destination) = (carrier.source().into(), carrier.destination().into());
    assert_eq!(packet.check(source, destination), Check::Partial);
    // What is sent looks as what Linux sends, but for the checksum, which is complete.
    let mut again = vec![0xee; repr.header_len()];
    repr.emit(&mut again, source, destination).unwrap();
    assert_eq!((&again[..16], &again[18..]), (&frame[34..50], &frame[52..]));
    assert_eq!(Packet::parse(&again).unwrap().check(source, destination), Check::Right);
}

#[test]
fn finds_partial_checksums_over_ipv6() {
    let mut frame = hex(SYN_V6);
    let check = |frame: &[u8]| {
        let carrier = ipv6::Packet::parse(&frame[14..]).unwrap();
        let upper = carrier.upper_layer().unwrap();
        let packet = Packet::parse(upper.payload).unwrap();
        packet.check(carrier.source().into(), carrier.destination().into())
    };
    assert_eq!(check(&frame), Check::Partial);
    frame[14 + 40 + 17] ^= 1;
    assert_eq!(check(&frame), Check::Wrong);
}

#[test]
fn refuses_wrong_header_lengths() {
    let mut bytes = [0; 24];
    let mut parse = |words: u8| {
        bytes[12] = words << 4;
        Packet::parse(&bytes).map(|packet| packet.header_len())
    };
    let what = "TCP header length";
    assert_eq!(parse(4), Err(Malformed::Length { what, least: 20, found: 16 }));
    assert_eq!((parse(5), parse(6)), (Ok(20), Ok(24)));
    let what = "TCP header";
    assert_eq!(parse(7), Err(Malformed::Truncated { what, needed: 28, found: 24 }));
    let cut = Packet::parse(&[0; 19]).unwrap_err();
    assert_eq!(cut, Malformed::Truncated { what, needed: 20, found: 19 });
}

#[test]
fn writes_into_long_enough_buffers_only() {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let repr = Packet::parse(&hex(SYN_V4)[34..]).unwrap().repr();
    for length in 0..40 {
        let mut buffer = vec![0; length];
        assert!(repr.emit(&mut buffer, address, address).is_err());
        assert!(buffer.iter().all(|byte| *byte == 0));
    }
    let mut sack = SackBlocks::default();
    while sack.push(SackBlock { left: Seq(1), right: Seq(2) }) {}
    let repr = Repr { options: Options { sack, ..repr.options }, ..repr };
    let what = "length of TCP options";
    assert_eq!(
        repr.emit(&mut [0; 100], address, address),
        Err(NoRoom::Field { what, max: 40, found: 56 })
    );
}

/// RFC 9293, section 3.4: SEG.LEN counts SYN and FIN.
#[test]
fn controls_take_sequence_numbers() {
    let mut bytes = [0; 23];
    bytes[12] = 5 << 4;
    for (flags, length) in [(Flags::ACK, 3), (Flags::SYN, 4), (Flags::FIN | Flags::SYN, 5)] {
        bytes[13] = flags.0;
        assert_eq!(Packet::parse(&bytes).unwrap().sequence_len(), length);
    }
}

#[test]
fn flags_have_names() {
    let mut flags = Flags::SYN | Flags::ACK;
    assert_eq!(
        (format!("{flags:?}"), format!("{:?}", Flags(0))),
        ("SYN|ACK".into(), "none".into())
    );
    assert!(flags.contains(Flags::ACK) && !flags.contains(Flags::ACK | Flags::FIN));
    flags |= Flags::CWR.union(Flags::ECE);
    assert_eq!(flags.0, 0xd2);
}

fn check_with_etherparse(segment: &[u8], repr: &Repr) -> Result<(), TestCaseError> {
    let theirs = TcpHeaderSlice::from_slice(segment).unwrap();
    prop_assert_eq!(theirs.source_port(), repr.source_port);
    prop_assert_eq!(theirs.destination_port(), repr.destination_port);
    prop_assert_eq!(theirs.sequence_number(), repr.sequence.0);
    prop_assert_eq!(theirs.acknowledgment_number(), repr.acknowledgment.0);
    let bits = [
        theirs.fin(),
        theirs.syn(),
        theirs.rst(),
        theirs.psh(),
        theirs.ack(),
        theirs.urg(),
        theirs.ece(),
        theirs.cwr(),
    ];
    let names = NAMES.map(|(flag, _)| repr.flags.contains(flag));
    prop_assert_eq!(bits, names);
    prop_assert_eq!(theirs.window_size(), repr.window);
    prop_assert_eq!(theirs.urgent_pointer(), repr.urgent_pointer);
    prop_assert_eq!(theirs.options().len(), repr.options.len());
    Ok(())
}

proptest! {
    #[test]
    fn others_read_what_is_written(repr in segment(), payload in bytes(60),
                                   (source, destination) in addresses(),
                                   at in any::<prop::sample::Index>(), flip in 1..=u8::MAX) {
        let mut segment = vec![0xee; repr.header_len()];
        segment.extend_from_slice(&payload);
        repr.emit(&mut segment, source, destination).unwrap();
        let ours = Packet::parse(&segment).unwrap();
        prop_assert_eq!((ours.repr(), ours.payload()), (repr, &payload[..]));
        prop_assert_eq!(ours.check(source, destination), Check::Right);
        prop_assert!(ours.is_intact(source, destination));
        let mut damaged = segment.clone();
        damaged[at.index(segment.len())] ^= flip;
        if let Ok(damaged) = Packet::parse(&damaged) {
            let is_wrong = damaged.check(source, destination) == Check::Wrong;
            prop_assert_eq!(damaged.is_intact(source, destination), !is_wrong);
        }
        prop_assert!(ours.options().all(|option| option.is_ok()));
        let quoted = Packet::parse_quoted_ports(&segment[..8]).unwrap();
        prop_assert_eq!(quoted.sequence, repr.sequence);
        prop_assert_eq!(quoted.destination_port, repr.destination_port);

        check_with_etherparse(&segment, &repr)?;
        let header = TcpHeader::from_slice(&segment).unwrap().0;
        let sum = match (source, destination) {
            (IpAddr::V4(a), IpAddr::V4(b)) =>
                header.calc_checksum_ipv4_raw(a.octets(), b.octets(), &payload).unwrap(),
            (IpAddr::V6(a), IpAddr::V6(b)) =>
                header.calc_checksum_ipv6_raw(a.octets(), b.octets(), &payload).unwrap(),
            _ => unreachable!("one family"),
        };
        prop_assert_eq!(ours.checksum(), sum);
        let theirs = TcpPacket::new_checked(&segment[..]).unwrap();
        prop_assert!(theirs.verify_checksum(&source.into(), &destination.into()));
        prop_assert_eq!(theirs.payload(), &payload);
    }

    #[test]
    fn smoltcp_reads_the_options(repr in segment(), address: Ipv6Addr) {
        prop_assume!(repr.source_port != 0 && repr.destination_port != 0);
        let repr = Repr { flags: Flags::ACK, ..repr };
        let mut segment = vec![0xee; repr.header_len()];
        repr.emit(&mut segment, address.into(), address.into()).unwrap();
        let theirs = TcpPacket::new_checked(&segment[..]).unwrap();
        let checksums = ChecksumCapabilities::default();
        let theirs = TcpRepr::parse(&theirs, &address.into(), &address.into(), &checksums).unwrap();
        prop_assert_eq!(theirs.max_seg_size, repr.options.mss);
        prop_assert_eq!(theirs.window_scale, repr.options.window_scale);
        prop_assert_eq!(theirs.sack_permitted, repr.options.sack_permitted);
        let timestamps =
            theirs.timestamp.map(|t| Timestamps { value: t.tsval, echo: t.tsecr });
        prop_assert_eq!(timestamps, repr.options.timestamps);
        // smoltcp has room for three.
        let theirs: Vec<_> = theirs.sack_ranges.into_iter().flatten().collect();
        let blocks = repr.options.sack;
        let ours: Vec<_> =
            blocks.as_slice().iter().take(3).map(|block| (block.left.0, block.right.0)).collect();
        prop_assert_eq!(theirs, ours);
    }

    #[test]
    fn reads_what_smoltcp_writes(ports in any::<(u16, u16)>(), numbers: (i32, i32), window: u16,
                                 mss: Option<u16>, clock: Option<(u32, u32)>, sack: bool,
                                 payload in bytes(40), (source, destination) in addresses()) {
        let theirs = TcpRepr {
            src_port: ports.0,
            dst_port: ports.1,
            control: TcpControl::Syn,
            seq_number: TcpSeqNumber(numbers.0),
            ack_number: Some(TcpSeqNumber(numbers.1)),
            window_len: window,
            window_scale: Some(7),
            max_seg_size: mss,
            sack_permitted: sack,
            sack_ranges: [None; 3],
            timestamp: clock.map(|(tsval, tsecr)| TcpTimestampRepr { tsval, tsecr }),
            payload: &payload,
        };
        let mut segment = vec![0; theirs.buffer_len()];
        theirs.emit(
            &mut TcpPacket::new_unchecked(&mut segment[..]),
            &source.into(),
            &destination.into(),
            &ChecksumCapabilities::default(),
        );
        let ours = Packet::parse(&segment).unwrap();
        prop_assert_eq!(ours.payload(), &payload);
        prop_assert_eq!(ours.check(source, destination), Check::Right);
        prop_assert_eq!(ours.repr(), Repr {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: Seq(numbers.0 as u32),
            acknowledgment: Seq(numbers.1 as u32),
            flags: Flags::SYN | Flags::ACK,
            window,
            urgent_pointer: 0,
            options: Options {
                mss,
                window_scale: Some(7),
                sack_permitted: sack,
                timestamps: clock.map(|(value, echo)| Timestamps { value, echo }),
                ..Options::default()
            },
        });
    }

    #[test]
    fn any_bytes_are_read(mut bytes in bytes(100), words in 5..=15u8, is_plausible: bool) {
        if is_plausible && bytes.len() > 12 {
            bytes[12] = words << 4;
        }
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        prop_assert_eq!(Packet::parse(&bytes).is_ok(), TcpHeaderSlice::from_slice(&bytes).is_ok());
        if let Ok(packet) = Packet::parse(&bytes) {
            let _ = packet.check(address, address);
            prop_assert!(packet.options().count() <= 40);
            prop_assert_eq!(packet.header_len() + packet.payload().len(), bytes.len());
            let _ = (packet.repr(), packet.sequence_len());
        }
    }
}
