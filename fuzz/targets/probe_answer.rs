//! Any packet is heard without a panic while checks are under way, and is taken for an answer only
//! if it has the number that proves that its sender has seen the SYN.
//!
//! The first byte says in which way the packet comes, and how much of it is made right, so that
//! less has to be guessed.

#![no_main]

use std::{
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
};

use libfuzzer_sys::fuzz_target;
use portolan_probe::{
    Evidence, Verdict,
    fuzzing::{Ears, Way},
};
use portolan_wire::{checksum::Sum, protocol};

static TARGETS: LazyLock<Vec<(SocketAddr, IpAddr)>> = LazyLock::new(|| {
    let text = [
        ("192.0.2.7:443", "198.51.100.1"),
        ("192.0.2.8:80", "198.51.100.1"),
        ("[2001:db8::7]:443", "2001:db8:1::1"),
        ("[fe80::7%3]:80", "fe80::1"),
    ];
    let parse = |(target, source): (&str, &str)| (target.parse().unwrap(), source.parse().unwrap());
    text.map(parse).to_vec()
});
static EARS: LazyLock<Ears> = LazyLock::new(|| Ears::new(&TARGETS));

fuzz_target!(|input: &[u8]| {
    let Some((&how, rest)) = input.split_first() else { return };
    let place = usize::from(how & 3);
    let (target, source) = TARGETS[place];
    let is_cut = how & 4 != 0;
    let (mut bytes, is_aimed) = (rest.to_vec(), how & 0x20 != 0);
    let way = match how >> 3 & 3 {
        0 if target.is_ipv4() => Way::V4,
        0 => Way::V6,
        1 => Way::IcmpV6,
        2 => Way::Segment(target.ip()),
        _ => return proves_nothing(how, rest),
    };
    if is_aimed {
        bytes = aimed(place, way);
        bytes.iter_mut().zip(rest).for_each(|(byte, change)| *byte ^= change);
    }
    if let Way::Segment(_) = way {
        complete(&mut bytes, target.ip(), source);
    }
    for way in [way, Way::V4, Way::V6, Way::IcmpV6] {
        check(way, &bytes, is_cut);
    }
});

/// What would be believed: an answer, or an error that quotes our SYN.
fn aimed(place: usize, way: Way) -> Vec<u8> {
    let syn = EARS.syns().swap_remove(place);
    let error = |kind: u8, code: u8| [&[kind, code, 0, 0, 0, 0, 0, 0], syn.as_slice()].concat();
    match way {
        Way::Segment(_) => {
            let (source_port, sequence) = EARS.numbers()[place];
            let mut segment = vec![0; 32];
            segment[..2].copy_from_slice(&TARGETS[place].0.port().to_be_bytes());
            segment[2..4].copy_from_slice(&source_port.to_be_bytes());
            segment[8..12].copy_from_slice(&sequence.0.wrapping_add(1).to_be_bytes());
            (segment[12], segment[13]) = (8 << 4, 0x12);
            segment
        }
        Way::IcmpV6 => error(1, 3),
        // Where the end is cut off, no checksum is looked at.
        Way::V4 | Way::V6 => {
            let header_bytes = syn.len() - 40;
            let mut packet = syn[..header_bytes].to_vec();
            let (field, protocol, kind, code) = if header_bytes == 20 {
                (9, protocol::ICMPV4, 3, 1)
            } else {
                (6, protocol::ICMPV6, 1, 3)
            };
            packet[field] = protocol;
            packet.extend(error(kind, code));
            let long = 1000_u16.to_be_bytes();
            let field = if header_bytes == 20 { 2 } else { 4 };
            packet[field..field + 2].copy_from_slice(&long);
            packet
        }
    }
}

/// Writes the checksum of a segment, which the fuzzer would never find.
fn complete(segment: &mut [u8], source: IpAddr, destination: IpAddr) {
    let length = segment.len() as u32;
    let Some(field) = segment.get_mut(16..18) else { return };
    field.fill(0);
    let mut sum = Sum::default();
    sum.pseudo_header(source, destination, protocol::TCP, length);
    sum.add(segment);
    segment[16..18].copy_from_slice(&sum.finish().to_be_bytes());
}

/// What is believed has the port and the number of the check, where a segment or a quoted one has
/// them, and what it is said to be.
fn check(way: Way, bytes: &[u8], is_cut: bool) {
    let Some((id, answer)) = EARS.hear(way, bytes, is_cut) else { return };
    let place = id.0 as usize;
    let (target, _) = TARGETS[place];
    let (source_port, sequence) = EARS.numbers()[place];
    let own = source_port.to_be_bytes();
    let theirs = target.port().to_be_bytes();
    let found = match answer.evidence {
        Evidence::SynAck | Evidence::Reset => {
            let acknowledgment = sequence.0.wrapping_add(1).to_be_bytes();
            let flags = if answer.verdict == Verdict::Open { 0x12 } else { 0x14 };
            assert!(matches!(answer.verdict, Verdict::Open | Verdict::Closed) && !is_cut);
            bytes.windows(20).any(|it| {
                it[..2] == theirs
                    && it[2..4] == own
                    && it[8..12] == acknowledgment
                    && it[13] & flags == flags
            })
        }
        Evidence::Icmp { kind, code } => {
            assert!(matches!(answer.verdict, Verdict::Unreachable(_)));
            let head = [kind, code];
            let number = sequence.0.to_be_bytes();
            bytes.windows(2).any(|it| it == head)
                && bytes
                    .windows(8)
                    .any(|it| it[..2] == own && it[2..4] == theirs && it[4..] == number)
        }
        Evidence::Silence | Evidence::Refusal(_) => false,
    };
    assert!(found, "{way:?} believes {bytes:02x?}");
}

/// What a target that has not seen the SYN can send: all is right but the number.
fn proves_nothing(how: u8, rest: &[u8]) {
    let place = usize::from(how & 3);
    let (target, source) = TARGETS[place];
    let (source_port, sequence) = EARS.numbers()[place];
    let Some((flags, rest)) = rest.split_first() else { return };
    let mut segment = [0_u8; 20].to_vec();
    segment[..2].copy_from_slice(&target.port().to_be_bytes());
    segment[2..4].copy_from_slice(&source_port.to_be_bytes());
    segment.extend_from_slice(rest);
    if let Some(number) = rest.get(..4) {
        segment[8..12].copy_from_slice(number);
    }
    segment[12] = 5 << 4;
    segment[13] = *flags;
    complete(&mut segment, target.ip(), source);
    let believed = EARS.hear(Way::Segment(target.ip()), &segment, false).is_some();
    let acknowledges = segment[8..12] == sequence.0.wrapping_add(1).to_be_bytes();
    let says = flags & 0x10 != 0 && flags & 0x06 != 0;
    assert_eq!(believed, acknowledges && says);
    // Our own SYN, should it come back, is no answer either.
    for syn in EARS.syns() {
        assert!(EARS.hear(Way::V4, &syn, false).is_none());
        assert!(EARS.hear(Way::V6, &syn, false).is_none());
    }
}
