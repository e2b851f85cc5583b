//! Datagrams that arrive in parts.

use std::{net::Ipv4Addr, time::Duration};

use portolan_stack::{Checksum, Delivered, Dropped, Noted, UdpId};
use portolan_wire::{icmpv4, icmpv6, ipv4, ipv6, protocol};

use crate::world::*;

/// A part of a datagram of UDP from the peer.
pub fn part_v4(identification: u16, offset: u16, more: bool, bytes: &[u8]) -> Vec<u8> {
    part_from(PEER_V4, identification, offset, more, bytes)
}

pub fn part_from(
    source: Ipv4Addr,
    identification: u16,
    offset: u16,
    more: bool,
    bytes: &[u8],
) -> Vec<u8> {
    let header = ipv4::Repr {
        identification,
        fragment_offset: offset,
        more_fragments: more,
        ..v4_header(source, V4)
    };
    v4_frame(header, protocol::UDP, bytes)
}

pub fn part_v6(next: u8, offset: u16, more: bool, bytes: &[u8]) -> Vec<u8> {
    let fragment = ipv6::Fragment { offset, more_fragments: more, identification: 77 };
    let extension = ipv6::Extension::Fragment(fragment);
    let repr = ipv6::extension::Repr { next_header: next, extension };
    let mut part = vec![0; repr.header_len()];
    repr.emit(&mut part).unwrap();
    part.extend_from_slice(bytes);
    v6_frame(v6_header(PEER_V6, V6), protocol::FRAGMENT, &part)
}

pub fn reader() -> (World, UdpId) {
    let mut world = World::acquainted();
    let port = world.stack.udp_bind(None, 53).unwrap();
    (world, port)
}

pub fn received(world: &mut World, port: UdpId) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 65_535];
    let received = world.stack.udp_receive(port, &mut buffer).unwrap()?;
    buffer.truncate(received.len);
    Some(buffer)
}

pub fn message(len: usize) -> (Vec<u8>, Vec<u8>) {
    let data: Vec<u8> = (0..len).map(|at| at as u8).collect();
    (datagram(PEER_V4.into(), V4.into(), 53, &data), data)
}

/// RFC 791, section 3.2.
#[test]
fn parts_are_joined_in_any_order() {
    let (bytes, data) = message(92);
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let (mut world, port) = reader();
        for at in order {
            let part = &bytes[at * 32..(at * 32 + 32).min(bytes.len())];
            world.hear(&part_v4(7, u16::try_from(at * 32).unwrap(), at < 3, part));
        }
        assert_eq!(received(&mut world, port), Some(data.clone()), "{order:?}");
        assert_eq!(world.delivered(Delivered::Fragment), 3);
        assert_eq!(world.counters().noted(Noted::Reassembled), 1);
        assert_eq!(world.stack.poll_timeout(), None, "nothing is left");
    }
}

/// RFC 791, section 3.2.
#[test]
fn parts_of_different_datagrams_are_not_joined() {
    let (bytes, _) = message(92);
    let (mut world, port) = reader();
    world.hear(&part_v4(7, 0, true, &bytes[..48]));
    world.hear(&part_v4(8, 48, false, &bytes[48..]));
    assert_eq!(received(&mut world, port), None);
    world.hear(&part_v4(7, 48, false, &bytes[48..]));
    assert!(received(&mut world, port).is_some());
}

/// RFC 5722, and what Linux has for IPv4 since CVE-2018-5391.
/// RFC 5722, section 4.
#[test]
fn an_overlap_spoils_the_datagram() {
    let (bytes, _) = message(92);
    let (mut world, port) = reader();
    world.hear(&part_v4(7, 0, true, &bytes[..48]));
    world.drops(&part_v4(7, 40, true, &bytes[40..56]), Dropped::FragmentOverlap);
    world.drops(&part_v4(7, 48, false, &bytes[48..]), Dropped::FragmentOverlap);
    world.drops(&part_v4(7, 0, true, &bytes[..48]), Dropped::FragmentOverlap);
    assert_eq!(received(&mut world, port), None);
    // Nor is there an error, as the datagram is an attack.
    world.after(Duration::from_secs(31));
    world.drain();
    assert_eq!(world.counters().noted(Noted::ReassemblyTimeout), 1);
    assert_eq!(world.counters().noted(Noted::IcmpErrorSent), 0);
}

/// RFC 5722, section 4.
#[test]
fn contradictions_spoil_the_datagram() {
    let (bytes, _) = message(92);
    // A second end; something behind the end; an end before what came.
    for parts in [
        [(80, 100, false), (40, 60, false)],
        [(40, 60, false), (64, 72, true)],
        [(64, 72, true), (40, 60, false)],
        [(0, 48, true), (0, 40, true)],
    ] {
        let (mut world, _) = reader();
        let mut parts = parts.map(|(start, end, more)| {
            part_v4(7, u16::try_from(start).unwrap(), more, &bytes[start..end])
        });
        world.hear(&parts[0]);
        assert_eq!(world.delivered(Delivered::Fragment), 1);
        world.drops(&parts[1], Dropped::FragmentOverlap);
        parts.reverse();
    }
}

