use std::{net::UdpSocket, thread};

use super::*;
use crate::{
    frames::{self, BATCH, Frame},
    interface, netns,
};

const OPTIONS: LinkOptions = LinkOptions { is_promiscuous: false, receive_bytes: 1 << 20 };

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

/// The source ports of the datagrams of UDP that came.
fn heard(socket: &LinkSocket) -> Vec<u16> {
    let mut room = vec![Frame::with_capacity(2_000); BATCH];
    let mut heard = Vec::new();
    while let Ok(got) = frames::receive(socket, &mut room) {
        // Of the 10 + 14 + 20 bytes before it, the Ethernet header tells IPv4 apart.
        let datagrams = room[..got].iter().filter(|frame| frame.bytes[22..24] == [8, 0]);
        heard.extend(datagrams.map(|it| u16::from_be_bytes([it.bytes[44], it.bytes[45]])));
    }
    heard
}

/// Sends from as many ports, one datagram each.
fn say(ports: usize) -> Vec<u16> {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let senders: Vec<_> = (0..ports).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let say = |sender: &UdpSocket| {
        sender.send_to(&[0; 8], receiver.local_addr().unwrap()).unwrap();
        sender.local_addr().unwrap().port()
    };
    senders.iter().map(say).collect()
}

#[test]
fn a_frame_is_seen_once_and_by_one_of_the_sockets() {
    in_namespace(|| {
        let lo = interface::index("lo").unwrap();
        for count in [1, 2, 3] {
            let sockets = LinkSocket::open(lo, count, &OPTIONS).unwrap();
            let mut said = say(200);
            let shares: Vec<Vec<u16>> = sockets.iter().map(heard).collect();
            // That a socket of three gets none of 200 flows has a probability of 10^-35.
            assert!(shares.iter().all(|share| !share.is_empty()), "{shares:?}");
            let mut all = shares.concat();
            all.sort_unstable();
            said.sort_unstable();
            assert!(all == said, "{count} sockets heard {} of {} datagrams", all.len(), said.len());
            assert_eq!(sockets[0].take_lost().unwrap(), 0);
        }
    });
}

#[test]
fn what_does_not_fit_is_counted() {
    in_namespace(|| {
        let lo = interface::index("lo").unwrap();
        let options = LinkOptions { receive_bytes: 4_096, ..OPTIONS };
        let sockets = LinkSocket::open(lo, 1, &options).unwrap();
        let said = say(300).len();
        let lost = sockets[0].take_lost().unwrap();
        assert!(lost > 0);
        assert_eq!(heard(&sockets[0]).len() + usize::try_from(lost).unwrap(), said);
        assert_eq!(sockets[0].take_lost().unwrap(), 0, "since the last time");
    });
}

#[test]
fn a_link_that_is_not_there_is_said() {
    in_namespace(|| {
        let error = LinkSocket::open(77, 1, &OPTIONS).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    });
}
