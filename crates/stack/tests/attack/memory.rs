//! Memory: of what peers send that costs more than its bytes, of those who do not read, and of a
//! million connections on which nothing happens.

use std::time::Duration;

use portolan_stack::{
    buffer::BLOCK_BYTES,
    tcp::{Config, ConnectionId, Event, Ready},
};
use portolan_wire::tcp::Repr;

use crate::host::*;

fn small(blocks_max: usize) -> Config {
    Config { blocks_max, ..Config::default() }
}

/// Segments of one byte, each of which takes a block of its own.
fn scatter(host: &mut Host, peer: &Peer, count: u32) {
    for at in 1..=count {
        let sequence = peer.nxt + at * BLOCK_BYTES as u32;
        host.hear(peer.address.ip(), Repr { sequence, ..peer.ack() }, b"x");
    }
    host.drain();
}

/// What comes early takes half of the blocks; the rest is for data in order, and what is written.
#[test]
fn segments_that_take_a_block_each() {
    let mut host = Host::with(small(256), 64);
    let attackers: Vec<_> = (0..32)
        .map(|number| {
            let (peer, _) = host.open(number, all_options());
            // The window grows with what is read, so that a peer may scatter over all of it.
            host.hear(peer.address.ip(), peer.ack(), &[]);
            peer
        })
        .collect();
    for peer in &attackers {
        scatter(&mut host, peer, 15);
    }
    assert!(host.tcp.blocks_in_use() <= 256 / 2 + 1, "{}", host.tcp.blocks_in_use());
    assert!(host.counters().no_buffer > 0);
    let (mut peer, id) = host.open(1_000, all_options());
    host.assert_goes_on(&mut peer, id);
}

/// RFC 2018, section 8, with peers who leave a gap for ever: what they have sent is given up once
/// memory is short, and an honest peer whose segments get lost is served as if they were not there.
#[test]
fn silent_peers_with_gaps() {
    let mut host = Host::with(small(4_096), 64);
    let silent: Vec<_> = (0..3_000)
        .map(|number| {
            let (peer, id) = host.open(number, all_options());
            let sequence = peer.nxt + 1_000;
            host.hear(peer.address.ip(), Repr { sequence, ..peer.ack() }, &[7; 1_000]);
            host.drain();
            (peer, id)
        })
        .collect();
    assert!(host.tcp.blocks_in_use() > 4_096 / 2);
    assert_eq!(host.counters().early_discarded, 0, "they may be about to mend it");
    host.after(Duration::from_secs(3));
    let (mut peer, id) = host.open(10_000, all_options());
    for round in 0..500_u32 {
        // Each first segment of ten gets lost, and comes last.
        for at in 1..10 {
            let sequence = peer.nxt + at * 1_000;
            let repr = Repr { sequence, ..peer.ack() };
            let answers = host.answers(&peer, repr, &[at as u8; 1_000]);
            let [answer] = &answers[..] else { panic!("an ACK, not {answers:?}") };
            let [block] = answer.repr.options.sack.as_slice() else { panic!("{round}: {at}") };
            assert_eq!((block.left, block.right), (peer.nxt + 1_000, sequence + 1_000));
        }
        let answers = host.answers(&peer, peer.ack(), &[0; 1_000]);
        peer.nxt += 10_000;
        assert_eq!(answers.last().unwrap().repr.acknowledgment, peer.nxt, "{round}");
        assert_eq!(host.read(id).len(), 10_000);
    }
    assert!(host.counters().early_discarded > 0);
    let blocks = host.tcp.blocks_in_use();
    assert!(blocks <= 4_096 * 3 / 8, "{blocks}");
    // And who writes is not held back.
    let written = host.tcp.write(id, &[1; 1 << 20], host.now).unwrap();
    assert_eq!(written, Config::default().send_buffer_bytes as usize);
    host.tcp.abort(id, host.now).unwrap();
    host.drain();
    come_back(&mut host, silent);
}

/// Those who were silent are served as well when they come back: what was given up is asked for,
/// and not called a duplicate.
fn come_back(host: &mut Host, silent: Vec<(Peer, ConnectionId)>) {
    let mut given_up = 0;
    for (mut peer, id) in silent {
        let answers = host.answers(&peer, peer.ack(), &[3; 1_000]);
        peer.nxt += 1_000;
        let answer = &answers.last().unwrap().repr;
        if answer.acknowledgment == peer.nxt {
            given_up += 1;
            let answers = host.answers(&peer, peer.ack(), &[7; 1_000]);
            assert!(answers.iter().all(|one| one.repr.options.sack.as_slice().is_empty()));
        } else {
            assert_eq!(answer.acknowledgment, peer.nxt + 1_000);
        }
        peer.nxt += 1_000;
        assert_eq!(host.read(id), [[3; 1_000], [7; 1_000]].concat());
        host.assert_goes_on(&mut peer, id);
    }
    // The others were not kept from the beginning.
    assert_eq!(given_up, host.counters().early_discarded + host.counters().no_buffer);
}

