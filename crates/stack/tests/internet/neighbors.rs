//! ARP and neighbour discovery.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use portolan_stack::{Conflict, Delivered, Dropped, DuplicateDetection, Event, Noted, Unsent};
use portolan_wire::{
    arp,
    ethernet::{self, Address, EtherType},
    ipv6, ndp,
    ndp::Option_,
};

use crate::world::*;

fn read_arp(frame: &[u8]) -> (Address, arp::Repr) {
    let frame = ethernet::Packet::parse(frame).unwrap();
    assert_eq!(frame.ethertype(), EtherType::ARP);
    (frame.destination(), arp::Packet::parse(frame.payload()).unwrap().repr())
}

fn read_ndp(frame: &[u8]) -> (Address, ipv6::Repr, ndp::Message, Option<Address>) {
    let (link, packet) = read_v6(frame);
    let message = read_icmp_v6(frame);
    let message = ndp::Packet::parse(&message).unwrap();
    message.check_carrier(&packet).unwrap();
    let hardware = message.options().find_map(|option| match option {
        Option_::SourceLinkLayerAddress(mac) | Option_::TargetLinkLayerAddress(mac) => Some(mac),
        _ => None,
    });
    (link.destination(), packet.repr(), message.message(), hardware)
}

/// RFC 5227, section 2.3.
#[test]
fn addresses_are_announced_at_the_start() {
    let mut world = World::fresh(config());
    assert_eq!(world.stack.poll_timeout(), Some(world.now));
    world.after(Duration::ZERO);
    let frames = world.drain();
    assert_eq!(frames.len(), 3);
    let (to, repr) = read_arp(&frames[0]);
    assert_eq!(to, Address::BROADCAST);
    assert_eq!((repr.sender_protocol, repr.target_protocol), (V4, V4));
    for (frame, own) in [(&frames[1], V6), (&frames[2], LOCAL_V6)] {
        let (_, header, message, mac) = read_ndp(frame);
        assert_eq!(header.source, own);
        assert_eq!(mac, Some(MAC));
        let ndp::Message::NeighborAdvertisement(said) = message else { panic!("{message:?}") };
        assert!(said.overrides && !said.is_solicited && said.target == own);
    }
    world.after(Duration::from_secs(2));
    assert_eq!(world.drain().len(), 3);
    assert_eq!(world.stack.poll_timeout(), None, "it rests");
}

/// RFC 826, packet reception.
#[test]
fn a_request_for_our_address_is_answered_and_nothing_else_is() {
    let mut world = World::new();
    let (to, reply) = read_arp(&world.answer(&arp_frame(request(PEER_V4, PEER_MAC, V4))));
    assert_eq!(to, PEER_MAC);
    let expected = arp::Repr {
        operation: arp::Operation::Reply,
        sender_hardware: MAC,
        sender_protocol: V4,
        target_hardware: PEER_MAC,
        target_protocol: PEER_V4,
    };
    assert_eq!(reply, expected);
    let other = request(FAR_V4, PEER_MAC, GATEWAY_V4);
    world.drops(&arp_frame(other), Dropped::ArpNotForUs);
    let group = request(PEER_V4, Address::BROADCAST, V4);
    world.drops(&arp_frame(group), Dropped::ArpSender);
    world.drops(
        &arp_frame(request("192.0.2.255".parse().unwrap(), PEER_MAC, V4)),
        Dropped::ArpSender,
    );
}

/// RFC 826, packet generation.
#[test]
fn a_packet_waits_for_arp_and_then_goes() {
    let mut world = World::new();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let to = (PEER_V4, 9).into();
    world.stack.udp_send(port, to, b"one", world.now).unwrap();
    world.stack.udp_send(port, to, b"two", world.now).unwrap();
    let frames = world.drain();
    assert_eq!(frames.len(), 1, "one question");
    let (to, question) = read_arp(&frames[0]);
    assert_eq!((to, question.target_protocol), (Address::BROADCAST, PEER_V4));
    let reply = arp::Repr {
        operation: arp::Operation::Reply,
        sender_hardware: PEER_MAC,
        sender_protocol: PEER_V4,
        target_hardware: MAC,
        target_protocol: V4,
    };
    let frames = world.answers(&arp_frame(reply));
    assert_eq!(frames.len(), 2);
    for (frame, data) in frames.iter().zip([b"one", b"two"]) {
        let (link, packet) = read_v4(frame);
        assert_eq!(link.destination(), PEER_MAC);
        assert!(packet.payload().ends_with(data));
    }
    assert_eq!(world.stack.poll_timeout(), None);
}

