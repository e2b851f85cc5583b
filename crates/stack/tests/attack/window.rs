//! Peers who lie about what they have: acknowledgments, windows, clocks.

use std::time::Duration;

use portolan_stack::tcp::{Reason, State};
use portolan_wire::{
    Seq,
    tcp::{Flags, Options, Repr, SackBlock, SackBlocks},
};

use crate::host::*;

fn blocks(all: &[(Seq, Seq)]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for &(left, right) in all {
        assert!(blocks.push(SackBlock { left, right }));
    }
    blocks
}

/// S. Savage and others, "TCP Congestion Control with a Misbehaving Receiver" (1999), section 3.1:
/// an ACK in a thousand parts lets the window grow no more than a whole one (RFC 3465).
#[test]
fn ack_division() {
    let grown = |parts: u32| {
        let mut host = Host::new();
        let (mut peer, id) = host.open(0, few_options());
        host.tcp.write(id, &[1; 200_000], host.now).unwrap();
        let sent: u32 = host.drain().iter().map(|one| one.payload.len() as u32).sum();
        let first = peer.rcv;
        for part in 1..=parts {
            peer.rcv = first + sent * part / parts;
            host.hear(peer.address.ip(), peer.ack(), &[]);
        }
        (host.info(id).congestion_window, sent)
    };
    let (whole, sent) = grown(10);
    let (divided, _) = grown(10_000);
    assert!(divided <= whole.max(2 * sent), "{divided} and {whole}");
}

/// Section 3.2 there: duplicates of an ACK are no data that has arrived.
#[test]
fn ack_spoofing() {
    for options in [few_options(), all_options()] {
        let mut host = Host::new();
        let (peer, id) = host.open(0, options);
        host.tcp.write(id, &[1; 200_000], host.now).unwrap();
        let sent = host.drain().len();
        for _ in 0..10_000 {
            host.hear(peer.address.ip(), peer.ack(), &[]);
        }
        let more = host.drain().len();
        assert!(more <= sent, "{more} segments more than {sent}");
        assert!(host.info(id).congestion_window <= 15_000);
    }
}

/// Section 3.3 there: what was not sent cannot be acknowledged; what was, but did not arrive, can
/// be, to the peer's own loss.
#[test]
fn optimistic_acks() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, few_options());
    host.tcp.write(id, &[1; 500_000], host.now).unwrap();
    let sent: u32 = host.drain().iter().map(|one| one.payload.len() as u32).sum();
    let window = host.info(id).congestion_window;
    for ahead in [1, 2, 1_460, 100_000, 1 << 30] {
        let acknowledgment = peer.rcv + sent + ahead;
        host.hear(peer.address.ip(), Repr { acknowledgment, ..peer.ack() }, &[]);
    }
    assert_eq!(host.info(id).unacknowledged, 500_000);
    assert_eq!(host.info(id).congestion_window, window);
    assert!(host.drain().iter().all(|one| one.payload.is_empty()));
    // The window of the peer is the limit of who acknowledges too early.
    peer.rcv += sent;
    for _ in 0..20 {
        host.hear(peer.address.ip(), peer.ack(), &[]);
        let sent: u32 = host.drain().iter().map(|one| one.payload.len() as u32).sum();
        assert!(sent <= 60_000, "{sent}");
        peer.rcv += sent;
    }
}

/// CVE-2019-11477 and 11478: blocks of one byte, everywhere, and the same ones again.
#[test]
fn sack_of_every_other_byte() {
    let mut host = Host::new();
    let (mut peer, id) =
        host.open(0, Options { mss: Some(48), window_scale: Some(10), ..all_options() });
    host.tcp.write(id, &[1; 1_000_000], host.now).unwrap();
    let mut left = Vec::new();
    for _ in 0..7 {
        for sent in host.drain() {
            left.push(sent.repr.sequence);
            peer.rcv = sent.repr.sequence + sent.payload.len() as u32;
            host.hear(peer.address.ip(), peer.ack(), &[]);
        }
    }
    let una = peer.rcv;
    let flight: u32 = host.drain().iter().map(|one| one.payload.len() as u32).sum();
    assert!(flight > 36_000, "{flight}");
    let sent_before = host.counters().segments_sent;
    for at in (1..flight - 8).step_by(8) {
        let odd = |ahead: u32| (una + at + ahead, una + at + ahead + 1);
        let sack = blocks(&[odd(0), odd(2), odd(4)]);
        for _ in 0..2 {
            let mut ack = peer.ack();
            ack.options.sack = sack;
            host.hear(peer.address.ip(), ack, &[]);
        }
    }
    host.drain();
    // Nothing of that was a whole segment, so that nothing was delivered and little is lost.
    let sent = host.counters().segments_sent - sent_before;
    assert!(sent <= u64::from(flight / 36) * 2, "{sent}");
    assert_eq!(host.info(id).unacknowledged, 1_000_000 - (una.distance(left[0])));
    peer.rcv = una + flight;
    host.hear(peer.address.ip(), peer.ack(), &[]);
    assert!(!host.drain().is_empty());
}

