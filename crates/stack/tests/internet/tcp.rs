//! TCP through the stack: what leaves is framed right, and errors reach connections.

use std::{net::SocketAddr, time::Duration};

use portolan_stack::{
    Checksum, Dropped, Event, Unsent,
    tcp::{Error, Ready, Reason},
};
use portolan_wire::{icmpv4, protocol, tcp};

use crate::{pair::*, world::*};

fn remotes() -> [SocketAddr; 2] {
    [(PEER_V4, 80).into(), (PEER_V6, 80).into()]
}

/// RFC 9293, MUST-44.
#[test]
fn connections_carry_data_both_ways() {
    for remote in remotes() {
        // Without news for all on the link.
        let mut pair = Pair::new(|settings| settings.speaks = false);
        let (one, other) = pair.connect(remote);
        let data: Vec<u8> = (0..200_000_u32).map(|at| (at / 3) as u8).collect();
        let (mut written, mut read, mut buffer) = (0, Vec::new(), vec![0; 65_536]);
        while read.len() < data.len() {
            let now = pair.now;
            written += pair.here.tcp().write(one, &data[written..], now).unwrap();
            pair.run_until(now + Duration::from_millis(50));
            let len = pair.there.tcp().read(other, &mut buffer, pair.now).unwrap();
            read.extend_from_slice(&buffer[..len]);
        }
        assert_eq!(read, data);
        let now = pair.now;
        pair.there.tcp().write(other, b"thanks", now).unwrap();
        pair.run();
        assert_eq!(pair.here.tcp().read(one, &mut buffer, now), Ok(6));
        assert_eq!(pair.here.counters().dropped_total(), 0);
    }
}

#[test]
fn a_device_with_offloads_gets_large_segments() {
    for remote in remotes() {
        let mut settings = config();
        settings.offloads.checksum = true;
        settings.offloads.segment_bytes_max = 65_000;
        let mut world = World::with(settings);
        world.introduce();
        // The other end is written by hand, as nobody here cuts segments.
        let id = world.stack.connect(remote, world.now).unwrap();
        let syn = world.drain().remove(0);
        let is_v6 = remote.is_ipv6();
        let header_len = 14 + if is_v6 { 40 } else { 20 };
        let syn = tcp::Packet::parse(&syn[header_len..]).unwrap().repr();
        let answer = tcp::Repr {
            source_port: syn.destination_port,
            destination_port: syn.source_port,
            acknowledgment: syn.sequence + 1,
            flags: tcp::Flags::SYN | tcp::Flags::ACK,
            window: 65_535,
            options: tcp::Options { window_scale: Some(7), mss: Some(1_400), ..Default::default() },
            ..syn
        };
        let local = if is_v6 { V6.into() } else { V4.into() };
        let mut bytes = vec![0; answer.header_len()];
        answer.emit(&mut bytes, remote.ip(), local).unwrap();
        let frame = match is_v6 {
            true => v6_frame(v6_header(PEER_V6, V6), protocol::TCP, &bytes),
            false => v4_frame(v4_header(PEER_V4, V4), protocol::TCP, &bytes),
        };
        world.hear(&frame);
        world.drain();
        assert_eq!(world.stack.tcp().write(id, &[5; 60_000], world.now), Ok(60_000));
        let mut buffer = vec![0; 66_000];
        let departure = world.stack.poll_transmit(world.now, &mut buffer).unwrap();
        let cut = departure.segmentation.expect("it is too large");
        assert_eq!((cut.payload, cut.ipv6, cut.ecn), (1_400, is_v6, false));
        assert_eq!(usize::from(cut.header_len), header_len + 20);
        let payload_len = departure.len - header_len - 20;
        assert!(payload_len > 1_400 && payload_len.is_multiple_of(1_400), "{departure:?}");
        let checksum = departure.checksum.unwrap();
        assert_eq!(usize::from(checksum.start), header_len);
        assert_eq!(checksum.offset, checksum.start + 16);
        let frame = &buffer[..departure.len];
        let payload = if is_v6 { read_v6(frame).1.payload() } else { read_v4(frame).1.payload() };
        let segment = tcp::Packet::parse(payload).unwrap();
        assert_eq!(segment.check(local, remote.ip()), portolan_wire::Check::Partial);
        assert!(segment.payload().iter().all(|byte| *byte == 5));
    }
}

#[test]
fn a_closed_port_refuses() {
    for remote in remotes() {
        let mut pair = Pair::new(|_| {});
        let id = pair.here.connect(remote, pair.now).unwrap();
        pair.run();
        let told = events(&mut pair.here);
        assert!(
            matches!(told[..], [Event::Tcp(portolan_stack::tcp::Event::Connection { ready, .. })]
                if ready.contains(Ready::CLOSED)),
            "{told:?}"
        );
        let refused = Err(Error::Ended(Reason::Refused));
        assert_eq!(pair.here.tcp().read(id, &mut [0], pair.now), refused);
    }
}

/// RFC 9293, MUST-57.
#[test]
fn segments_to_many_are_dropped() {
    let mut world = World::acquainted();
    let all = "192.0.2.255".parse().unwrap();
    let frame = v4_packet(v4_header(PEER_V4, all), protocol::TCP, &[0; 20]);
    let ethertype = portolan_wire::ethernet::EtherType::IPV4;
    let frame = ethernet(portolan_wire::ethernet::Address::BROADCAST, ethertype, &frame);
    world.drops(&frame, Dropped::TcpNotUnicast);
}

