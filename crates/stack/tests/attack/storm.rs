//! Two ends that do not agree come to rest: no ACK provokes another one for ever.

use std::{collections::VecDeque, time::Duration};

use portolan_stack::tcp::{Config, State};
use portolan_wire::{
    Seq,
    tcp::{Flags, Repr},
};

use crate::host::*;

/// Carries what each sends to the other one, with numbers that are off by so much, until both are
/// silent; says how many segments that took.
fn crossed(shift: u32, payload: usize) -> usize {
    let mut ends = [Host::new(), Host::new()];
    let (mut one, mut first) = ends[0].open(0, few_options());
    let (_, second) = ends[1].open(0, few_options());
    let _ = (&mut one, &mut first);
    ends[0].tcp.write(first, &vec![1; payload.max(1)], ends[0].now).unwrap();
    let mut on_the_way: VecDeque<(usize, Repr, Vec<u8>)> = VecDeque::new();
    let mut count = 0;
    // Within an instant: timers are no storm.
    loop {
        for (from, end) in ends.iter_mut().enumerate() {
            on_the_way.extend(end.drain().into_iter().map(|sent| (from, sent.repr, sent.payload)));
        }
        let Some((from, mut repr, data)) = on_the_way.pop_front() else { break };
        (repr.source_port, repr.destination_port) = (repr.destination_port, repr.source_port);
        // Each takes the other for the peer it knows, who has lost its count.
        repr.sequence += shift;
        repr.acknowledgment += shift;
        ends[1 - from].hear(peer_address(0).ip(), repr, &data);
        count += 1;
        assert!(count < 1_000, "a storm");
    }
    let _ = second;
    count
}

#[test]
fn two_ends_that_disagree() {
    for shift in [0, 1, 1_000, 70_000, 1 << 30, 1 << 31, u32::MAX, u32::MAX - 1_000] {
        for payload in [1, 10_000] {
            // Ten answers of each in five seconds, and the data.
            let count = crossed(shift, payload);
            assert!(count <= 60, "{count} segments at {shift}");
        }
    }
}

/// The same with everything that an attacker can spoof at both ends: each spoofed segment costs
/// one answer, and no answer costs another one.
#[test]
fn two_ends_with_an_attacker_between() {
    let mut ends = [Host::new(), Host::new()];
    let (peer, id) = ends[0].calling();
    let mut map = [(HERE, peer.address.ip()); 2];
    map.reverse();
    let _ = map;
    // One end is the client, the other a listener at the port that it calls.
    let port = peer.address.port();
    ends[1].tcp.listen(None, port, 8).unwrap();
    let syn = Repr {
        flags: Flags::SYN,
        sequence: peer.rcv - 1,
        acknowledgment: Seq(0),
        source_port: peer.port,
        destination_port: port,
        ..peer.ack()
    };
    ends[1].hear(peer.address.ip(), syn, &[]);
    let carry = |ends: &mut [Host; 2]| {
        let mut count = 0;
        loop {
            let before = count;
            for from in 0..2 {
                for sent in ends[from].drain() {
                    ends[1 - from].hear(peer.address.ip(), sent.repr, &sent.payload);
                    count += 1;
                }
            }
            assert!(count < 10_000, "a storm");
            if count == before {
                return count;
            }
        }
    };
    carry(&mut ends);
    assert_eq!(ends[0].state(id), State::Established);
    let mut random = 1_u64;
    for _ in 0..2_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let which = (random >> 40) as usize & 1;
        let (source_port, destination_port) =
            if which == 0 { (port, peer.port) } else { (peer.port, port) };
        let near = Seq((random >> 32) as u32 % 200_000) - 100_000;
        let repr = Repr {
            source_port,
            destination_port,
            sequence: if random & 1 == 0 { peer.rcv + near.0 } else { Seq((random >> 20) as u32) },
            acknowledgment: Seq((random >> 24) as u32),
            flags: Flags((random >> 50) as u8 & 0x3f & !Flags::RST.0),
            ..peer.ack()
        };
        let payload = vec![0; (random >> 60) as usize];
        ends[which].hear(peer.address.ip(), repr, &payload);
        assert!(carry(&mut ends) <= 4, "more than an answer and its answer");
    }
    assert_eq!(ends[0].state(id), State::Established);
}

/// Two ends in TIME-WAIT, or one, do not answer each other.
#[test]
fn nothing_goes_on_after_the_end() {
    let mut host = Host::with(Config::default(), 8);
    let (mut peer, id) = host.open(0, all_options());
    host.tcp.close(id, host.now).unwrap();
    host.drain();
    peer.rcv += 1;
    host.hear(peer.address.ip(), Repr { flags: Flags::FIN | Flags::ACK, ..peer.ack() }, &[]);
    peer.nxt += 1;
    let last = host.drain();
    assert_eq!((host.tcp.time_waits(), last.len()), (1, 1));
    // Its own ACK comes back, as from another TIME-WAIT of the same flow.
    for _ in 0..100 {
        let back = Repr { sequence: peer.rcv, acknowledgment: peer.nxt, ..peer.ack() };
        assert!(host.answers(&peer, back, &[]).len() <= 1);
        host.after(Duration::from_millis(1));
    }
    let sent = host.counters().segments_sent;
    assert!(sent <= 5, "{sent}");
}