/// RFC 9293, SHLD-31: who fills his gaps keeps what lies behind them, however long there is one.
#[test]
fn who_mends_losses_is_left_in_peace() {
    let mut host = Host::with(small(64), 64);
    let ahead = |peer: &Peer, by: u32| Repr { sequence: peer.nxt + by, ..peer.ack() };
    let (mut peer, id) = host.open(0, all_options());
    host.answers(&peer, ahead(&peer, 1_000), &[1; 1_000]);
    for round in 0..20 {
        // Others come, and stay silent: memory is short all the time.
        for number in 1..=12 {
            let (silent, _) = host.open(round * 12 + number, all_options());
            host.answers(&silent, ahead(&silent, 1_000), &[7; 1_000]);
        }
        host.after(Duration::from_secs(2));
        host.hear(peer.address.ip(), ahead(&peer, 3_000), &[1; 1_000]);
        let answers = host.answers(&peer, peer.ack(), &[1; 1_000]);
        peer.nxt += 2_000;
        assert_eq!(answers.last().unwrap().repr.acknowledgment, peer.nxt);
        assert_eq!(host.read(id).len(), 2_000);
    }
    assert!(host.counters().early_discarded > 100, "the others are given up");
}

/// Who has filled the memory alone keeps what he has sent: dropping it would make no room for
/// anybody but himself.
#[test]
fn nobody_makes_room_for_himself() {
    let mut host = Host::with(small(32), 64);
    let (peer, _) = host.open(0, all_options());
    host.hear(peer.address.ip(), peer.ack(), &[]);
    scatter(&mut host, &peer, 15);
    assert!(host.tcp.blocks_in_use() > 32 * 3 / 8);
    host.after(Duration::from_secs(10));
    scatter(&mut host, &peer, 15);
    assert_eq!((host.counters().early_discarded, host.tcp.blocks_in_use()), (0, 15));
}

/// CVE-2018-5390: tiny segments out of order, from the last to the first and everywhere.
#[test]
fn cve_2018_5390_tiny_segments() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, all_options());
    let mut allocated = 0;
    for round in 0..4_u32 {
        for at in (1..20_000_u32).rev() {
            // 7,919 is prime to 20,000: each number once, in no order.
            let at = if round % 2 == 0 { at } else { at * 7_919 % 20_000 };
            let repr = Repr { sequence: peer.nxt + 1 + at * 2, ..peer.ack() };
            host.hear(peer.address.ip(), repr, b"x");
            host.drain();
        }
        allocated = allocated.max(host.tcp.blocks_in_use());
    }
    assert!(allocated <= 12, "{allocated} blocks for 40,000 bytes");
    let repr = peer.ack();
    host.hear(peer.address.ip(), repr, &vec![7; 41_000]);
    peer.nxt += 41_000;
    host.drain();
    let read = host.read(id);
    assert_eq!(read.len(), 41_000);
    host.assert_goes_on(&mut peer, id);
    assert_eq!(host.tcp.blocks_in_use(), 0);
}

/// Bytes that come twice with another content: the program gets one of the two for each, and as
/// many bytes as were sent.
#[test]
fn segments_that_overlap() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, all_options());
    for (ahead, len, byte) in
        [(100, 100, 1), (150, 100, 2), (50, 100, 3), (0, 400, 4), (10, 5, 5), (300, 200, 6)]
    {
        let sequence = peer.nxt + ahead;
        host.hear(peer.address.ip(), Repr { sequence, ..peer.ack() }, &vec![byte; len]);
    }
    peer.nxt += 500;
    assert_eq!(host.drain().last().unwrap().repr.acknowledgment, peer.nxt);
    let read = host.read(id);
    assert_eq!(read.len(), 500);
    assert!(read.iter().all(|byte| (1..=6).contains(byte)));
    assert_eq!(host.tcp.blocks_in_use(), 0);
    host.assert_goes_on(&mut peer, id);
}

