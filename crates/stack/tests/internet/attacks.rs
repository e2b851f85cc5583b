//! What somebody who means ill can do below TCP. What is counted is packets and fates, not time.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use portolan_stack::{Delivered, Dropped, Noted, Unsent};
use portolan_wire::{
    arp,
    ethernet::{Address, EtherType},
    icmpv4, icmpv6, ipv4, ipv6, ndp, protocol,
};

use crate::{
    errors::too_big_v6,
    fragments::{message, part_from, part_v4, part_v6, reader, received},
    world::*,
};

const ATTACKER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 66);
const EVIL_MAC: Address = Address([2, 0, 0, 0, 0, 0x66]);

/// RFC 5722, section 4, and CVE-1997-0257 (teardrop) with its relatives: whatever two parts say of
/// the same bytes, neither is believed, nor what comes after.
#[test]
fn parts_that_contradict_each_other_are_never_delivered() {
    let shapes = [
        ("teardrop", (0, 48, true), (24, 40, false)),
        ("overlapping start", (16, 48, true), (0, 24, true)),
        ("overlapping end", (0, 48, true), (40, 100, false)),
        ("inside", (0, 96, true), (24, 48, true)),
        ("around", (24, 48, true), (0, 96, true)),
        ("the same start, longer", (24, 48, true), (24, 56, true)),
        ("the same start, shorter", (24, 48, true), (24, 40, true)),
        ("two ends", (80, 100, false), (80, 96, false)),
        ("bonk: behind the end", (48, 56, false), (64, 72, true)),
    ];
    let bytes = message(92).0;
    for (name, first, second) in shapes {
        for is_v6 in [false, true] {
            let part = |(start, end, more): (usize, usize, bool)| {
                let (offset, bytes) = (u16::try_from(start).unwrap(), &bytes[start..end]);
                match is_v6 {
                    true => part_v6(protocol::UDP, offset, more, bytes),
                    false => part_v4(7, offset, more, bytes),
                }
            };
            let (mut world, port) = reader();
            let (first, second) = (part(first), part(second));
            world.hear(&first);
            world.drops(&second, Dropped::FragmentOverlap);
            for whole in [(0, 48, true), (48, 100, false)] {
                world.drops(&part(whole), Dropped::FragmentOverlap);
            }
            assert_eq!(received(&mut world, port), None, "{name}");
            world.after(Duration::from_secs(61));
            let sent = world.counters().noted(Noted::IcmpErrorSent);
            assert_eq!(sent, 0, "an attack is not answered: {name}");
        }
    }
}

/// One source fills its share and no more: what others began goes on.
/// RFC 1122, section 3.3.2.
#[test]
fn who_floods_with_parts_harms_himself() {
    let (mut world, port) = reader();
    let (bytes, data) = message(92);
    for round in 0..8 {
        world.hear(&part_v4(round, 0, true, &bytes[..48]));
        // 4 MiB, four times of what is kept, in datagrams that lack their first byte.
        for which in 0..3_000_u16 {
            let offset = 8 + which % 46 * 1_400;
            let identification = round * 100 + which / 46;
            world.hear(&part_from(ATTACKER, identification, offset, true, &[0; 1_400]));
        }
        world.hear(&part_v4(round, 48, false, &bytes[48..]));
        assert_eq!(received(&mut world, port), Some(data.clone()), "round {round}");
    }
    assert!(world.counters().noted(Noted::ReassemblyEvicted) > 400, "{:?}", world.reasons());
}

/// Anybody can send parts in another's name, and leave them unfinished.
/// RFC 1122, section 3.3.2.
#[test]
fn parts_in_anothers_name_do_not_shut_him_out() {
    let (mut world, port) = reader();
    let (bytes, data) = message(92);
    for which in 0..1_000 {
        world.hear(&part_v4(1_000 + which, 8, true, &[0; 8]));
        if which % 100 == 99 {
            world.hear(&part_v4(which, 0, true, &bytes[..48]));
            world.hear(&part_v4(which, 48, false, &bytes[48..]));
            assert_eq!(received(&mut world, port), Some(data.clone()), "{which}");
        }
    }
    assert_eq!(world.dropped(Dropped::FragmentLimit), 0);
}

