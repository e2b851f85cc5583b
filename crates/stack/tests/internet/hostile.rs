//! Whatever arrives: no panic, bounded memory, and each frame is counted once.

use std::time::Duration;

use portolan_stack::{Checksum, Stack};
use portolan_wire::{arp, ethernet::EtherType, icmpv4, ipv4, ipv6, ndp, protocol, tcp};
use proptest::{collection::vec, prelude::*};

use crate::world::*;

/// Frames that are right, of every kind.
fn templates() -> Vec<Vec<u8>> {
    let udp_v4 = datagram(PEER_V4.into(), V4.into(), 53, &[3; 100]);
    let udp_v6 = datagram(PEER_V6.into(), V6.into(), 53, &[3; 100]);
    let closed = datagram(PEER_V6.into(), V6.into(), 54, &[3; 100]);
    let mut frames = vec![
        arp_frame(request(PEER_V4, PEER_MAC, V4)),
        arp_frame(arp::Repr { operation: arp::Operation::Reply, ..request(PEER_V4, PEER_MAC, V4) }),
        solicitation(PEER_V6, V6, Some(PEER_MAC)),
        advertisement(PEER_V6, PEER_MAC, V6),
        v4_frame(v4_header(PEER_V4, V4), protocol::ICMPV4, &ping_v4(&[1; 50])),
        v6_frame(v6_header(PEER_V6, V6), protocol::ICMPV6, &ping_v6(PEER_V6, V6, &[1; 50])),
        v4_frame(v4_header(PEER_V4, V4), protocol::UDP, &udp_v4),
        v6_frame(v6_header(PEER_V6, V6), protocol::UDP, &udp_v6),
        v6_frame(v6_header(PEER_V6, V6), protocol::UDP, &closed),
        v6_frame(v6_header(PEER_V6, V6), 60, &[58, 0, 0xbe, 4, 0, 0, 0, 0, 1, 2, 3, 4]),
        v6_frame(v6_header(PEER_V6, V6), 0, &[43, 0, 5, 2, 0, 0, 1, 0, 58, 0, 0, 0, 0, 0, 0, 0]),
    ];
    let said = ndp::RouterAdvertisement { lifetime_s: 60, ..Default::default() };
    let all = "ff02::1".parse().unwrap();
    frames.push(ndp_frame(ndp::Message::RouterAdvertisement(said), &[], GATEWAY_V6, all));
    for (offset, more) in [(0, true), (48, true), (96, false)] {
        let header =
            ipv4::Repr { fragment_offset: offset, more_fragments: more, ..v4_header(PEER_V4, V4) };
        let start = usize::from(offset);
        let part = &udp_v4[start..(start + 48).min(udp_v4.len())];
        frames.push(v4_frame(header, protocol::UDP, part));
        let fragment = ipv6::Fragment { offset, more_fragments: more, identification: 1 };
        let extension = ipv6::Extension::Fragment(fragment);
        let repr = ipv6::extension::Repr { next_header: protocol::UDP, extension };
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(&mut bytes).unwrap();
        bytes.extend_from_slice(&udp_v6[start..(start + 48).min(udp_v6.len())]);
        frames.push(v6_frame(v6_header(PEER_V6, V6), protocol::FRAGMENT, &bytes));
    }
    let syn = tcp::Repr {
        source_port: 1_000,
        destination_port: 80,
        sequence: portolan_wire::Seq(7),
        acknowledgment: portolan_wire::Seq(0),
        flags: tcp::Flags::SYN,
        window: 1_000,
        urgent_pointer: 0,
        options: tcp::Options { mss: Some(1_000), ..Default::default() },
    };
    let mut bytes = vec![0; syn.header_len()];
    syn.emit(&mut bytes, PEER_V4.into(), V4.into()).unwrap();
    frames.push(v4_frame(v4_header(PEER_V4, V4), protocol::TCP, &bytes));
    let sent = v4_packet(v4_header(V4, PEER_V4), protocol::TCP, &bytes);
    let mut error = [&[0; 8], &sent[..]].concat();
    let repr = icmpv4::Repr::DestinationUnreachable { code: 4, next_hop_mtu: 600 };
    repr.emit(&mut error).unwrap();
    frames.push(v4_frame(v4_header(GATEWAY_V4, V4), protocol::ICMPV4, &error));
    frames
}

