//! ICMP errors in both directions, and packets that are dropped without one.

use std::{net::IpAddr, time::Duration};

use portolan_stack::{Delivered, Dropped, Event, Noted, Unsent};
use portolan_wire::{
    ethernet::{Address, EtherType},
    icmpv4, icmpv6, ipv4, protocol,
};

use crate::world::*;

fn udp_v4(port: u16, data: &[u8]) -> Vec<u8> {
    let bytes = datagram(PEER_V4.into(), V4.into(), port, data);
    v4_frame(v4_header(PEER_V4, V4), protocol::UDP, &bytes)
}

fn udp_v6(port: u16, data: &[u8]) -> Vec<u8> {
    let bytes = datagram(PEER_V6.into(), V6.into(), port, data);
    v6_frame(v6_header(PEER_V6, V6), protocol::UDP, &bytes)
}

/// RFC 792, destination unreachable.
/// RFC 4443, section 3.1.
#[test]
fn a_port_on_which_nobody_reads_is_unreachable() {
    let mut world = World::acquainted();
    let frame = udp_v4(33_434, b"traceroute");
    let answer = world.answer(&frame);
    let error = read_icmp_v4(&answer);
    assert_eq!(error.kind(), icmpv4::Kind::DESTINATION_UNREACHABLE);
    assert_eq!(error.code(), icmpv4::unreachable::PORT);
    assert_eq!(error.quoted().unwrap(), &frame[14..]);
    let frame = udp_v6(33_434, b"traceroute");
    let answer = world.answer(&frame);
    let error = read_icmp_v6(&answer);
    assert_eq!(error.kind(), icmpv6::Kind::DESTINATION_UNREACHABLE);
    assert_eq!(error.code(), icmpv6::unreachable::PORT);
    assert_eq!(error.quoted().unwrap(), &frame[14..]);
    assert_eq!(world.dropped(Dropped::UdpPort), 2);
}

/// RFC 4443, section 2.4.
#[test]
fn errors_quote_no_more_than_they_may() {
    let mut world = World::acquainted();
    let answer = world.answer(&udp_v4(1, &[0; 1_400]));
    assert_eq!(read_v4(&answer).1.total_len(), 576);
    let answer = world.answer(&udp_v6(1, &[0; 1_400]));
    assert_eq!(read_v6(&answer).1.payload_len() + 40, 1_280);
}

/// RFC 4443, section 2.4.
#[test]
fn sixteen_probes_of_traceroute_are_answered_and_a_flood_is_not() {
    let mut world = World::acquainted();
    let answers: usize = (0..16).map(|port| world.answers(&udp_v4(33_434 + port, b"")).len()).sum();
    assert_eq!(answers, 16);
    let mut world = World::acquainted();
    let answers: usize = (0..10_000).map(|_| world.answers(&udp_v6(9, b"")).len()).sum();
    assert!((16..=32).contains(&answers), "{answers}");
    assert_eq!(world.unsent(Unsent::IcmpErrorLimit), 10_000 - answers as u64);
}

#[test]
fn a_flood_from_everywhere_is_limited_too() {
    let mut world = World::acquainted();
    let mut answers = 0;
    for which in 0..10_000_u32 {
        let source = std::net::Ipv4Addr::from_bits(0x0b00_0000 + which * 7);
        let bytes = datagram(source.into(), V4.into(), 9, b"");
        answers += world.answers(&v4_frame(v4_header(source, V4), protocol::UDP, &bytes)).len();
    }
    assert!((30..=101).contains(&answers), "{answers}");
}

/// RFC 792, destination unreachable.
#[test]
fn an_unknown_protocol_is_unreachable() {
    let mut world = World::acquainted();
    let answer = world.answer(&v4_frame(v4_header(PEER_V4, V4), 132, &[0; 40]));
    let error = read_icmp_v4(&answer);
    assert_eq!((error.kind().0, error.code()), (3, icmpv4::unreachable::PROTOCOL));
    // RFC 4443, section 3.4: it points to the field.
    let answer = world.answer(&v6_frame(v6_header(PEER_V6, V6), 132, &[0; 40]));
    let error = read_icmp_v6(&answer);
    let problem = icmpv6::Repr::ParameterProblem { code: 1, pointer: 6 };
    assert_eq!(error.repr(), Some(problem));
    // Behind destination options: they begin with it.
    let options = [132, 0, 1, 4, 0, 0, 0, 0, 9, 9, 9, 9];
    let answer = world.answer(&v6_frame(v6_header(PEER_V6, V6), 60, &options));
    let problem = icmpv6::Repr::ParameterProblem { code: 1, pointer: 40 };
    assert_eq!(read_icmp_v6(&answer).repr(), Some(problem));
    let nothing = v6_frame(v6_header(PEER_V6, V6), protocol::NO_NEXT_HEADER, &[]);
    world.drops(&nothing, Dropped::NothingFollows);
}