/// IPv4 has so few identifications that they come again.
/// RFC 791, section 3.2.
#[test]
fn an_identification_that_comes_again_is_a_new_datagram() {
    let (mut world, port) = reader();
    for len in [92, 60, 92] {
        let (bytes, data) = message(len);
        world.hear(&part_v4(7, 48, false, &bytes[48..]));
        world.hear(&part_v4(7, 0, true, &bytes[..48]));
        assert_eq!(received(&mut world, port), Some(data));
    }
}

/// CVE-1999-0128, the ping of death: RFC 791, section 3.1; RFC 8200, section 4.5.
#[test]
fn no_datagram_is_longer_than_its_length_can_say() {
    let mut world = reader().0;
    world.hear(&part_v4(7, 65_504, false, &[0; 11]));
    assert_eq!(world.delivered(Delivered::Fragment), 1);
    world.drops(&part_v4(8, 65_504, false, &[0; 12]), Dropped::FragmentMalformed);
    // Over IPv6 the headers in front of the fragment header count, too.
    let part = |len: usize| {
        let mut bytes = vec![44, 0, 1, 4, 0, 0, 0, 0];
        let fragment = ipv6::Fragment { offset: 65_520, more_fragments: false, identification: 9 };
        let extension = ipv6::Extension::Fragment(fragment);
        let mut header = [0; 8];
        ipv6::extension::Repr { next_header: 17, extension }.emit(&mut header).unwrap();
        bytes.extend(header);
        bytes.extend(vec![0; len]);
        v6_frame(v6_header(PEER_V6, V6), protocol::DESTINATION_OPTIONS, &bytes)
    };
    world.hear(&part(7));
    assert_eq!(world.delivered(Delivered::Fragment), 2);
    let answer = world.answer(&part(8));
    let problem = icmpv6::Repr::ParameterProblem { code: 0, pointer: 50 };
    assert_eq!(read_icmp_v6(&answer).repr(), Some(problem));
}

/// RFC 1122, section 3.2.2; RFC 4443, section 2.4.
/// RFC 1122, section 3.3.2.
#[test]
fn a_flood_of_first_parts_draws_few_errors() {
    let mut world = reader().0;
    for which in 0..20_000_u32 {
        let source = Ipv4Addr::from_bits(0x0b00_0000 + which % 1_000);
        world.hear(&part_from(source, (which / 1_000) as u16, 0, true, &[0; 48]));
    }
    world.after(Duration::from_secs(30));
    let sent = world.counters().noted(Noted::IcmpErrorSent);
    assert!((1..=64).contains(&sent), "{sent}");
    // Nor does what was for many draw any.
    let before = world.unsent(Unsent::IcmpErrorForbidden);
    let all = "192.0.2.255".parse().unwrap();
    let header = ipv4::Repr { more_fragments: true, ..v4_header(PEER_V4, all) };
    let packet = v4_packet(header, protocol::UDP, &[0; 48]);
    world.hear(&ethernet(Address::BROADCAST, EtherType::IPV4, &packet));
    world.after(Duration::from_secs(30));
    assert_eq!(world.unsent(Unsent::IcmpErrorForbidden), before + 1);
}