/// RFC 4861, section 7.2.2.
#[test]
fn a_packet_waits_for_neighbour_discovery_and_then_goes() {
    let mut world = World::new();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    world.stack.udp_send(port, (PEER_V6, 9).into(), b"one", world.now).unwrap();
    let frames = world.drain();
    let (to, header, message, mac) = read_ndp(&frames[0]);
    assert_eq!(to, Address::of_multicast_v6(ndp::solicited_node(PEER_V6)));
    assert_eq!((header.source, mac), (V6, Some(MAC)));
    assert_eq!(message, ndp::Message::NeighborSolicitation { target: PEER_V6 });
    let frame = world.answer(&advertisement(PEER_V6, PEER_MAC, V6));
    let (link, packet) = read_v6(&frame);
    assert_eq!((link.destination(), packet.destination()), (PEER_MAC, PEER_V6));
}

/// RFC 4861, section 7.2.2.
#[test]
fn who_does_not_answer_is_asked_three_times_and_then_left() {
    for remote in [(PEER_V4, 9).into(), (PEER_V6, 9).into()] {
        let mut world = World::new();
        let port = world.stack.udp_bind(None, 5_000).unwrap();
        world.stack.udp_send(port, remote, b"one", world.now).unwrap();
        let mut asked = world.drain().len();
        for _ in 0..5 {
            world.after(Duration::from_secs(1));
            asked += world.drain().len();
        }
        assert_eq!(asked, 3);
        assert_eq!(world.counters().noted(Noted::NeighborFailed), 1);
        assert_eq!(world.stack.poll_event(), Some(Event::Udp(port)));
        let failure = world.stack.udp_failure(port).unwrap().unwrap();
        assert_eq!(failure.remote, remote);
        assert_eq!(world.stack.poll_timeout(), None);
    }
}

#[test]
fn for_a_second_after_that_packets_fail_at_once() {
    let mut world = World::new();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let remote = (PEER_V4, 9).into();
    world.stack.udp_send(port, remote, b"one", world.now).unwrap();
    world.drain();
    for _ in 0..3 {
        world.after(Duration::from_secs(1));
        world.drain();
    }
    world.stack.udp_send(port, remote, b"two", world.now).unwrap();
    assert!(world.drain().is_empty());
    assert_eq!(world.unsent(Unsent::NeighborSilent), 2);
    world.after(Duration::from_secs(1));
    world.stack.udp_send(port, remote, b"three", world.now).unwrap();
    assert_eq!(world.drain().len(), 1, "it is asked again");
}

/// RFC 4861, section 7.3.
#[test]
fn a_neighbour_in_use_is_asked_again_alone() {
    let mut world = World::acquainted();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    // What was heard from it is too old to be sure.
    world.after(Duration::from_secs(30));
    for remote in [(PEER_V4, 9).into(), (PEER_V6, 9).into()] {
        world.stack.udp_send(port, remote, b"one", world.now).unwrap();
        assert_eq!(world.drain().len(), 1, "it goes at once");
    }
    world.after(Duration::from_secs(5));
    let frames = world.drain();
    let mut probes: Vec<Address> =
        frames.iter().map(|frame| ethernet::Packet::parse(frame).unwrap().destination()).collect();
    probes.sort();
    assert_eq!(probes, [PEER_MAC; 2]);
    world.hear(&advertisement(PEER_V6, PEER_MAC, V6));
    let reply = arp::Repr { operation: arp::Operation::Reply, ..request(PEER_V4, PEER_MAC, V4) };
    world.hear(&arp_frame(reply));
    assert_eq!(world.stack.poll_timeout(), None, "both answered");
}

