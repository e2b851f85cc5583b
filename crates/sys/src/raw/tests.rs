use std::{net::UdpSocket, thread};

use super::*;
use crate::{
    address::Destination,
    capabilities::{self, CapabilitySet},
    datagrams::{Inbox, Outbox},
    netns,
};

/// Takes packets whole.
const EVERYTHING: [Instruction; 1] =
    [Instruction { code: 0x06, jump_true: 0, jump_false: 0, operand: 0x4_0000 }];

/// Runs a test on a thread of its own in a fresh network namespace.
fn in_namespace(test: impl FnOnce() + Send) {
    let inside = || {
        netns::unshare_thread().expect("needs root, to make a network namespace");
        netns::loopback_up().unwrap();
        test();
    };
    thread::scope(|scope| {
        let ran = scope.spawn(inside).join();
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn received(socket: &RawIp) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    match Inbox::<512>::default().receive(socket, |it| all.push(it.bytes.to_vec())) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EAGAIN)),
    }
    all
}

#[test]
fn without_the_privilege_it_is_refused() {
    in_namespace(|| {
        for (family, upper) in ALL {
            RawIp::open(family, upper, &EVERYTHING, 1 << 16).unwrap();
        }
        capabilities::retain(CapabilitySet::empty()).unwrap();
        for (family, upper) in ALL {
            let error = RawIp::open(family, upper, &EVERYTHING, 1 << 16).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{family:?} {upper:?}");
        }
    });
}

const ALL: [(Family, Upper); 4] = [
    (Family::V4, Upper::Tcp),
    (Family::V4, Upper::Icmp),
    (Family::V6, Upper::Tcp),
    (Family::V6, Upper::Icmp),
];

#[test]
fn a_packet_of_ones_own_is_sent_as_it_is_and_heard() {
    in_namespace(|| {
        let socket = RawIp::open(Family::V4, Upper::Tcp, &EVERYTHING, 1 << 16).unwrap();
        socket.include_header(true).unwrap();
        let mut packet = [0_u8; 24];
        // Version and length; no total length and no checksum, which the kernel knows.
        packet[0] = 0x45;
        packet[8] = 33;
        packet[9] = 6;
        packet[12..16].copy_from_slice(&[127, 0, 0, 9]);
        packet[16..20].copy_from_slice(&[127, 0, 0, 1]);
        packet[20..].copy_from_slice(b"TCP?");
        send(&socket, "127.0.0.1:0", &packet);
        let heard = received(&socket);
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0][2..4], 24_u16.to_be_bytes(), "the kernel's");
        assert_ne!(heard[0][10..12], [0, 0], "the kernel's");
        assert_eq!((heard[0][8], heard[0][9]), (33, 6));
        assert_eq!(heard[0][12..], packet[12..], "with the source of our choice");

        let socket = RawIp::open(Family::V6, Upper::Tcp, &EVERYTHING, 1 << 16).unwrap();
        socket.include_header(true).unwrap();
        let mut packet = [0_u8; 44];
        packet[0] = 0x60;
        packet[5] = 4;
        packet[6] = 6;
        packet[7] = 33;
        packet[23] = 1;
        packet[39] = 1;
        packet[40..].copy_from_slice(b"TCP?");
        send(&socket, "[::1]:0", &packet);
        assert_eq!(received(&socket), [b"TCP?"], "without the header");
        socket.include_header(false).unwrap();
        send(&socket, "[::1]:0", b"more");
        assert_eq!(received(&socket), [b"more"]);
    });
}

fn send(socket: &RawIp, to: &str, packet: &[u8]) {
    let mut outbox = Outbox::<64>::default();
    outbox.push(&Destination::Ip(to.parse().unwrap()), |buffer| {
        buffer[..packet.len()].copy_from_slice(packet);
        packet.len()
    });
    assert_eq!(outbox.send(socket).unwrap(), 1);
}

#[test]
fn the_kernel_adds_the_header_unless_told_otherwise() {
    in_namespace(|| {
        let socket = RawIp::open(Family::V4, Upper::Tcp, &EVERYTHING, 1 << 16).unwrap();
        send(&socket, "127.0.0.9:0", b"TCP?");
        let heard = received(&socket);
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!((heard[0][9], &heard[0][16..]), (6, b"\x7f\0\0\x09TCP?".as_slice()));
    });
}

#[test]
fn icmp_of_both_families_comes_as_it_is() {
    in_namespace(|| {
        for (family, address, message) in
            [(Family::V4, "127.0.0.1", (20, [3, 3])), (Family::V6, "::1", (0, [1, 4]))]
        {
            let socket = RawIp::open(family, Upper::Icmp, &EVERYTHING, 1 << 16).unwrap();
            let nobody = UdpSocket::bind((address, 0)).unwrap().local_addr().unwrap();
            UdpSocket::bind((address, 0)).unwrap().send_to(b"?", nobody).unwrap();
            let heard = received(&socket);
            let (at, kind_and_code) = message;
            assert_eq!(heard.len(), 1, "{heard:?}");
            assert_eq!(heard[0][at..at + 2], kind_and_code);
        }
    });
}

#[test]
fn the_filter_stands_before_the_first_packet() {
    in_namespace(|| {
        let nothing = [Instruction { operand: 0, ..EVERYTHING[0] }];
        let socket = RawIp::open(Family::V4, Upper::Tcp, &nothing, 1 << 16).unwrap();
        socket.include_header(true).unwrap();
        let mut packet = [0_u8; 20];
        packet[0] = 0x45;
        packet[9] = 6;
        packet[16..20].copy_from_slice(&[127, 0, 0, 1]);
        send(&socket, "127.0.0.1:0", &packet);
        assert!(received(&socket).is_empty());
    });
}

#[test]
fn the_queue_is_as_long_as_asked_for() {
    in_namespace(|| {
        for bytes in [1 << 16, 8 << 20] {
            let socket = RawIp::open(Family::V4, Upper::Tcp, &EVERYTHING, bytes).unwrap();
            // The kernel doubles it for its own records (socket(7)).
            assert_eq!(sockopt::socket_recv_buffer_size(&socket).unwrap(), 2 * bytes);
        }
    });
}