/// RFC 8200, sections 4.1 to 4.3; RFC 2711: a host that is no router has nothing to do.
#[test]
fn long_chains_and_alerts_for_routers_are_passed_over() {
    let mut world = World::acquainted();
    // Eight headers of 2,048 bytes: the longest chain that is walked.
    let mut bytes = Vec::new();
    for nth in 0..8 {
        let next = if nth == 7 { protocol::ICMPV6 } else { protocol::DESTINATION_OPTIONS };
        bytes.extend([next, 255]);
        // Padding of 255 bytes each, two of header included.
        for _ in 0..7 {
            bytes.extend([1, 255]);
            bytes.extend([0; 255]);
        }
        let rest = 2_048 - 2 - 7 * 257;
        bytes.extend([1, u8::try_from(rest - 2).unwrap()]);
        bytes.extend(vec![0; rest - 2]);
    }
    bytes.extend(ping_v6(PEER_V6, V6, b""));
    let answer = world.answer(&v6_frame(v6_header(PEER_V6, V6), 60, &bytes));
    assert_eq!(read_icmp_v6(&answer).kind(), icmpv6::Kind::ECHO_REPLY);
    let mut bytes = vec![protocol::ICMPV6, 0, 5, 2, 0, 0, 1, 0];
    bytes.extend(ping_v6(PEER_V6, V6, b""));
    let answer = world.answer(&v6_frame(v6_header(PEER_V6, V6), protocol::HOP_BY_HOP, &bytes));
    assert_eq!(read_icmp_v6(&answer).kind(), icmpv6::Kind::ECHO_REPLY);
}

/// RFC 5927, section 7; RFC 8201, section 4: a router tells no length that no link has, and what is
/// told about a flow that there is not is forged.
#[test]
fn lengths_that_no_link_has_are_not_believed() {
    let mut world = World::acquainted();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    for remote in [IpAddr::V6(FAR_V6), FAR_V4.into()] {
        world.stack.udp_send(port, (remote, 9).into(), &[1; 1_400], world.now).unwrap();
    }
    let sent = world.drain();
    let too_big_v4 = |quoted: &[u8], next_hop_mtu: u16| {
        let mut bytes = [&[0; 8], quoted].concat();
        let code = icmpv4::unreachable::FRAGMENTATION_NEEDED;
        icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu }.emit(&mut bytes).unwrap();
        v4_frame(v4_header(GATEWAY_V4, V4), 1, &bytes)
    };
    for mtu in [0, 1, 68, 1_279] {
        world.drops(&too_big_v6(V6, &sent[0][14..], Some(mtu)), Dropped::IcmpMalformed);
    }
    for mtu in [1, 67] {
        world.drops(&too_big_v4(&sent[1][14..], mtu), Dropped::IcmpMalformed);
    }
    for remote in [IpAddr::V6(FAR_V6), FAR_V4.into()] {
        assert_eq!(world.stack.path_mtu(remote, world.now), 1_500);
    }
    // What is told about a ping: this host sends none.
    let ping = v4_packet(v4_header(V4, FAR_V4), 1, &ping_v4(b"ping"));
    world.drops(&too_big_v4(&ping, 600), Dropped::IcmpErrorForged);
    let ping = v6_packet(v6_header(V6, FAR_V6), 58, &ping_v6(V6, FAR_V6, b"ping"));
    world.drops(&too_big_v6(V6, &ping, Some(1_300)), Dropped::IcmpErrorForged);
    // The least that there is, and not below what all paths take today.
    world.hear(&too_big_v6(V6, &sent[0][14..], Some(1_280)));
    world.hear(&too_big_v4(&sent[1][14..], 68));
    assert_eq!(world.stack.path_mtu(FAR_V6.into(), world.now), 1_280);
    assert_eq!(world.stack.path_mtu(FAR_V4.into(), world.now), 552);
}

/// To which hardware address a datagram goes.
fn hardware(world: &mut World, port: portolan_stack::UdpId, to: IpAddr) -> Option<Address> {
    world.stack.udp_send(port, (to, 9).into(), b"where?", world.now).unwrap();
    let frames = world.drain();
    let frame = frames.iter().find(|frame| frame.ends_with(b"where?"))?;
    Some(Address(frame[..6].try_into().unwrap()))
}