/// RFC 4861, section 7.2.4.
#[test]
fn a_solicitation_is_answered() {
    let mut world = World::new();
    let frame = world.answer(&solicitation(PEER_V6, V6, Some(PEER_MAC)));
    let (to, header, message, mac) = read_ndp(&frame);
    assert_eq!((to, header.destination, mac), (PEER_MAC, PEER_V6, Some(MAC)));
    let ndp::Message::NeighborAdvertisement(said) = message else { panic!("{message:?}") };
    assert!(said.is_solicited && said.overrides && !said.is_router);
    // One that looks for duplicates has no address yet.
    let frame = world.answer(&solicitation(Ipv6Addr::UNSPECIFIED, V6, None));
    let (_, header, message, _) = read_ndp(&frame);
    let ndp::Message::NeighborAdvertisement(said) = message else { panic!("{message:?}") };
    assert!(header.destination.is_multicast() && !said.is_solicited);
    assert_eq!(world.delivered(Delivered::Ndp), 2);
}

/// RFC 4861, section 7.1.
/// RFC 6980, section 5.
#[test]
fn forged_discovery_is_dropped() {
    let mut world = World::new();
    // From beyond a router.
    let mut far = solicitation(PEER_V6, V6, Some(PEER_MAC));
    far[14 + 7] = 254;
    world.drops(&far, Dropped::NdpMalformed);
    // RFC 6980: in a fragment.
    let inner = solicitation(PEER_V6, V6, Some(PEER_MAC));
    let (_, packet) = {
        let frame = ethernet::Packet::parse(&inner).unwrap();
        ((), ipv6::Packet::parse(frame.payload()).unwrap())
    };
    let mut last = vec![58, 0, 0, 8, 0, 0, 0, 9];
    let mut first = vec![58, 0, 0, 1, 0, 0, 0, 9];
    let bytes = packet.payload();
    first.extend_from_slice(&bytes[..8]);
    last.extend_from_slice(&bytes[8..]);
    let header = ipv6::Repr { hop_limit: 255, ..v6_header(PEER_V6, packet.destination()) };
    world.hear(&v6_frame(header, 44, &first));
    world.drops(&v6_frame(header, 44, &last), Dropped::NdpMalformed);
    // What nobody asked for.
    world.drops(&advertisement(PEER_V6, PEER_MAC, V6), Dropped::NdpNotForUs);
    let redirect = ndp::Message::Redirect { target: GATEWAY_V6, destination: FAR_V6 };
    world.drops(&ndp_frame(redirect, &[], GATEWAY_V6, V6), Dropped::Redirect);
}

/// RFC 5227, section 2.1.
/// RFC 4862, section 5.4.
#[test]
fn a_duplicate_is_found_before_the_address_is_used() {
    let mut settings = config();
    settings.duplicates = DuplicateDetection::Full;
    let mut world = World::fresh(settings);
    world.after(Duration::ZERO);
    let probes = world.drain();
    assert_eq!(probes.len(), 3);
    let (_, probe) = read_arp(&probes[0]);
    assert!(probe.sender_protocol.is_unspecified() && probe.target_protocol == V4);
    let (_, header, message, mac) = read_ndp(&probes[1]);
    assert!(header.source.is_unspecified() && mac.is_none());
    assert_eq!(message, ndp::Message::NeighborSolicitation { target: V6 });
    assert_eq!(world.stack.addresses().count(), 0);
    // Nobody may use them yet.
    world.drops(
        &v6_frame(v6_header(PEER_V6, V6), 58, &ping_v6(PEER_V6, V6, b"")),
        Dropped::IpDestination,
    );
    // Nor is who asks for one a rival, unless he has none himself.
    world.drops(&solicitation(PEER_V6, V6, Some(PEER_MAC)), Dropped::NdpNotForUs);
    // Our own frames come back from some switches.
    let mut own = probes[1].clone();
    world.drops(&own, Dropped::EthernetSource);
    own[6..12].copy_from_slice(&PEER_MAC.0);
    world.drops(&own, Dropped::NdpConflict);
    let reply = arp::Repr { operation: arp::Operation::Reply, ..request(V4, PEER_MAC, V4) };
    world.drops(&arp_frame(reply), Dropped::ArpConflict);
    let local = advertisement(LOCAL_V6, PEER_MAC, "ff02::1".parse().unwrap());
    world.drops(&local, Dropped::NdpConflict);
    let event = world.stack.poll_event();
    let Some(Event::AddressConflict(conflict)) = event else { panic!("{event:?}") };
    assert_eq!((conflict.hardware, conflict.is_lost), (PEER_MAC.0, true));
    for _ in 0..10 {
        world.after(Duration::from_secs(1));
        world.drain();
    }
    assert_eq!(world.stack.addresses().count(), 0);
    assert_eq!(world.counters().noted(Noted::AddressDuplicate), 3);
}

