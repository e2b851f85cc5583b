use std::{fs, net::UdpSocket, thread};

use super::*;
use crate::{
    address::Destination,
    capabilities::{self, CapabilitySet},
    datagrams::Outbox,
    netns,
};

/// Takes packets whole.
const EVERYTHING: [Instruction; 1] =
    [Instruction { code: 0x06, jump_true: 0, jump_false: 0, operand: 0x4_0000 }];

/// Frames of one block, which is the least that a ring has.
const BLOCK: usize = 128;

fn in_namespace(test: impl FnOnce() + Send) {
    let inside = || {
        netns::unshare_thread().expect("needs root, to make a network namespace");
        // Nothing but what the test sends.
        fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1").unwrap();
        netns::loopback_up().unwrap();
        test();
    };
    thread::scope(|scope| {
        let ran = scope.spawn(inside).join();
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn ring(frames: usize) -> PacketReceiver {
    PacketReceiver::open(ETHER_TYPE_IPV4, &EVERYTHING, frames).unwrap()
}

/// Sends datagrams of UDP; a packet begins with headers of 28 bytes.
fn say(number: std::ops::Range<u32>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in number {
        // Its own port takes it: no error comes back.
        socket.send_to(&number.to_be_bytes(), socket.local_addr().unwrap()).unwrap();
    }
}

fn heard(ring: &mut PacketReceiver) -> Vec<u32> {
    let mut heard = Vec::new();
    ring.receive(|bytes, is_cut| {
        assert_eq!((bytes[0], bytes[9], is_cut), (0x45, 17, false), "from the IP header on");
        heard.push(u32::from_be_bytes(bytes[28..].try_into().unwrap()));
    });
    heard
}

#[test]
fn without_the_privilege_it_is_refused() {
    in_namespace(|| {
        capabilities::retain(CapabilitySet::empty()).unwrap();
        let error = PacketSender::open().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        let error = PacketReceiver::open(ETHER_TYPE_IPV4, &EVERYTHING, 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    });
}

#[test]
fn packets_come_through_the_ring_in_order() {
    in_namespace(|| {
        let mut ring = ring(BLOCK);
        assert!(heard(&mut ring).is_empty());
        say(0..100);
        assert_eq!(heard(&mut ring), (0..100).collect::<Vec<_>>());
        assert!(heard(&mut ring).is_empty(), "once");
        assert_eq!(ring.take_lost().unwrap(), 0);
    });
}

#[test]
fn round_and_round() {
    in_namespace(|| {
        let mut ring = ring(BLOCK);
        for round in 0..50 {
            // A number that does not divide it.
            let numbers = round * 77..(round + 1) * 77;
            say(numbers.clone());
            assert_eq!(heard(&mut ring), numbers.collect::<Vec<_>>());
        }
        assert_eq!(ring.take_lost().unwrap(), 0);
    });
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    in_namespace(|| {
        let mut ring = ring(BLOCK);
        for _ in 0..2 {
            say(0..200);
            assert_eq!(heard(&mut ring), (0..128).collect::<Vec<_>>(), "the first");
            assert_eq!(ring.take_lost().unwrap(), 72);
            assert_eq!(ring.take_lost().unwrap(), 0, "since the last time");
        }
        say(0..128);
        assert_eq!(heard(&mut ring).len(), 128, "to the last frame");
    });
}

#[test]
fn there_is_room_for_what_was_asked_for() {
    in_namespace(|| {
        for frames in [1, 129, 1_000] {
            let mut ring = ring(frames);
            let room = frames.next_multiple_of(BLOCK);
            say(0..u32::try_from(room).unwrap());
            // One round at most with each call.
            assert_eq!(heard(&mut ring).len(), room, "{frames}");
            assert_eq!(ring.take_lost().unwrap(), 0, "{frames}");
        }
    });
}

#[test]
fn what_is_longer_than_a_frame_is_cut_and_says_so() {
    in_namespace(|| {
        let mut ring = ring(BLOCK);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = socket.local_addr().unwrap();
        let (mut fits, mut longest) = (0, 0);
        for len in 0..FRAME_BYTES {
            let sent: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
            socket.send_to(&sent, target).unwrap();
            let mut count = 0;
            ring.receive(|bytes, is_cut| {
                count += 1;
                assert_eq!(is_cut, bytes.len() < 28 + len, "{len}");
                assert_eq!(bytes[28..], sent[..bytes.len() - 28], "{len}");
                longest = longest.max(bytes.len());
                fits += usize::from(!is_cut);
            });
            assert_eq!(count, 1, "{len}");
        }
        assert_eq!(fits, longest - 28 + 1, "all that are no longer, and no others");
        assert!((FRAME_BYTES - 100..FRAME_BYTES).contains(&longest), "{longest}");
    });
}

#[test]
fn the_filter_stands_before_the_first_packet() {
    in_namespace(|| {
        let first_is_seven = [
            // BPF_LD + BPF_B + BPF_ABS, BPF_JMP + BPF_JEQ + BPF_K
            Instruction { code: 0x30, operand: 31, ..EVERYTHING[0] },
            Instruction { code: 0x15, jump_true: 0, jump_false: 1, operand: 7 },
            EVERYTHING[0],
            Instruction { operand: 0, ..EVERYTHING[0] },
        ];
        let mut ring = PacketReceiver::open(ETHER_TYPE_IPV4, &first_is_seven, 1).unwrap();
        say(0..20);
        assert_eq!(heard(&mut ring), [7]);
        let mut other = PacketReceiver::open(ETHER_TYPE_IPV6, &EVERYTHING, 1).unwrap();
        say(0..20);
        assert!(heard(&mut other).is_empty(), "not of its kind");
    });
}

#[test]
fn the_descriptor_is_readable_while_there_is_something() {
    in_namespace(|| {
        let mut ring = ring(BLOCK);
        let readable = |ring: &PacketReceiver| {
            let mut fds = [rustix::event::PollFd::new(ring, rustix::event::PollFlags::IN)];
            let at_once = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
            rustix::event::poll(&mut fds, Some(&at_once)).unwrap() == 1
        };
        assert!(!readable(&ring));
        say(0..3);
        assert!(readable(&ring));
        assert_eq!(heard(&mut ring).len(), 3);
        assert!(!readable(&ring));
    });
}

#[test]
fn a_packet_goes_to_a_neighbour_past_ip() {
    in_namespace(|| {
        let mut ring = ring(BLOCK);
        let sender = PacketSender::open().unwrap();
        let mut outbox = Outbox::<64>::default();
        // Loopback is the first interface of each namespace.
        let to = Destination::Link { interface: 1, ether_type: ETHER_TYPE_IPV4, address: [0; 6] };
        let mut packet = [0x55; 40];
        packet[0] = 0x45;
        outbox.push(&to, |buffer| {
            buffer[..40].copy_from_slice(&packet);
            40
        });
        assert_eq!(outbox.send(&sender).unwrap(), 1);
        let mut heard = Vec::new();
        ring.receive(|bytes, _| heard.push(bytes.to_vec()));
        assert_eq!(heard, [packet.to_vec()], "as it is");

        outbox.push(&to, |_| 40);
        assert_eq!(outbox.send(&sender).unwrap(), 1);
        let mut links = Vec::new();
        ring.receive_by_link(|link, bytes, is_cut| links.push((link, bytes.len(), is_cut)));
        assert_eq!(links, [(1, 40, false)], "and by which link");

        let nowhere = Destination::Link { interface: 99, ether_type: 0x800, address: [0; 6] };
        outbox.push(&nowhere, |_| 40);
        assert_eq!(outbox.send(&sender).unwrap_err().raw_os_error(), Some(libc::ENXIO));
    });
}
