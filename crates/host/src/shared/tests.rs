use std::{net::Ipv4Addr, ops::RangeInclusive};

use portolan_stack::{Config, Instant, Stack, random::Key};
use portolan_wire::{
    ethernet::{Address, EtherType, Repr},
    ipv4, protocol,
    vlan::Tags,
};

use super::*;

const MAC: Address = Address([2, 0, 0, 0, 0, 1]);
const PORTS: RangeInclusive<u16> = 32_768..=60_999;

/// A part of a datagram.
fn part(identification: u16, fragment_offset: u16) -> Vec<u8> {
    let header = ipv4::Repr {
        traffic_class: 0,
        identification,
        dont_fragment: false,
        more_fragments: fragment_offset == 0,
        fragment_offset,
        ttl: 64,
        protocol: protocol::UDP,
        source: Ipv4Addr::new(192, 0, 2, 2),
        destination: Ipv4Addr::new(192, 0, 2, 1),
        options: &[],
        payload_len: 8,
    };
    let link = Repr {
        source: Address([2, 0, 0, 0, 0, 2]),
        destination: MAC,
        tags: Tags::default(),
        ethertype: EtherType::IPV4,
    };
    let mut frame = vec![0; 14 + 20 + 8];
    link.emit(&mut frame).unwrap();
    header.emit(&mut frame[14..]).unwrap();
    frame
}

#[test]
fn datagrams_that_wait_are_few_and_leave_room_for_frames() {
    let config = Config::new(MAC.0, vec!["192.0.2.1/24".parse().unwrap()], [7; 32]);
    let mut stack = Stack::new(Config { shares_flows: true, ..config }, Instant::ZERO).unwrap();
    let shared = Shared::new(Steering::new(2, PORTS, Key::new(1, 2))).unwrap();
    let queue = &shared.queues[1];
    let lost = || queue.inbox_lost.load(Ordering::Relaxed);
    for round in 1..=2_u64 {
        for identification in 0..INBOX_JOINED_MAX as u16 + 6 {
            for offset in [0, 8] {
                let frame = part(identification, offset);
                stack.handle_frame(&frame, Checksum::Unknown, Instant::ZERO, &mut |_, _| 0);
            }
            queue.hand_joined(stack.take_joined().unwrap());
        }
        assert_eq!(lost(), 6 * round);
        queue.hand_over(&part(1, 0), Checksum::Unknown);
        assert_eq!(lost(), 6 * round, "there is room for frames");
        let mut taken = VecDeque::new();
        queue.take_handed(&mut taken, &mut Vec::new());
        assert_eq!(taken.len(), INBOX_JOINED_MAX + 1);
        assert!(matches!(taken[0], Handed::Joined(_)) && matches!(taken[64], Handed::Frame { .. }));
    }
}