/// What happens to a stack.
#[derive(Clone, Debug)]
enum Happening {
    /// Any bytes behind a header that is right.
    Noise {
        ethertype: u8,
        bytes: Vec<u8>,
    },
    /// A frame that is right but for some bytes, and perhaps cut; checksums are put right.
    Changed {
        which: usize,
        changes: Vec<(u16, u8)>,
        cut: Option<u16>,
        mended: bool,
    },
    Time(u32),
    Datagram(u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    let changes = vec((any::<u16>(), any::<u8>()), 0..4);
    let changed = (any::<usize>(), changes, proptest::option::weighted(0.2, any::<u16>()));
    prop_oneof![
        2 => (any::<u8>(), vec(any::<u8>(), 0..200))
            .prop_map(|(ethertype, bytes)| Happening::Noise { ethertype, bytes }),
        10 => (changed, any::<bool>()).prop_map(|((which, changes, cut), mended)| {
            Happening::Changed { which, changes, cut, mended }
        }),
        1 => (0..40_000_000_u32).prop_map(Happening::Time),
        1 => (0..9_000_u16).prop_map(Happening::Datagram),
    ]
}

/// Writes the checksums of an IPv4 header and of ICMP anew, so that changes get further.
fn mend(frame: &mut [u8]) {
    let fill = |bytes: &mut [u8], at: usize| {
        if bytes.len() >= at + 2 {
            bytes[at..at + 2].fill(0);
            let mut sum = portolan_wire::checksum::Sum::default();
            sum.add(bytes);
            bytes[at..at + 2].copy_from_slice(&sum.finish().to_be_bytes());
        }
    };
    if frame.len() < 34 || frame[12..14] != [8, 0] {
        return;
    }
    let header_len = usize::from(frame[14] & 0xf) * 4;
    let Some(header) = frame.get_mut(14..14 + header_len) else { return };
    fill(header, 10);
    let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    if frame[23] == protocol::ICMPV4
        && let Some(message) = frame.get_mut(14 + header_len..(14 + total).max(14 + header_len))
    {
        fill(message, 2);
    }
}

fn check(stack: &Stack) {
    let counters = stack.counters();
    let known = counters.delivered_total() + counters.dropped_total();
    assert_eq!(counters.frames_in, known, "each frame once");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_breaks_it(happenings in vec(happening(), 1..200)) {
        let mut settings = config();
        settings.discover_routers = true;
        settings.limits.neighbors = 16;
        settings.limits.reassembly_bytes = 20_000;
        settings.limits.udp_queue_bytes = 2_000;
        let mut world = World::with(settings);
        let port = world.stack.udp_bind(None, 53).unwrap();
        world.stack.tcp().listen(None, 80, 4).unwrap();
        let templates = templates();
        let mut frames = world.counters().frames_in;
        for happening in happenings {
            match happening {
                Happening::Noise { ethertype, bytes } => {
                    let types = [EtherType::IPV4, EtherType::IPV6, EtherType::ARP, EtherType::VLAN];
                    let frame = ethernet(MAC, types[usize::from(ethertype) % 4], &bytes);
                    world.hear(&frame);
                    world.hear(&bytes);
                    frames += 2;
                }
                Happening::Changed { which, changes, cut, mended } => {
                    let mut frame = templates[which % templates.len()].clone();
                    for (at, byte) in changes {
                        let at = usize::from(at) % frame.len();
                        frame[at] = byte;
                    }
                    if let Some(cut) = cut {
                        frame.truncate(usize::from(cut) % frame.len());
                    }
                    if mended {
                        mend(&mut frame);
                    }
                    // What is not looked at cannot be what saves us.
                    let checksum = if mended { Checksum::Verified } else { Checksum::Unknown };
                    let now = world.now;
                    world.stack.handle_frame(&frame, checksum, now, &mut |_, data| data.len() / 2);
                    frames += 1;
                }
                Happening::Time(micros) => world.after(Duration::from_micros(micros.into())),
                Happening::Datagram(len) => {
                    let to = (PEER_V4, 9).into();
                    let _ = world.stack.udp_send(port, to, &vec![0; len.into()], world.now);
                }
            }
            while world.stack.poll_event().is_some() {}
            for frame in world.drain() {
                prop_assert!(frame.len() <= 1_514);
                prop_assert_eq!(&frame[6..12], &MAC.0);
            }
            check(&world.stack);
            prop_assert_eq!(world.counters().frames_in, frames);
        }
    }
}

/// Memory does not grow with the number of frames.
#[test]
fn memory_is_bounded() {
    let mut world = World::with(config());
    world.stack.udp_bind(None, 53).unwrap();
    let templates = templates();
    let mut flood = |rounds: u32| {
        for round in 0..rounds {
            for template in &templates {
                let mut frame = template.clone();
                let [a, b, c, d] = round.wrapping_mul(2_654_435_761).to_be_bytes();
                // Another source each time, by ARP and by IP, on the link and off it.
                match (frame[12], frame[13]) {
                    (8, 0) => frame[26..30].copy_from_slice(&[11 + a % 100, b, c, d]),
                    (8, 6) => frame[31] = b,
                    _ => frame[32..38].copy_from_slice(&[a, b, c, d, a, b]),
                }
                mend(&mut frame);
                world.hear(&frame);
                world.drain();
            }
            world.after(Duration::from_millis(1));
        }
    };
    flood(3_000);
    let grown = allocation_counter::measure(|| flood(3_000));
    assert!(grown.bytes_current < 100_000, "{grown:?}");
    check(&world.stack);
}
