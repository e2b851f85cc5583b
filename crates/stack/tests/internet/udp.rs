//! Datagrams.

use std::net::IpAddr;

use portolan_stack::{Checksum, Delivered, Dropped, Event, Received, UdpError};
use portolan_wire::{protocol, udp};

use crate::world::*;

fn to(destination: IpAddr, port: u16, payload: &[u8]) -> Vec<u8> {
    match destination {
        IpAddr::V4(to) => {
            let bytes = datagram(PEER_V4.into(), destination, port, payload);
            v4_frame(v4_header(PEER_V4, to), protocol::UDP, &bytes)
        }
        IpAddr::V6(to) => {
            let bytes = datagram(PEER_V6.into(), destination, port, payload);
            v6_frame(v6_header(PEER_V6, to), protocol::UDP, &bytes)
        }
    }
}

#[test]
fn datagrams_arrive_in_order_and_are_told_once() {
    let mut world = World::acquainted();
    let port = world.stack.udp_bind(None, 53).unwrap();
    world.hear(&to(V4.into(), 53, b"one"));
    world.hear(&to(V6.into(), 53, b"second"));
    assert_eq!(world.stack.poll_event(), Some(Event::Udp(port)));
    assert_eq!(world.stack.poll_event(), None);
    let mut buffer = [0; 4];
    let one = Received { source: (PEER_V4, 4_000).into(), destination: V4.into(), len: 3 };
    assert_eq!(world.stack.udp_receive(port, &mut buffer), Ok(Some(one)));
    assert_eq!(&buffer, b"one\0");
    // What does not fit is lost, and the length says so.
    let two = Received { source: (PEER_V6, 4_000).into(), destination: V6.into(), len: 6 };
    assert_eq!(world.stack.udp_receive(port, &mut buffer), Ok(Some(two)));
    assert_eq!(&buffer, b"seco");
    assert_eq!(world.stack.udp_receive(port, &mut buffer), Ok(None));
    world.hear(&to(V4.into(), 53, b""));
    assert_eq!(world.stack.poll_event(), Some(Event::Udp(port)));
    assert_eq!(world.delivered(Delivered::Udp), 3);
}

#[test]
fn a_port_of_one_address_comes_before_that_of_all() {
    let mut world = World::acquainted();
    let all = world.stack.udp_bind(None, 53).unwrap();
    let one = world.stack.udp_bind(Some(V4.into()), 53).unwrap();
    assert_eq!(world.stack.udp_bind(None, 53), Err(UdpError::InUse(53)));
    assert_eq!(world.stack.udp_bind(Some(FAR_V4.into()), 1), Err(UdpError::NotOwn(FAR_V4.into())));
    world.hear(&to(V4.into(), 53, b"one"));
    assert_eq!(world.stack.poll_event(), Some(Event::Udp(one)));
    world.stack.udp_unbind(one).unwrap();
    assert_eq!(world.stack.udp_receive(one, &mut []), Err(UdpError::Closed));
    world.hear(&to(V4.into(), 53, b"two"));
    assert_eq!(world.stack.poll_event(), Some(Event::Udp(all)));
    // The place is used again, the handle is not.
    let again = world.stack.udp_bind(Some(V4.into()), 53).unwrap();
    assert_ne!(again, one);
    assert_eq!(world.stack.udp_unbind(one), Err(UdpError::Closed));
}

#[test]
fn a_slow_reader_costs_a_bounded_queue() {
    let mut settings = config();
    settings.limits.udp_queue_bytes = 10_000;
    let mut world = World::with(settings);
    world.stack.udp_bind(None, 53).unwrap();
    for _ in 0..100 {
        world.hear(&to(V4.into(), 53, &[0; 872]));
    }
    assert_eq!((world.delivered(Delivered::Udp), world.dropped(Dropped::UdpQueueFull)), (10, 90));
}

#[test]
fn checksums_are_looked_at_unless_the_device_did() {
    let mut world = World::acquainted();
    world.stack.udp_bind(None, 53).unwrap();
    let mut frame = to(V4.into(), 53, b"data");
    *frame.last_mut().unwrap() ^= 1;
    world.drops(&frame, Dropped::UdpChecksum);
    world.stack.handle_frame(&frame, Checksum::Verified, world.now, &mut |_, _| 0);
    assert_eq!(world.delivered(Delivered::Udp), 1);
    // Over IPv4 there need not be one, over IPv6 there must.
    let mut frame = to(V4.into(), 53, b"data");
    frame[14 + 20 + 6..14 + 20 + 8].fill(0);
    world.hear(&frame);
    assert_eq!(world.delivered(Delivered::Udp), 2);
    let mut frame = to(V6.into(), 53, b"data");
    frame[14 + 40 + 6..14 + 40 + 8].fill(0);
    world.drops(&frame, Dropped::UdpChecksum);
    world.stack.handle_frame(&frame, Checksum::Verified, world.now, &mut |_, _| 0);
    assert_eq!(world.dropped(Dropped::UdpChecksum), 3);
}