/// RFC 5227, section 2.1.
#[test]
fn without_a_rival_addresses_are_used_after_a_while() {
    let mut settings = config();
    settings.duplicates = DuplicateDetection::Full;
    let mut world = World::fresh(settings);
    let mut frames = 0;
    while let Some(at) = world.stack.poll_timeout() {
        world.now = at;
        world.stack.handle_timeout(at);
        frames += world.drain().len();
    }
    assert_eq!(world.stack.addresses().count(), 3);
    assert_eq!(frames, 3 + 2 + 2 * (1 + 2), "three probes over IPv4, one over IPv6, two news each");
    assert!(world.now < portolan_stack::Instant::from_micros(10_000_000));
}

/// RFC 5227, section 2.4.
#[test]
fn an_address_in_use_is_defended_once_in_ten_seconds() {
    let mut world = World::new();
    let rival = arp_frame(request(V4, PEER_MAC, PEER_V4));
    assert_eq!(world.answers(&rival).len(), 1);
    let conflict = Conflict { address: V4.into(), hardware: PEER_MAC.0, is_lost: false };
    assert_eq!(world.stack.poll_event(), Some(Event::AddressConflict(conflict)));
    assert_eq!(world.answers(&rival).len(), 0);
    world.after(Duration::from_secs(10));
    assert_eq!(world.answers(&rival).len(), 1);
    assert!(world.stack.addresses().any(|own| own == V4));
}

/// RFC 6583, section 6.2.
#[test]
fn strangers_do_not_fill_the_table() {
    let mut settings = config();
    settings.limits.neighbors = 64;
    let mut world = World::with(settings);
    world.introduce();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    world.stack.udp_send(port, (PEER_V4, 9).into(), b"one", world.now).unwrap();
    assert_eq!(world.drain().len(), 1);
    for which in 0..10_000_u16 {
        let [high, low] = which.to_be_bytes();
        let source = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 1, u16::from(high), u16::from(low));
        world.hear(&solicitation(source, V6, Some(PEER_MAC)));
        // And some that cause an answer.
        let source = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 2, u16::from(high), u16::from(low));
        world.hear(&v6_frame(v6_header(source, V6), 58, &ping_v6(source, V6, b"")));
        world.drain();
    }
    assert!(world.unsent(Unsent::NeighborsFull) > 9_000);
    // The one that was in use is still known.
    world.stack.udp_send(port, (PEER_V4, 9).into(), b"two", world.now).unwrap();
    let frames = world.drain();
    assert_eq!(frames.len(), 1);
    assert_eq!(read_v4(&frames[0]).0.destination(), PEER_MAC);
}

fn optimistic() -> World {
    let mut settings = config();
    settings.duplicates = DuplicateDetection::Optimistic;
    World::fresh(settings)
}