/// RFC 8200, section 4.2.
/// RFC 4443, section 3.4.
#[test]
fn options_that_nobody_knows_do_what_their_bits_say() {
    let mut world = World::acquainted();
    let option = |kind: u8| [59, 0, kind, 4, 0, 0, 0, 0];
    let to = |destination, bytes: [u8; 8]| v6_frame(v6_header(PEER_V6, destination), 60, &bytes);
    let all = "ff02::1".parse().unwrap();
    world.drops(&to(V6, option(0x3e)), Dropped::NothingFollows);
    world.drops(&to(V6, option(0x7e)), Dropped::IpOptions);
    let problem = icmpv6::Repr::ParameterProblem { code: 2, pointer: 42 };
    for (destination, kind) in [(V6, 0xbe), (all, 0xbe), (V6, 0xfe)] {
        let answer = world.answer(&to(destination, option(kind)));
        assert_eq!(read_icmp_v6(&answer).repr(), Some(problem), "{destination} {kind}");
    }
    world.drops(&to(all, option(0xfe)), Dropped::IpOptions);
}

/// RFC 9293, MUST-50.
/// RFC 791, section 3.1.
/// RFC 8200, section 4.4.
#[test]
fn source_routes_are_refused() {
    let mut world = World::acquainted();
    for kind in [131, 137] {
        let options = [kind, 7, 4, 192, 0, 2, 9];
        let header = ipv4::Repr { options: &options, ..v4_header(PEER_V4, V4) };
        world.drops(&v4_frame(header, 1, &ping_v4(b"")), Dropped::SourceRoute);
    }
    // Record route says nothing to a host.
    let options = [7, 7, 4, 0, 0, 0, 0];
    let header = ipv4::Repr { options: &options, ..v4_header(PEER_V4, V4) };
    assert_eq!(world.answers(&v4_frame(header, 1, &ping_v4(b""))).len(), 1);
    // A routing header that is not at its end: RFC 5095.
    let mut routing = vec![58, 2, 0, 1, 0, 0, 0, 0];
    routing.extend_from_slice(&PEER_V6.octets());
    routing.extend_from_slice(&ping_v6(PEER_V6, V6, b""));
    let answer = world.answer(&v6_frame(v6_header(PEER_V6, V6), 43, &routing));
    let problem = icmpv6::Repr::ParameterProblem { code: 0, pointer: 42 };
    assert_eq!(read_icmp_v6(&answer).repr(), Some(problem));
    assert_eq!(world.dropped(Dropped::SourceRoute), 3);
    // One that is.
    routing[3] = 0;
    let answer = world.answer(&v6_frame(v6_header(PEER_V6, V6), 43, &routing));
    assert_eq!(read_icmp_v6(&answer).kind(), icmpv6::Kind::ECHO_REPLY);
}

/// RFC 8200, section 4.1.
#[test]
fn too_many_extension_headers_are_dropped() {
    let mut world = World::acquainted();
    let chain = |count: usize| {
        let mut bytes = Vec::new();
        for at in 0..count {
            let next = if at + 1 == count { 58 } else { 60 };
            bytes.extend_from_slice(&[next, 0, 1, 4, 0, 0, 0, 0]);
        }
        bytes.extend_from_slice(&ping_v6(PEER_V6, V6, b""));
        v6_frame(v6_header(PEER_V6, V6), 60, &bytes)
    };
    assert_eq!(world.answers(&chain(8)).len(), 1);
    world.drops(&chain(9), Dropped::ExtensionMalformed);
    // Hop-by-hop options stand in front of all others: RFC 8200, section 4.
    let late = [0, 0, 1, 4, 0, 0, 0, 0, 58, 0, 1, 4, 0, 0, 0, 0];
    let answer = world.answer(&v6_frame(v6_header(PEER_V6, V6), 60, &late));
    let problem = icmpv6::Repr::ParameterProblem { code: 1, pointer: 40 };
    assert_eq!(read_icmp_v6(&answer).repr(), Some(problem));
}