/// RFC 9293, MUST-46.
#[test]
fn what_is_no_destination_is_refused() {
    let mut world = World::new();
    for to in
        ["192.0.2.255:80", "255.255.255.255:80", "[ff02::1]:80", "127.0.0.1:80", "192.0.2.1:80"]
    {
        let to = to.parse().unwrap();
        let refused = Err(Error::NotADestination(to));
        assert_eq!(world.stack.connect(to, world.now), refused);
    }
    let mut settings = config();
    settings.routes.clear();
    let mut world = World::with(settings);
    let far = (FAR_V4, 80).into();
    assert_eq!(world.stack.connect(far, world.now), Err(Error::NoRoute(FAR_V4.into())));
    let local = (FAR_V4, 1_000).into();
    let near = (PEER_V4, 80).into();
    let refused = Err(Error::NoRoute(FAR_V4.into()));
    assert_eq!(world.stack.connect_from(local, near, world.now), refused);
}

#[test]
fn a_path_that_takes_less_is_believed_for_what_is_on_its_way() {
    let mut pair = Pair::new(|_| {});
    let (one, _) = pair.connect((PEER_V4, 80).into());
    assert_eq!(pair.here.tcp().write(one, &[1; 3_000], pair.now), Ok(3_000));
    let mut buffer = vec![0; 1_514];
    let sent = pair.here.poll_transmit(pair.now, &mut buffer).unwrap();
    assert_eq!(sent.len, 1_514);
    let error = |sequence_bit: u8| {
        let mut bytes = [&[0; 8], &buffer[14..62]].concat();
        bytes[8 + 20 + 4] ^= sequence_bit;
        let code = icmpv4::unreachable::FRAGMENTATION_NEEDED;
        let repr = icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu: 1_000 };
        repr.emit(&mut bytes).unwrap();
        v4_frame(v4_header(GATEWAY_V4, V4), protocol::ICMPV4, &bytes)
    };
    let hear = |pair: &mut Pair, frame: &[u8]| {
        pair.here.handle_frame(frame, Checksum::Unknown, pair.now, &mut |_, _| 0);
        pair.here.path_mtu(PEER_V4.into(), pair.now)
    };
    assert_eq!(hear(&mut pair, &error(0x80)), 1_500);
    assert_eq!(pair.here.counters().dropped(Dropped::IcmpErrorForged), 1);
    assert_eq!(hear(&mut pair, &error(0)), 1_000);
    let mut again = vec![0; 1_514];
    let sent = pair.here.poll_transmit(pair.now, &mut again).unwrap();
    assert_eq!(sent.len, 1_014);
}

#[test]
fn a_neighbour_that_is_not_there_is_no_reset() {
    let mut world = World::new();
    let id = world.stack.connect((PEER_V4, 80).into(), world.now).unwrap();
    for _ in 0..12 {
        world.after(Duration::from_millis(500));
        world.drain();
    }
    assert!(world.unsent(Unsent::NeighborSilent) > 0);
    assert!(world.stack.tcp().info(id).is_ok());
}

/// RFC 826, packet generation: what waits for a neighbour's hardware address is not there twice,
/// although its timer has run out. Linux does not send again what has not left, either.
#[test]
fn a_segment_that_waits_for_its_neighbour_leaves_once() {
    for remote in remotes() {
        let mut world = World::new();
        world.stack.connect(remote, world.now).unwrap();
        for _ in 0..25 {
            world.after(Duration::from_millis(100));
            world.drain();
        }
        assert_eq!(world.stack.tcp().counters().timeouts, 0, "they are of SYN");
        assert!(world.stack.tcp().counters().segments_retransmitted >= 1);
        let answer = match remote.is_ipv6() {
            true => advertisement(PEER_V6, PEER_MAC, V6),
            false => arp_frame(portolan_wire::arp::Repr {
                operation: portolan_wire::arp::Operation::Reply,
                ..request(PEER_V4, PEER_MAC, V4)
            }),
        };
        let frames = world.answers(&answer);
        let syns = frames.iter().filter(|frame| {
            let len = 14 + if remote.is_ipv6() { 40 } else { 20 };
            tcp::Packet::parse(&frame[len..]).is_ok_and(|syn| syn.destination_port() == 80)
        });
        assert_eq!(syns.count(), 1, "{remote}");
        assert_eq!(world.unsent(Unsent::NeighborWaitingFull), 0);
    }
}

/// A segment is written where it belongs, whatever version the one before had: nothing behind a
/// frame is touched.
#[test]
fn a_segment_is_never_moved() {
    let mut pair = Pair::new(|_| {});
    let [v4, v6] = remotes();
    let ids = [v4, SocketAddr::new(v6.ip(), 81)].map(|remote| pair.connect(remote).0);
    for turn in 0..10 {
        let id = ids[usize::from(turn % 3 == 0)];
        pair.here.tcp().write(id, &[turn; 100], pair.now).unwrap();
        let mut buffer = vec![0xaa; 1_514];
        let sent = pair.here.poll_transmit(pair.now, &mut buffer).unwrap();
        assert!(buffer[sent.len - 100..sent.len].iter().all(|byte| *byte == turn));
        assert!(buffer[sent.len..].iter().all(|byte| *byte == 0xaa), "{turn}");
        pair.there.handle_frame(&buffer[..sent.len], Checksum::Unknown, pair.now, &mut |_, _| 0);
        pair.run();
    }
}