/// RFC 4429, sections 3.2 and 3.3.
#[test]
fn an_optimistic_address_is_used_while_it_is_asked_for() {
    let mut world = optimistic();
    world.after(Duration::ZERO);
    let probes = world.drain();
    assert_eq!(probes.len(), 3, "of each address, and nothing is announced yet");
    assert!(read_arp(&probes[0]).1.sender_protocol.is_unspecified());
    assert!(probes[1..].iter().all(|probe| read_ndp(probe).1.source.is_unspecified()));
    assert_eq!(world.stack.addresses().count(), 3);
    let overrides = |frame: &[u8]| match read_ndp(frame).2 {
        ndp::Message::NeighborAdvertisement(said) => said.overrides,
        message => panic!("{message:?}"),
    };
    // Whoever asks is answered, so that nothing waits; but nobody is to forget another host.
    let answer = world.answer(&solicitation(PEER_V6, V6, Some(PEER_MAC)));
    assert!(!overrides(&answer));
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let strange: Ipv6Addr = "2001:db8::77".parse().unwrap();
    world.stack.udp_send(port, (strange, 9).into(), b"early", world.now).unwrap();
    let (.., message, mac) = read_ndp(&world.drain()[0]);
    assert_eq!(message, ndp::Message::NeighborSolicitation { target: strange });
    assert_eq!(mac, None);
    world.after(Duration::from_secs(1));
    let news = world.drain();
    let is_news = |frame: &&Vec<u8>| match frame[12..14] == [8, 6] {
        true => read_arp(frame).1.sender_protocol == V4,
        false => matches!(read_ndp(frame).2, ndp::Message::NeighborAdvertisement(_)),
    };
    assert_eq!(news.iter().filter(is_news).count(), 3, "each address is announced");
    let answer = world.answer(&solicitation(PEER_V6, V6, Some(PEER_MAC)));
    assert!(overrides(&answer));
}

/// RFC 4862, section 5.4.4; RFC 5227, section 2.1.1.
/// RFC 4429, section 3.3.
#[test]
fn an_optimistic_address_that_another_host_has_is_given_up() {
    let rivals: [(IpAddr, Vec<u8>); 4] = [
        (V4.into(), {
            let reply = arp::Operation::Reply;
            arp_frame(arp::Repr { operation: reply, ..request(V4, PEER_MAC, V4) })
        }),
        // One that is about to use it, too.
        (V4.into(), arp_frame(request(Ipv4Addr::UNSPECIFIED, PEER_MAC, V4))),
        (V6.into(), advertisement(V6, PEER_MAC, "ff02::1".parse().unwrap())),
        (V6.into(), solicitation(Ipv6Addr::UNSPECIFIED, V6, None)),
    ];
    for (address, rival) in rivals {
        let mut world = optimistic();
        world.after(Duration::ZERO);
        world.drain();
        assert_eq!(world.answers(&rival).len(), 0);
        let conflict = Conflict { address, hardware: PEER_MAC.0, is_lost: true };
        assert_eq!(world.stack.poll_event(), Some(Event::AddressConflict(conflict)));
        assert!(world.stack.addresses().all(|own| own != address));
        // Later ones do not hide it, and once it is settled it is defended.
        let mut world = optimistic();
        for _ in 0..4 {
            world.after(Duration::from_secs(2));
            world.drain();
        }
        world.hear(&rival);
        assert!(world.stack.addresses().any(|own| own == address), "{address} is kept");
    }
}

/// Of several stacks of a host one speaks; the others use the addresses all the same.
#[test]
fn a_stack_that_does_not_speak_is_silent_at_the_start() {
    for duplicates in
        [DuplicateDetection::Off, DuplicateDetection::Optimistic, DuplicateDetection::Full]
    {
        let settings = portolan_stack::Config { duplicates, speaks: false, ..config() };
        let mut world = World::fresh(settings);
        while let Some(at) = world.stack.poll_timeout() {
            world.now = at;
            world.stack.handle_timeout(at);
            assert_eq!(world.drain(), Vec::<Vec<u8>>::new());
        }
        assert_eq!(world.stack.addresses().count(), 3);
    }
}