/// RFC 9293, MUST-63.
/// RFC 1122, section 3.2.1.3.
#[test]
fn martians_are_dropped() {
    let mut world = World::acquainted();
    let sources =
        ["0.0.0.0", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.255"];
    for source in sources {
        let header = v4_header(source.parse().unwrap(), V4);
        world.drops(&v4_frame(header, 1, &ping_v4(b"")), Dropped::IpSource);
    }
    world.drops(&v4_frame(v4_header(V4, V4), 1, &ping_v4(b"")), Dropped::IpSourceOwn);
    for destination in [PEER_V4, FAR_V4, "127.0.0.1".parse().unwrap()] {
        let header = v4_header(PEER_V4, destination);
        world.drops(&v4_frame(header, 1, &ping_v4(b"")), Dropped::IpDestination);
    }
    for source in ["::1", "ff02::1", "::ffff:192.0.2.2"] {
        let source = source.parse().unwrap();
        let frame = v6_frame(v6_header(source, V6), 58, &ping_v6(source, V6, b""));
        world.drops(&frame, Dropped::IpSource);
    }
    let nobody = "::".parse().unwrap();
    let bytes = datagram(IpAddr::V6(nobody), V6.into(), 9, b"");
    world.drops(&v6_frame(v6_header(nobody, V6), 17, &bytes), Dropped::IpSource);
    let frame = v6_frame(v6_header(V6, V6), 58, &ping_v6(V6, V6, b""));
    world.drops(&frame, Dropped::IpSourceOwn);
    let frame = v6_frame(v6_header(PEER_V6, FAR_V6), 58, &ping_v6(PEER_V6, FAR_V6, b""));
    world.drops(&frame, Dropped::IpDestination);
}

/// RFC 1122, section 3.3.6.
#[test]
fn a_frame_for_many_with_a_packet_for_one_is_dropped() {
    let mut world = World::acquainted();
    let packet = v4_packet(v4_header(PEER_V4, V4), 1, &ping_v4(b""));
    let frame = ethernet(Address::BROADCAST, EtherType::IPV4, &packet);
    world.drops(&frame, Dropped::IpLinkBroadcast);
    let frame = ethernet(Address([2, 0, 0, 0, 0, 9]), EtherType::IPV4, &packet);
    world.drops(&frame, Dropped::EthernetDestination);
    let frame = ethernet(MAC, EtherType(0x88cc), &packet);
    world.drops(&frame, Dropped::EtherTypeUnknown);
}

/// RFC 1122, section 3.2.2.
/// RFC 4443, section 2.4.
#[test]
fn no_error_is_sent_about_errors_groups_and_later_fragments() {
    let mut world = World::acquainted();
    let forbidden = |world: &World| world.unsent(Unsent::IcmpErrorForbidden);
    // A datagram to all, on a port that nobody reads.
    let all = "192.0.2.255".parse().unwrap();
    let bytes = datagram(PEER_V4.into(), IpAddr::V4(all), 9, b"");
    let packet = v4_packet(v4_header(PEER_V4, all), protocol::UDP, &bytes);
    world.drops(&ethernet(Address::BROADCAST, EtherType::IPV4, &packet), Dropped::UdpPort);
    assert_eq!(forbidden(&world), 1);
    let all = "ff02::1".parse().unwrap();
    let bytes = datagram(PEER_V6.into(), IpAddr::V6(all), 9, b"");
    world.drops(&v6_frame(v6_header(PEER_V6, all), protocol::UDP, &bytes), Dropped::UdpPort);
    assert_eq!(forbidden(&world), 2);
    // An error of ICMPv6 behind options that nobody knows.
    let mut bytes = vec![58, 0, 0xbe, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0];
    bytes.extend_from_slice(&[0; 48]);
    world.drops(&v6_frame(v6_header(PEER_V6, V6), 60, &bytes), Dropped::IpOptions);
    assert_eq!(forbidden(&world), 3);
}

#[test]
fn errors_about_what_was_sent_reach_the_sender() {
    for (local, remote) in [(IpAddr::V4(V4), IpAddr::V4(FAR_V4)), (V6.into(), FAR_V6.into())] {
        let mut world = World::acquainted();
        let port = world.stack.udp_bind(None, 5_000).unwrap();
        world.stack.udp_send(port, (remote, 9).into(), b"to nobody", world.now).unwrap();
        let sent = world.drain().remove(0);
        let error = unreachable(local, &sent[14..]);
        world.hear(&error);
        assert_eq!(world.delivered(Delivered::IcmpError), 1, "{:?}", world.reasons());
        assert_eq!(world.stack.poll_event(), Some(Event::Udp(port)));
        let failure = world.stack.udp_failure(port).unwrap().unwrap();
        assert_eq!(failure.remote, (remote, 9).into());
        // About another destination, and another port of ours.
        for (at, byte) in [(sent.len() - 9 - 8 + 3, 8), (sent.len() - 9 - 8 + 1, 1)] {
            let mut other = sent.clone();
            other[at] ^= byte;
            world.drops(&unreachable(local, &other[14..]), Dropped::IcmpErrorForged);
        }
        assert_eq!(world.stack.udp_failure(port), Ok(None));
        // From another address.
        let mut other = sent.clone();
        let at = if local.is_ipv4() { 14 + 12 + 3 } else { 14 + 8 + 15 };
        other[at] ^= 4;
        world.drops(&unreachable(local, &other[14..]), Dropped::IcmpErrorForged);
    }
}

/// From a router, port unreachable.
fn unreachable(local: IpAddr, quoted: &[u8]) -> Vec<u8> {
    match local {
        IpAddr::V4(local) => {
            let mut bytes = [&[0; 8], quoted].concat();
            let code = icmpv4::unreachable::PORT;
            let repr = icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu: 0 };
            repr.emit(&mut bytes).unwrap();
            v4_frame(v4_header(GATEWAY_V4, local), 1, &bytes)
        }
        IpAddr::V6(local) => too_big_v6(local, quoted, None),
    }
}