#[test]
fn a_copy_does_no_harm() {
    let (bytes, data) = message(92);
    let (mut world, port) = reader();
    let first = part_v4(7, 0, true, &bytes[..48]);
    world.hear(&first);
    world.drops(&first, Dropped::FragmentDuplicate);
    world.hear(&part_v4(7, 48, false, &bytes[48..]));
    assert_eq!(received(&mut world, port), Some(data));
}

/// RFC 1122, section 3.3.2.
/// RFC 4443, section 3.3.
#[test]
fn after_a_while_the_sender_is_told_if_the_first_part_came() {
    let (bytes, _) = message(92);
    let mut world = reader().0;
    let first = part_v4(7, 0, true, &bytes[..48]);
    world.hear(&first);
    world.hear(&part_v4(8, 48, false, &bytes[48..]));
    world.hear(&part_v6(protocol::UDP, 0, true, &bytes[..48]));
    world.after(Duration::from_secs(29));
    assert!(world.drain().iter().all(|frame| frame[12..14] != [8, 0]));
    world.after(Duration::from_secs(1));
    let frames = world.drain();
    assert_eq!(frames.len(), 1);
    let error = read_icmp_v4(&frames[0]);
    assert_eq!((error.kind(), error.code()), (icmpv4::Kind::TIME_EXCEEDED, 1));
    assert_eq!(error.quoted().unwrap(), &first[14..]);
    world.after(Duration::from_secs(29));
    assert_eq!(world.counters().noted(Noted::ReassemblyTimeout), 2);
    world.introduce_again();
    world.after(Duration::from_secs(1));
    let frames = world.drain();
    let errors: Vec<_> = frames.iter().filter(|frame| frame[20] == 58).collect();
    let error = read_icmp_v6(errors[0]);
    assert_eq!((error.kind(), error.code()), (icmpv6::Kind::TIME_EXCEEDED, 1));
    assert_eq!(world.counters().noted(Noted::ReassemblyTimeout), 3);
}

/// RFC 7112, section 5.
#[test]
fn parts_that_no_sender_makes_are_dropped() {
    let (bytes, _) = message(92);
    let mut world = reader().0;
    world.drops(&part_v4(7, 0, true, &bytes[..47]), Dropped::FragmentMalformed);
    world.drops(&part_v4(7, 8, false, &[]), Dropped::FragmentMalformed);
    world.drops(&part_v4(7, 65_528, false, &[0; 16]), Dropped::FragmentMalformed);
    // The header of TCP cut, or written over: RFC 1858.
    let tcp = |offset, more, bytes: &[u8]| {
        let header =
            ipv4::Repr { fragment_offset: offset, more_fragments: more, ..v4_header(PEER_V4, V4) };
        v4_frame(header, protocol::TCP, bytes)
    };
    world.drops(&tcp(0, true, &[0; 16]), Dropped::FragmentTiny);
    world.drops(&tcp(8, false, &[0; 80]), Dropped::FragmentTiny);
    // RFC 7112: headers in the second fragment.
    let options = [17, 0, 1, 4, 0, 0, 0, 0];
    let incomplete = icmpv6::Repr::ParameterProblem { code: 3, pointer: 0 };
    for cut in [part_v6(60, 0, true, &options), part_v6(60, 0, true, &[17, 9, 1, 4, 0, 0, 0, 0])] {
        let answer = world.answer(&cut);
        assert_eq!(read_icmp_v6(&answer).repr(), Some(incomplete));
    }
    assert_eq!(world.dropped(Dropped::FragmentTiny), 4);
    // RFC 8200, section 4.5.
    let answer = world.answer(&part_v6(17, 0, true, &[0; 15]));
    let problem = icmpv6::Repr::ParameterProblem { code: 0, pointer: 4 };
    assert_eq!(read_icmp_v6(&answer).repr(), Some(problem));
    let answer = world.answer(&part_v6(17, 65_528, false, &[0; 15]));
    let problem = icmpv6::Repr::ParameterProblem { code: 0, pointer: 42 };
    assert_eq!(read_icmp_v6(&answer).repr(), Some(problem));
}

/// RFC 6946: others under the same number do not hinder it.
/// RFC 6946, section 4.
#[test]
fn an_atomic_fragment_is_whole() {
    let (mut world, port) = reader();
    world.hear(&part_v6(17, 48, false, &[0; 16]));
    let bytes = datagram(PEER_V6.into(), V6.into(), 53, b"whole");
    world.hear(&part_v6(17, 0, false, &bytes));
    assert_eq!(received(&mut world, port), Some(b"whole".to_vec()));
}

