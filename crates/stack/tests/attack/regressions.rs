//! Defects of another stack, T1 to T9 of its review, and CVEs of several: none of them here. What
//! is not below has its test in the file that is named.
//!
//! - T2, T3, T5: `blind.rs`; T6: `tests/internet/errors.rs` and below; T7: `tcp/isn/tests.rs` and
//!   below; T9: `flood.rs`.

use std::{net::IpAddr, time::Duration};

use portolan_stack::tcp::{ErrorKind, IcmpError, State};
use portolan_wire::{
    Seq,
    tcp::{Flags, Options, Packet, Quoted, Repr},
};

use crate::host::*;

/// T1: a client in SYN-SENT believes only a RST that acknowledges its SYN (RFC 9293, section
/// 3.10.7.3).
#[test]
fn t1_a_closed_port_answers_so_that_the_client_believes_it() {
    let (mut client, mut server) = (Host::new(), Host::new());
    let (peer, id) = client.calling();
    let syn = Repr {
        source_port: 40_000,
        destination_port: 81,
        sequence: peer.rcv - 1,
        acknowledgment: Seq(0),
        flags: Flags::SYN,
        ..peer.ack()
    };
    server.hear(peer.address.ip(), syn, &[]);
    let [reset] = &server.drain()[..] else { panic!("one RST") };
    assert_eq!(reset.repr.flags, Flags::RST | Flags::ACK);
    assert_eq!(reset.repr.acknowledgment, peer.rcv);
    let reset =
        Repr { source_port: peer.address.port(), destination_port: peer.port, ..reset.repr };
    client.hear(peer.address.ip(), reset, &[]);
    assert_eq!(client.state(id), State::Closed);
}

/// T1, the other half: a segment with ACK is reset with the number that it acknowledges, and with
/// data or FIN in SYN they count.
#[test]
fn t1_each_segment_for_a_closed_port_gets_the_right_numbers() {
    let mut host = Host::new();
    let peer = Peer {
        address: peer_address(0),
        port: 81,
        nxt: Seq(u32::MAX - 1),
        rcv: Seq(77),
        clock: None,
    };
    let [reset] = &host.answers(&peer, peer.ack(), b"data")[..] else { panic!("one RST") };
    assert_eq!((reset.repr.flags, reset.repr.sequence), (Flags::RST, Seq(77)));
    let flags = Flags::SYN | Flags::FIN;
    let [reset] = &host.answers(&peer, Repr { flags, ..peer.ack() }, b"data")[..] else {
        panic!("one RST")
    };
    assert_eq!((reset.repr.flags, reset.repr.sequence), (Flags::RST | Flags::ACK, Seq(0)));
    assert_eq!(reset.repr.acknowledgment, Seq(4));
    let flags = Flags::RST;
    assert!(host.answers(&peer, Repr { flags, ..peer.ack() }, &[]).is_empty());
}

/// T4: the network brings the SYN once more, long after.
#[test]
fn t4_a_duplicated_old_syn_changes_nothing() {
    for options in [all_options(), few_options()] {
        let mut host = Host::new();
        let (mut peer, id) = host.open(0, options);
        let syn =
            Repr { flags: Flags::SYN, sequence: THEIR_ISN, acknowledgment: Seq(0), ..peer.ack() };
        let syn = Repr { options, ..syn };
        host.hear(peer.address.ip(), peer.ack(), &[7; 5_000]);
        peer.nxt += 5_000;
        let [.., answer] = &host.answers(&peer, syn, &[])[..] else { panic!("an ACK") };
        assert_eq!(answer.repr.flags, Flags::ACK);
        assert_eq!((answer.repr.sequence, answer.repr.acknowledgment), (peer.rcv, peer.nxt));
        assert_eq!(host.read(id), [7; 5_000]);
        host.assert_goes_on(&mut peer, id);
    }
}

/// T6: the quote of an error may be as short as 8 bytes of the segment, or all of it.
#[test]
fn t6_an_error_is_believed_whatever_the_length_of_its_quote() {
    for length in [8, 20, 28, 60, 528] {
        let mut host = Host::new();
        let (peer, id) = host.open(0, few_options());
        host.tcp.write(id, &[1; 3_000], host.now).unwrap();
        let sent = host.drain();
        let mut quote = vec![0; sent[0].repr.header_len()];
        quote.extend_from_slice(&sent[0].payload);
        sent[0].repr.emit(&mut quote, HERE, peer.address.ip()).unwrap();
        let quoted = Packet::parse_quoted_ports(&quote[..length]).unwrap();
        assert!(host.tcp.handle_error(&too_big(&peer, quoted, 1_000), host.now));
        assert_eq!(host.info(id).segment_len, 960);
        assert_eq!(host.drain()[0].payload.len(), 960);
    }
}

pub fn too_big(peer: &Peer, quoted: Quoted, mtu: u32) -> IcmpError {
    IcmpError { local: HERE, remote: peer.address.ip(), quoted, kind: ErrorKind::TooBig { mtu } }
}