#[test]
fn what_is_sent_is_right() {
    let mut world = World::acquainted();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    for (remote, local) in [(IpAddr::V4(PEER_V4), IpAddr::V4(V4)), (PEER_V6.into(), V6.into())] {
        world.stack.udp_send(port, (remote, 9).into(), b"hello", world.now).unwrap();
        let frame = world.drain().remove(0);
        let payload = match remote {
            IpAddr::V4(_) => read_v4(&frame).1.payload(),
            IpAddr::V6(_) => read_v6(&frame).1.payload(),
        };
        let packet = udp::Packet::parse(payload).unwrap();
        assert_eq!((packet.source_port(), packet.destination_port()), (5_000, 9));
        assert_eq!(packet.payload(), b"hello");
        assert_eq!(packet.check(local, remote), portolan_wire::Check::Right);
    }
}

#[test]
fn groups_and_all_are_reached() {
    let mut world = World::new();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let groups = ["255.255.255.255", "192.0.2.255", "224.0.0.251", "ff02::fb"];
    let macs: Vec<String> = groups
        .iter()
        .map(|group| {
            let group: IpAddr = group.parse().unwrap();
            world.stack.udp_send(port, (group, 5_353).into(), b"", world.now).unwrap();
            let frame = world.drain().remove(0);
            portolan_wire::ethernet::Packet::parse(&frame).unwrap().destination().to_string()
        })
        .collect();
    let all = "ff:ff:ff:ff:ff:ff";
    assert_eq!(macs, [all, all, "01:00:5e:00:00:fb", "33:33:00:00:00:fb"]);
}

#[test]
fn what_cannot_be_sent_says_why() {
    let mut settings = config();
    settings.addresses.truncate(1);
    settings.routes.clear();
    settings.limits.outbox_packets = 16;
    let mut world = World::with(settings);
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let mut send =
        |to: IpAddr, len| world.stack.udp_send(port, (to, 9).into(), &vec![0; len], world.now);
    for far in [IpAddr::V4(FAR_V4), V6.into(), "127.0.0.1".parse().unwrap()] {
        assert_eq!(send(far, 1), Err(UdpError::NoRoute(far)));
    }
    let too_long = UdpError::TooLong { max: 65_507, found: 65_508 };
    assert_eq!(send(PEER_V4.into(), 65_508), Err(too_long));
    for _ in 0..12 {
        assert_eq!(send(PEER_V4.into(), 1), Ok(()));
    }
    assert_eq!(send(PEER_V4.into(), 1), Err(UdpError::Busy));
}

#[test]
fn any_port_is_one_of_the_ephemeral() {
    let mut world = World::new();
    let mut ports: Vec<u16> = (0..100)
        .map(|_| {
            let id = world.stack.udp_bind(None, 0).unwrap();
            world.stack.udp_local(id).unwrap().1
        })
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 100);
    assert!(ports[0] >= 49_152);
    assert!(ports.windows(2).any(|pair| pair[1] - pair[0] > 1), "they are random");
}

#[test]
fn the_longest_datagram_goes_and_comes_back() {
    let mut here = World::acquainted();
    let port = here.stack.udp_bind(None, 5_000).unwrap();
    let data: Vec<u8> = (0..65_507_u32).map(|at| (at / 7) as u8).collect();
    here.stack.udp_send(port, (PEER_V4, 9).into(), &data, here.now).unwrap();
    let frames = here.drain();
    assert_eq!(frames.len(), 65_515_usize.div_ceil(1_480));
    // The peer is a stack like this one.
    let mut settings = config();
    settings.mac = PEER_MAC.0;
    settings.addresses = vec!["192.0.2.2/24".parse().unwrap()];
    settings.routes.clear();
    let mut there = World::with(settings);
    let reader = there.stack.udp_bind(None, 9).unwrap();
    frames.iter().for_each(|frame| there.hear(frame));
    let mut buffer = vec![0; 65_535];
    let received = there.stack.udp_receive(reader, &mut buffer).unwrap().unwrap();
    assert_eq!(received.len, data.len());
    assert!(buffer.starts_with(&data));
}