/// RFC 2018, section 8: a peer may drop what it has reported. All of it goes again in the end.
#[test]
fn reneging() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, all_options());
    host.tcp.write(id, &[1; 14_000], host.now).unwrap();
    host.drain();
    let mut ack = peer.ack();
    ack.options.sack = blocks(&[(peer.rcv + 1_448, peer.rcv + 1_448 * 9)]);
    host.hear(peer.address.ip(), ack, &[]);
    let mut got = peer.rcv;
    let end = peer.rcv + 14_000;
    // It acknowledges only what comes in order from now on.
    for _ in 0..200 {
        for sent in host.after(Duration::from_millis(250)) {
            let (left, right) =
                (sent.repr.sequence, sent.repr.sequence + sent.payload.len() as u32);
            if left.at_or_before(got) && right.after(got) {
                got = right;
            }
        }
        if got == end {
            break;
        }
        peer.rcv = got;
        host.hear(peer.address.ip(), peer.ack(), &[]);
    }
    assert_eq!(got, end);
    assert_eq!(host.state(id), State::Established);
}

/// A window that closes, shrinks and opens, at each moment: RFC 9293, section 3.8.6.
#[test]
fn windows_that_shrink() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, few_options());
    host.tcp.write(id, &[1; 100_000], host.now).unwrap();
    let (mut got, end) = (peer.rcv, peer.rcv + 100_000);
    let mut total = 0;
    for turn in 0..2_000_u32 {
        for sent in host.after(Duration::from_millis(100)) {
            total += 1;
            let (left, right) =
                (sent.repr.sequence, sent.repr.sequence + sent.payload.len() as u32);
            if left.at_or_before(got) && right.after(got) {
                got = right;
            }
        }
        peer.rcv = got;
        let window = [0, 1, 3_000, 700, 0, 65_000, 10][turn as usize % 7];
        host.hear(peer.address.ip(), Repr { window, ..peer.ack() }, &[]);
        if got == end {
            break;
        }
    }
    assert_eq!(got, end);
    assert!(total < 5_000, "{total} segments for 100,000 bytes");
    host.assert_goes_on(&mut peer, id);
}

/// RFC 9293, MUST-37: as long as it answers, a peer may keep its window closed. But not once the
/// program has gone: RFC 6429, section 3.
#[test]
fn a_window_that_stays_closed() {
    for is_closed in [false, true] {
        let mut host = Host::new();
        let (mut peer, id) = host.open(0, few_options());
        host.tcp.write(id, &[1; 100_000], host.now).unwrap();
        let sent: u32 = host.drain().iter().map(|one| one.payload.len() as u32).sum();
        peer.rcv += sent;
        let closed = |peer: &Peer| Repr { window: 0, ..peer.ack() };
        host.hear(peer.address.ip(), closed(&peer), &[]);
        if is_closed {
            host.tcp.close(id, host.now).unwrap();
        }
        let mut probes = 0;
        for _ in 0..7_200 {
            for sent in host.after(Duration::from_secs(1)) {
                assert!(sent.payload.len() <= 1);
                probes += 1;
                // The end, of which the peer is told.
                if !sent.repr.flags.contains(Flags::RST) {
                    host.hear(peer.address.ip(), closed(&peer), &[]);
                }
            }
        }
        // The longest timeout is 2 minutes.
        assert!(probes < 100, "{probes}: {:?} {:?}", host.counters(), host.tcp.info(id));
        assert_eq!(host.tcp.connections(), usize::from(!is_closed));
        assert_eq!(host.tcp.blocks_in_use() == 0, is_closed);
        if !is_closed {
            assert_eq!(host.state(id), State::Established);
            host.after(Duration::from_secs(2_000));
            assert_eq!(host.info(id).reason, Some(Reason::TimedOut));
        }
    }
}

/// RFC 7323, section 5.3: only a segment that is in order moves the clock that others are held
/// against.
#[test]
fn paws_poisoning() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, all_options());
    let mut poisoned = peer;
    let clock = poisoned.clock.as_mut().unwrap();
    clock.value = clock.value.wrapping_add(0x7000_0000);
    let far = poisoned.ack();
    // Out of the window, ahead in it, with a wrong acknowledgment, RST, SYN, without ACK.
    for repr in [
        Repr { sequence: peer.nxt - 1, ..far },
        Repr { sequence: peer.nxt - 100_000, ..far },
        Repr { sequence: peer.nxt + 1, ..far },
        Repr { sequence: peer.nxt + 60_000, ..far },
        Repr { acknowledgment: peer.rcv + 1, ..far },
        Repr { acknowledgment: peer.rcv - 0x7000_0000, ..far },
        Repr { flags: Flags::RST, sequence: peer.nxt + 1, ..far },
        Repr { flags: Flags::SYN, ..far },
        Repr { flags: Flags(0), ..far },
    ] {
        for payload in [&[][..], b"x"] {
            if repr.sequence != peer.nxt + 1 || payload.is_empty() {
                host.hear(peer.address.ip(), repr, payload);
            }
        }
    }
    host.drain();
    host.read(id);
    peer.tick();
    host.assert_goes_on(&mut peer, id);
}