pub fn too_big_v6(local: std::net::Ipv6Addr, quoted: &[u8], mtu: Option<u32>) -> Vec<u8> {
    let mut bytes = [&[0; 8], quoted].concat();
    let repr = match mtu {
        Some(mtu) => icmpv6::Repr::PacketTooBig { mtu },
        None => icmpv6::Repr::DestinationUnreachable { code: icmpv6::unreachable::PORT },
    };
    let from = "2001:db8::fe".parse().unwrap();
    repr.emit(&mut bytes, from, local).unwrap();
    v6_frame(v6_header(from, local), 58, &bytes)
}

#[test]
fn a_path_that_takes_less_is_learnt_from_what_was_sent_alone() {
    let mut world = World::acquainted();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let data = [1; 1_400];
    world.stack.udp_send(port, (FAR_V6, 9).into(), &data, world.now).unwrap();
    world.stack.udp_send(port, (FAR_V4, 9).into(), &data, world.now).unwrap();
    let sent = world.drain();
    assert_eq!(sent.len(), 2);
    assert!(read_v4(&sent[1]).1.dont_fragment());
    // Forged: no datagram was sent to that port.
    let mut forged = sent[0].clone();
    forged[14 + 40 + 3] ^= 1;
    world.drops(&too_big_v6(V6, &forged[14..], Some(1_300)), Dropped::IcmpErrorForged);
    assert_eq!(world.stack.path_mtu(FAR_V6.into(), world.now), 1_500);
    world.hear(&too_big_v6(V6, &sent[0][14..], Some(1_300)));
    assert_eq!(world.stack.path_mtu(FAR_V6.into(), world.now), 1_300);
    let mut bytes = [&[0; 8], &sent[1][14..]].concat();
    let code = icmpv4::unreachable::FRAGMENTATION_NEEDED;
    let repr = icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu: 1_000 };
    repr.emit(&mut bytes).unwrap();
    world.hear(&v4_frame(v4_header(GATEWAY_V4, V4), 1, &bytes));
    assert_eq!(world.stack.path_mtu(FAR_V4.into(), world.now), 1_000);
    assert_eq!(world.counters().noted(Noted::PathMtu), 2);
    // From now on in fragments, that routers may cut again.
    world.stack.udp_send(port, (FAR_V6, 9).into(), &data, world.now).unwrap();
    world.stack.udp_send(port, (FAR_V4, 9).into(), &data, world.now).unwrap();
    let sent = world.drain();
    assert_eq!(sent.len(), 4);
    assert!(sent[..2].iter().all(|frame| frame.len() <= 14 + 1_300));
    assert!(sent[2..].iter().all(|frame| frame.len() <= 14 + 1_000));
    assert!(!read_v4(&sent[2]).1.dont_fragment());
    // RFC 1191, section 6.3.
    world.after(Duration::from_secs(601));
    assert_eq!(world.stack.path_mtu(FAR_V4.into(), world.now), 1_500);
}

/// RFC 9293, MUST-55.
/// RFC 6633, section 3.
#[test]
fn what_icmp_says_besides_is_ignored_and_counted() {
    let mut world = World::acquainted();
    for (kind, reason) in [
        (0, Dropped::IcmpIgnored),
        (4, Dropped::IcmpIgnored),
        (5, Dropped::Redirect),
        (13, Dropped::IcmpIgnored),
        (99, Dropped::IcmpIgnored),
    ] {
        let mut bytes = [0; 28];
        bytes[0] = kind;
        let mut sum = portolan_wire::checksum::Sum::default();
        sum.add(&bytes);
        bytes[2..4].copy_from_slice(&sum.finish().to_be_bytes());
        world.drops(&v4_frame(v4_header(PEER_V4, V4), 1, &bytes), reason);
    }
}