#[test]
fn errors_about_joined_packets_quote_the_first_part() {
    let mut world = World::acquainted();
    let bytes = datagram(PEER_V6.into(), V6.into(), 9, &[5; 92]);
    let first = part_v6(17, 0, true, &bytes[..48]);
    world.hear(&first);
    let answer = world.answer(&part_v6(17, 48, false, &bytes[48..]));
    let error = read_icmp_v6(&answer);
    assert_eq!(error.code(), icmpv6::unreachable::PORT);
    assert_eq!(error.quoted().unwrap(), &first[14..]);
}

/// As CVE-2018-5390 and -5391: neither memory nor time grows with what an attacker sends.
/// RFC 1122, section 3.3.2.
#[test]
fn a_flood_of_parts_neither_fills_memory_nor_shuts_others_out() {
    let (mut world, port) = reader();
    let (bytes, data) = message(92);
    for which in 0..20_000_u32 {
        let source = Ipv4Addr::from_bits(0x0b00_0000 + which * 3);
        let offset = u16::try_from(which % 8_000).unwrap() * 8 + 8;
        world.hear(&part_from(source, 7, offset.min(64_000), true, &[0; 8]));
        if which % 1_000 == 0 {
            world.hear(&part_v4(9, 0, true, &bytes[..48]));
            world.hear(&part_v4(9, 48, false, &bytes[48..]));
            assert_eq!(received(&mut world, port), Some(data.clone()), "{which}");
        }
    }
    assert_eq!(world.counters().noted(Noted::ReassemblyEvicted), 20_000 + 20 - 64 - 20);
    assert_eq!(world.dropped(Dropped::FragmentLimit), 0);
    // One datagram has so many parts alone.
    for which in 0..1_000_u16 {
        world.hear(&part_v4(100, 16 + which * 16, true, &[0; 8]));
    }
    assert_eq!(world.dropped(Dropped::FragmentLimit), 1_000 - 128);
}

/// The device checks what it sees, which are fragments.
#[test]
fn the_checksum_of_what_was_joined_is_looked_at() {
    let (mut world, port) = reader();
    for damage in [1, 0] {
        let (mut bytes, data) = message(92);
        bytes[60] ^= damage;
        for (start, end, more) in [(0, 48, true), (48, 100, false)] {
            let frame = part_v4(7, u16::try_from(start).unwrap(), more, &bytes[start..end]);
            world.stack.handle_frame(&frame, Checksum::Verified, world.now, &mut |_, _| 0);
        }
        let expected = if damage == 0 { Some(data) } else { None };
        assert_eq!(received(&mut world, port), expected);
    }
    assert_eq!(world.dropped(Dropped::UdpChecksum), 1);
}

/// Of several stacks of a host, the one that knows the flow gets the datagram.
#[test]
fn with_several_stacks_a_datagram_waits_for_the_one_that_owns_it() {
    let settings = || portolan_stack::Config { shares_flows: true, ..config() };
    let (mut first, mut second) = (World::with(settings()), World::with(settings()));
    let port = second.stack.udp_bind(None, 53).unwrap();
    let (bytes, data) = message(92);
    let parts = |identification| {
        [(0, 48, true), (48, 100, false)].map(|(start, end, more)| {
            part_v4(identification, u16::try_from(start).unwrap(), more, &bytes[start..end])
        })
    };
    let [begin, end] = parts(7);
    first.hear(&begin);
    assert!(first.stack.take_joined().is_none());
    first.hear(&end);
    let joined = first.stack.take_joined().unwrap();
    assert!(first.stack.take_joined().is_none());
    assert_eq!((joined.source(), joined.destination()), (PEER_V4.into(), V4.into()));
    assert_eq!((joined.protocol(), joined.payload()), (protocol::UDP, &bytes[..]));
    let counted = |world: &World| {
        let counters = world.counters();
        let fates = counters.delivered_total() + counters.dropped_total();
        assert_eq!(counters.frames_in, fates, "each frame is counted once");
        (counters.frames_in, counters.bytes_in)
    };
    assert_eq!(counted(&first), (1, begin.len() as u64), "the last one is counted by its owner");
    second.stack.handle_joined(&joined, second.now, &mut |_, data| data.len());
    assert_eq!(counted(&second), (1, end.len() as u64));
    assert_eq!(received(&mut second, port), Some(data.clone()));
    // Who does not ask for it owns it.
    for frame in parts(8) {
        second.hear(&frame);
    }
    assert_eq!(received(&mut second, port), None);
    second.hear(&begin);
    assert_eq!(received(&mut second, port), Some(data));
    assert_eq!(counted(&second).0, 4);
}