/// RFC 5927, sections 4, 5 and 7: an error is about something in flight, ends nothing that is
/// open, and makes no segment tiny.
#[test]
fn icmp_errors_of_somebody_who_guesses() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, few_options());
    host.tcp.write(id, &[1; 3_000], host.now).unwrap();
    let end = peer.rcv + 3_000;
    host.drain();
    let quoted =
        |sequence| Quoted { source_port: PORT, destination_port: peer.address.port(), sequence };
    for outside in [peer.rcv - 1, end, end + 1, peer.rcv - 70_000, peer.rcv + (1 << 31)] {
        assert!(!host.tcp.handle_error(&too_big(&peer, quoted(outside), 600), host.now));
    }
    assert_eq!((host.counters().errors_refused, host.info(id).segment_len), (5, 1_460));
    for mtu in [0, 1, 68, 551] {
        host.tcp.handle_error(&too_big(&peer, quoted(peer.rcv), mtu), host.now);
        assert_eq!(host.info(id).segment_len, 552 - 40, "{mtu}");
    }
    let hard = IcmpError { kind: ErrorKind::Unreachable, ..too_big(&peer, quoted(peer.rcv), 0) };
    assert!(host.tcp.handle_error(&hard, host.now));
    assert_eq!(host.state(id), State::Established);
    // What was cut arrives nevertheless.
    let mut arrived = 0;
    while arrived < 3_000 {
        for sent in host.drain() {
            assert!(sent.payload.len() <= 512);
            arrived += sent.payload.len();
        }
        peer.rcv = end - (3_000 - u32::try_from(arrived.min(3_000)).unwrap());
        host.hear(peer.address.ip(), peer.ack(), &[]);
    }
    host.assert_goes_on(&mut peer, id);
}

/// T7: the first number of a connection tells nothing of that of another one. Over 4,096 flows at
/// one moment each bit is set in about a half, and neighbouring ports are no closer than others.
#[test]
fn t7_first_numbers_are_not_to_be_guessed() {
    let mut host = Host::with(Default::default(), 5_000);
    let mut numbers = Vec::new();
    for number in 0..4_096 {
        numbers.push((host.half_open(number, few_options()).rcv - 1).0);
    }
    // 6 standard deviations of 32.
    let is_half = |count: usize| (2_048 - 192..2_048 + 192).contains(&count);
    for bit in 0..32 {
        assert!(is_half(numbers.iter().filter(|number| **number >> bit & 1 == 1).count()), "{bit}");
        let steps = numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
        assert!(is_half(steps.filter(|step| step >> bit & 1 == 1).count()), "step {bit}");
    }
    // And the clock of RFC 6528 for the same flow: a number in 4 us.
    let first = numbers[7];
    host.after(Duration::from_secs(200));
    host.drain();
    let again = (host.half_open(7, few_options()).rcv - 1).0;
    assert_eq!(again.wrapping_sub(first), 200_000_000 / 4);
}

/// T8: SYN with ACK goes again after 1, 3, 7, 15 and 31 seconds (RFC 6298, sections 2 and 5.5).
#[test]
fn t8_an_answer_that_was_lost_comes_again_soon() {
    let mut host = Host::new();
    host.half_open(0, all_options());
    let start = host.now;
    let mut times = Vec::new();
    for _ in 0..700 {
        times.extend(
            host.after(Duration::from_millis(100)).iter().map(|_| host.now.since(start).as_secs()),
        );
    }
    assert_eq!(times, [1, 3, 7, 15, 31]);
    assert_eq!((host.tcp.connections(), host.tcp.timers()), (0, 0));
}

/// CVE-2019-11479: a peer who takes tiny segments makes the host send more headers than data.
#[test]
fn cve_2019_11479_tiny_segments() {
    // 0 says nothing, as for Linux.
    for (mss, len) in [(0, 524), (1, 36), (8, 36), (48, 36)] {
        let mut host = Host::new();
        let (peer, id) = host.open(0, Options { mss: Some(mss), ..all_options() });
        assert_eq!(host.info(id).segment_len, len);
        host.tcp.write(id, &[1; 100_000], host.now).unwrap();
        let sent = host.drain();
        let window = host.info(id).congestion_window;
        assert!(sent.iter().map(|one| one.payload.len()).sum::<usize>() <= window as usize);
        assert!(sent.len() <= 20, "{}", sent.len());
        assert!(sent.iter().all(|one| one.repr.destination_port == peer.address.port()));
    }
}

/// RFC 5961 is for those who do not see the connection: they have to guess the flow as well.
#[test]
fn another_flow_is_another_connection() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, few_options());
    let other = Repr { source_port: 40_001, ..peer.ack() };
    host.hear(peer.address.ip(), other, b"data");
    let elsewhere: IpAddr = "10.1.1.1".parse().unwrap();
    host.hear(elsewhere, Repr { flags: Flags::RST, ..peer.ack() }, &[]);
    host.drain();
    assert_eq!(host.info(id).unread, 0);
    host.assert_goes_on(&mut peer, id);
}
