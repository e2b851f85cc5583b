//! Ping.

use portolan_stack::{Checksum, Delivered, Dropped};
use portolan_wire::{
    ethernet::{Address, EtherType},
    icmpv4, icmpv6, ipv4, ipv6, protocol,
};

use crate::world::*;

/// RFC 792, echo.
#[test]
fn a_ping_over_ipv4_is_answered() {
    let mut world = World::acquainted();
    let frame = v4_frame(v4_header(PEER_V4, V4), protocol::ICMPV4, &ping_v4(b"some data"));
    let answer = world.answer(&frame);
    let (link, packet) = read_v4(&answer);
    assert_eq!(link.destination(), PEER_MAC);
    assert_eq!((packet.source(), packet.destination(), packet.ttl()), (V4, PEER_V4, 64));
    let reply = read_icmp_v4(&answer);
    assert_eq!((reply.kind(), reply.echo()), (icmpv4::Kind::ECHO_REPLY, Some(ECHO)));
    assert_eq!(reply.payload(), b"some data");
    assert_eq!(world.delivered(Delivered::Echo), 1);
}

/// RFC 4443, section 4.2.
#[test]
fn a_ping_over_ipv6_is_answered() {
    let mut world = World::acquainted();
    let frame = v6_frame(v6_header(PEER_V6, V6), protocol::ICMPV6, &ping_v6(PEER_V6, V6, b"data"));
    let answer = world.answer(&frame);
    let (link, packet) = read_v6(&answer);
    assert_eq!(link.destination(), PEER_MAC);
    assert_eq!((packet.source(), packet.destination()), (V6, PEER_V6));
    let reply = read_icmp_v6(&answer);
    assert_eq!((reply.kind(), reply.echo()), (icmpv6::Kind::ECHO_REPLY, Some(ECHO)));
    assert_eq!(reply.payload(), b"data");
}

#[test]
fn one_from_afar_is_answered_by_the_gateway() {
    let mut world = World::acquainted();
    let frame = v4_frame(v4_header(FAR_V4, V4), protocol::ICMPV4, &ping_v4(b""));
    let answer = world.answer(&frame);
    assert_eq!(read_v4(&answer).0.destination(), PEER_MAC);
    assert_eq!(read_v4(&answer).1.destination(), FAR_V4);
    let frame = v6_frame(v6_header(FAR_V6, V6), protocol::ICMPV6, &ping_v6(FAR_V6, V6, b""));
    let answer = world.answer(&frame);
    assert_eq!(read_v6(&answer).0.destination(), PEER_MAC);
    assert_eq!(read_v6(&answer).1.destination(), FAR_V6);
}

#[test]
fn groups_are_answered_over_ipv6_alone() {
    let mut world = World::acquainted();
    let all = "ff02::1".parse().unwrap();
    let frame = v6_frame(v6_header(PEER_V6, all), protocol::ICMPV6, &ping_v6(PEER_V6, all, b""));
    let answer = world.answer(&frame);
    assert_eq!(read_v6(&answer).1.source(), V6);
    for to in ["192.0.2.255", "255.255.255.255", "224.0.0.1"] {
        let header = v4_header(PEER_V4, to.parse().unwrap());
        let packet = v4_packet(header, protocol::ICMPV4, &ping_v4(b""));
        let frame = ethernet(Address::BROADCAST, EtherType::IPV4, &packet);
        world.drops(&frame, Dropped::EchoBroadcast);
    }
}

#[test]
fn a_long_ping_is_answered_in_fragments() {
    let data: Vec<u8> = (0..8_000_u32).map(|at| at as u8).collect();
    let mut world = World::acquainted();
    let whole = ping_v4(&data);
    for (at, part) in whole.chunks(1_480).enumerate() {
        let header = ipv4::Repr {
            fragment_offset: u16::try_from(at * 1_480).unwrap(),
            more_fragments: (at + 1) * 1_480 < whole.len(),
            ..v4_header(PEER_V4, V4)
        };
        world.hear(&v4_frame(header, protocol::ICMPV4, part));
    }
    let frames = world.drain();
    assert_eq!(frames.len(), 6);
    let mut joined = Vec::new();
    for frame in &frames {
        let (_, packet) = read_v4(frame);
        assert_eq!(usize::from(packet.fragment_offset()), joined.len());
        assert!(packet.total_len() <= 1_500 && !packet.dont_fragment());
        joined.extend_from_slice(packet.payload());
        assert_eq!(packet.more_fragments(), joined.len() < whole.len());
    }
    let reply = icmpv4::Packet::parse(&joined).unwrap();
    assert!(reply.checksum_is_right());
    assert_eq!((reply.kind(), reply.payload()), (icmpv4::Kind::ECHO_REPLY, &data[..]));
}