fn unasked(target: Ipv6Addr, mac: Address, overrides: bool) -> Vec<u8> {
    let said =
        ndp::NeighborAdvertisement { target, is_router: false, is_solicited: false, overrides };
    let option = ndp::Option_::TargetLinkLayerAddress(mac);
    let all = "ff02::1".parse().unwrap();
    ndp_frame(ndp::Message::NeighborAdvertisement(said), &[option], target, all)
}

/// RFC 4861, section 7.2.5 and appendix C; RFC 5227, section 2.4: what nobody asked for makes no
/// entry, changes a known one only where it says that it replaces it, and is then asked after.
#[test]
fn what_nobody_asked_for_is_believed_only_of_known_neighbours() {
    let mut world = World::acquainted();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let strange: Ipv6Addr = "2001:db8::77".parse().unwrap();
    world.drops(&unasked(strange, EVIL_MAC, true), Dropped::NdpNotForUs);
    assert_eq!(hardware(&mut world, port, strange.into()), None, "it is asked for");
    let announced = Ipv4Addr::new(192, 0, 2, 77);
    world.drops(&arp_frame(request(announced, EVIL_MAC, announced)), Dropped::ArpNotForUs);
    let reply = arp::Repr { operation: arp::Operation::Reply, ..request(announced, EVIL_MAC, V4) };
    world.drops(&arp_frame(reply), Dropped::ArpNotForUs);
    assert_eq!(hardware(&mut world, port, announced.into()), None, "it is asked for");
    // Known ones.
    world.hear(&unasked(PEER_V6, EVIL_MAC, false));
    assert_eq!(hardware(&mut world, port, PEER_V6.into()), Some(PEER_MAC));
    world.hear(&unasked(PEER_V6, EVIL_MAC, true));
    assert_eq!(hardware(&mut world, port, PEER_V6.into()), Some(EVIL_MAC));
    let before = world.counters().noted(Noted::Solicitation);
    world.after(Duration::from_secs(5));
    assert!(world.counters().noted(Noted::Solicitation) > before, "the neighbour is asked");
    // The right one answers, and is believed again.
    world.hear(&advertisement(PEER_V6, PEER_MAC, V6));
    assert_eq!(hardware(&mut world, port, PEER_V6.into()), Some(PEER_MAC));
}

/// RFC 6583: addresses of which nobody has most are asked for, by us or because of packets that
/// somebody sends in their name.
/// RFC 6583, section 6.2.
#[test]
fn a_scan_neither_drives_out_neighbours_nor_asks_without_end() {
    let mut settings = config();
    settings.limits.neighbors = 64;
    let mut world = World::with(settings);
    world.introduce();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    assert_eq!(hardware(&mut world, port, PEER_V6.into()), Some(PEER_MAC));
    let before = world.counters().noted(Noted::Solicitation);
    for which in 0..10_000_u16 {
        let to = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 9, which);
        let _ = world.stack.udp_send(port, (IpAddr::V6(to), 9).into(), b"scan", world.now);
        world.drain();
    }
    let asked = world.counters().noted(Noted::Solicitation) - before;
    assert_eq!(asked, 32, "half of the table");
    assert!(world.unsent(Unsent::NeighborsFull) >= 10_000 - 64, "{:?}", world.reasons());
    assert_eq!(hardware(&mut world, port, PEER_V6.into()), Some(PEER_MAC), "still known");
}

/// RFC 4861, section 7.2.4: a neighbour that asks from an address of another network is on this
/// link all the same, and no gateway knows him.
#[test]
fn who_asks_from_another_network_is_answered_where_he_is() {
    let mut world = World::acquainted();
    let frame = world.answer(&solicitation(FAR_V6, V6, Some(EVIL_MAC)));
    let (ethernet, packet) = read_v6(&frame);
    assert_eq!((ethernet.destination(), packet.destination()), (EVIL_MAC, FAR_V6));
    // Nor does he get an entry by that.
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    assert_eq!(hardware(&mut world, port, FAR_V6.into()), Some(PEER_MAC), "by the gateway");
}