/// Data beyond the window is not kept.
#[test]
fn data_beyond_the_window() {
    let mut host = Host::new();
    let (peer, id) = host.open(0, few_options());
    for ahead in [65_535, 65_536, 100_000, 1 << 20, 1 << 30] {
        let repr = Repr { sequence: peer.nxt + ahead, ..peer.ack() };
        host.hear(peer.address.ip(), repr, &[1; 1_000]);
    }
    assert_eq!((host.tcp.blocks_in_use(), host.info(id).unread), (0, 0));
    let mut got = 0;
    for _ in 0..100 {
        host.hear(peer.address.ip(), Repr { sequence: peer.nxt + got, ..peer.ack() }, &[1; 1_000]);
        let answer = host.drain().last().cloned();
        got = answer.map_or(got, |answer| answer.repr.acknowledgment.distance(peer.nxt));
    }
    // The program does not read: the window is full, and what was offered fits.
    let limit = Config::default().receive_buffer_bytes;
    assert!(host.info(id).unread <= limit);
    assert!(host.tcp.blocks_in_use() <= limit as usize / BLOCK_BYTES + 2);
}

/// Peers who do not read get half of the blocks, and a little more each; who reads goes on with the
/// others.
#[test]
fn slow_readers() {
    let mut host = Host::with(small(4_096), 2_000);
    let data = vec![5; 1 << 20];
    for number in 0..200 {
        let (peer, id) = host.open(number, all_options());
        host.tcp.write(id, &data, host.now).unwrap();
        host.drain();
        host.hear(peer.address.ip(), Repr { window: 0, ..peer.ack() }, &[]);
    }
    let taken = host.tcp.blocks_in_use();
    assert!((4_096 / 2..4_096 / 4 * 3).contains(&taken), "{taken}");
    let (mut peer, id) = host.open(1_000, all_options());
    let mut arrived = 0;
    for _ in 0..1_000 {
        let now = host.now;
        host.tcp.write(id, &data, now).unwrap();
        for sent in host.after(Duration::from_millis(1)) {
            if sent.to == peer.address.ip() && sent.repr.sequence == peer.rcv {
                peer.rcv += sent.payload.len() as u32;
                arrived += sent.payload.len();
                peer.hear(&sent.repr);
            }
        }
        peer.tick();
        host.hear(peer.address.ip(), peer.ack(), &[]);
    }
    assert!(arrived > 5_000_000, "{arrived}");
}

/// Who writes when no block is left is told when there is one, although nothing of his own is on
/// its way that could be acknowledged.
#[test]
fn no_block_is_left_at_all() {
    let mut host = Host::with(small(8), 64);
    // Each gets little under pressure; many get all.
    let mut held: Vec<(Peer, ConnectionId)> = Vec::new();
    loop {
        let (peer, id) = host.open(held.len() as u32, all_options());
        let written = host.tcp.write(id, &vec![1; 60_000], host.now).unwrap();
        held.push((peer, id));
        host.drain();
        if written == 0 {
            break;
        }
        assert!(held.len() < 10);
    }
    host.drain();
    let (_, id) = host.open(1_000, all_options());
    assert_eq!(host.tcp.write(id, b"hello", host.now), Ok(0));
    while let Some(event) = host.tcp.poll_event() {
        assert!(!matches!(event, Event::Connection { id: other, .. } if other == id));
    }
    for (_, id) in held {
        host.tcp.abort(id, host.now).unwrap();
    }
    let mut is_told = false;
    while let Some(event) = host.tcp.poll_event() {
        is_told |= matches!(event, Event::Connection { id: other, ready }
            if other == id && ready.contains(Ready::WRITABLE));
    }
    assert!(is_told);
    assert_eq!(host.tcp.write(id, b"hello", host.now), Ok(5));
}

/// What came early goes when the connection ends, although the program has not let go of it.
#[test]
fn what_came_early_goes_with_the_connection() {
    let mut host = Host::new();
    let (peer, id) = host.open(0, all_options());
    let ahead = Repr { sequence: peer.nxt + 50_000, ..peer.ack() };
    host.hear(peer.address.ip(), peer.ack(), b"in order");
    host.hear(peer.address.ip(), ahead, b"early");
    assert_eq!(host.tcp.blocks_in_use(), 2);
    let flags = portolan_wire::tcp::Flags::RST;
    host.hear(peer.address.ip(), Repr { flags, sequence: peer.nxt + 8, ..peer.ack() }, &[]);
    assert_eq!(host.tcp.blocks_in_use(), 1);
    assert_eq!(host.read(id), b"in order");
    assert_eq!(host.tcp.blocks_in_use(), 0);
}

/// A handle that was given back tells nothing any more.
#[test]
fn no_event_after_the_end() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, few_options());
    host.tcp.close(id, host.now).unwrap();
    host.drain();
    peer.rcv += 1;
    host.hear(peer.address.ip(), peer.ack(), &[]);
    host.hear(peer.address.ip(), Repr { flags: portolan_wire::tcp::Flags::RST, ..peer.ack() }, &[]);
    assert_eq!(host.tcp.poll_event(), None);
    assert_eq!(host.tcp.connections(), 0);
}