#[test]
fn a_long_ping_over_ipv6_is_answered_in_fragments() {
    let data: Vec<u8> = (0..8_000_u32).map(|at| at as u8).collect();
    let mut world = World::acquainted();
    let whole = ping_v6(PEER_V6, V6, &data);
    // The last one comes first.
    for (at, part) in whole.chunks(1_440).enumerate().collect::<Vec<_>>().into_iter().rev() {
        let fragment = ipv6::Fragment {
            offset: u16::try_from(at * 1_440).unwrap(),
            more_fragments: (at + 1) * 1_440 < whole.len(),
            identification: 5,
        };
        let extension = ipv6::Extension::Fragment(fragment);
        let repr = ipv6::extension::Repr { next_header: protocol::ICMPV6, extension };
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(&mut bytes).unwrap();
        bytes.extend_from_slice(part);
        world.hear(&v6_frame(v6_header(PEER_V6, V6), protocol::FRAGMENT, &bytes));
    }
    let frames = world.drain();
    assert_eq!(frames.len(), 6);
    let mut joined = Vec::new();
    let mut identifications = Vec::new();
    for frame in &frames {
        let (_, packet) = read_v6(frame);
        let upper = packet.upper_layer().unwrap();
        let fragment = upper.fragment.unwrap();
        assert_eq!(usize::from(fragment.offset), joined.len());
        assert!(packet.payload().len() + 40 <= 1_500);
        joined.extend_from_slice(upper.payload);
        assert_eq!(fragment.more_fragments, joined.len() < whole.len());
        identifications.push(fragment.identification);
    }
    identifications.dedup();
    assert_eq!(identifications.len(), 1);
    let reply = icmpv6::Packet::parse(&joined).unwrap();
    assert_eq!(reply.check(V6, PEER_V6), portolan_wire::Check::Right);
    assert_eq!((reply.kind(), reply.payload()), (icmpv6::Kind::ECHO_REPLY, &data[..]));
}

#[test]
fn a_damaged_ping_is_dropped_whatever_the_device_says() {
    let mut world = World::acquainted();
    let mut bytes = ping_v4(b"data");
    bytes[9] ^= 1;
    world.drops(&v4_frame(v4_header(PEER_V4, V4), 1, &bytes), Dropped::IcmpChecksum);
    let frame = v4_frame(v4_header(PEER_V4, V4), 1, &bytes);
    world.stack.handle_frame(&frame, Checksum::Verified, world.now, &mut |_, _| 0);
    assert_eq!(world.dropped(Dropped::IcmpChecksum), 2);
}

/// RFC 6864: what a router may cut has an identification that does not come again soon.
#[test]
fn answers_that_may_be_cut_have_identifications() {
    let mut world = World::acquainted();
    let frame = v4_frame(v4_header(PEER_V4, V4), protocol::ICMPV4, &ping_v4(&[1; 1_400]));
    let mut seen: Vec<u16> = (0..100)
        .map(|_| {
            let answer = world.answer(&frame);
            let (_, packet) = read_v4(&answer);
            assert!(!packet.is_fragment() && !packet.dont_fragment());
            packet.identification()
        })
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 100);
}

/// RFC 4443, section 2.3: what a device has left for another one to complete shows no damage, and
/// is taken only if the device says so, as of TCP and UDP.
#[test]
fn a_partial_checksum_of_icmpv6_needs_a_device_that_vouches_for_it() {
    let mut message = ping_v6(PEER_V6, V6, b"data");
    let mut sum: u32 = u32::from(protocol::ICMPV6) + message.len() as u32;
    for address in [PEER_V6, V6] {
        sum += address.segments().iter().map(|word| u32::from(*word)).sum::<u32>();
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    message[2..4].copy_from_slice(&(sum as u16).to_be_bytes());
    let checked = icmpv6::Packet::parse(&message).unwrap().check(PEER_V6, V6);
    assert_eq!(checked, portolan_wire::Check::Partial);
    let partial = v6_frame(v6_header(PEER_V6, V6), protocol::ICMPV6, &message);
    message[9] ^= 1;
    message[2] ^= 1;
    let wrong = v6_frame(v6_header(PEER_V6, V6), protocol::ICMPV6, &message);
    let mut world = World::acquainted();
    world.drops(&partial, Dropped::IcmpChecksum);
    let mut hear = |frame: &[u8], checksum| {
        world.stack.handle_frame(frame, checksum, world.now, &mut |_, _| 0);
        world.drain().len()
    };
    assert_eq!(hear(&partial, Checksum::Verified), 1);
    assert_eq!(hear(&wrong, Checksum::Verified), 0, "few devices look at ICMPv6");
}
