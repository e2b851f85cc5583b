//! Segments of somebody who does not see the connection: RFC 5961, in each class of numbers and in
//! each state.

use std::time::Duration;

use portolan_stack::{
    Instant,
    tcp::{Config, ConnectionId, Event, State},
};
use portolan_wire::{
    Seq,
    tcp::{Flags, Repr},
};

use crate::host::*;

/// The window that the host offers when it has a window scale.
fn window(host: &mut Host, peer: &Peer) -> u32 {
    // A keepalive probe is answered with the window.
    let probe = Repr { sequence: peer.nxt - 1, ..peer.ack() };
    let answers = host.answers(peer, probe, &[]);
    u32::from(answers.last().expect("an ACK").repr.window)
}

/// Numbers that are not the next one, with what they are.
fn classes(next: Seq, window: u32) -> Vec<(&'static str, Seq, bool)> {
    vec![
        ("far before", next - 0x7000_0000, false),
        ("a window before", next - window, false),
        ("just before", next - 1, false),
        ("behind the next", next + 1, true),
        ("inside", next + window / 2, true),
        ("the last", next + window - 1, true),
        ("just beyond", next + window + 1, false),
        ("far beyond", next + 0x7000_0000, false),
    ]
}

type Arrange = fn() -> (Host, Peer, ConnectionId);

/// The states in which a connection is open.
const STATES: [(State, Arrange); 6] = [
    (State::Established, || {
        let mut host = Host::new();
        let (peer, id) = host.open(0, few_options());
        (host, peer, id)
    }),
    (State::FinWait1, || {
        let mut host = Host::new();
        let (peer, id) = host.open(0, few_options());
        host.tcp.finish(id, host.now).unwrap();
        host.drain();
        (host, peer, id)
    }),
    (State::FinWait2, || {
        let mut host = Host::new();
        let (mut peer, id) = host.open(0, few_options());
        host.tcp.finish(id, host.now).unwrap();
        host.drain();
        peer.rcv += 1;
        host.hear(peer.address.ip(), peer.ack(), &[]);
        (host, peer, id)
    }),
    (State::CloseWait, close_wait),
    (State::LastAck, || {
        let (mut host, peer, id) = close_wait();
        host.tcp.finish(id, host.now).unwrap();
        host.drain();
        (host, peer, id)
    }),
    (State::Closing, || {
        let mut host = Host::new();
        let (mut peer, id) = host.open(0, few_options());
        host.tcp.finish(id, host.now).unwrap();
        host.drain();
        let fin = Repr { flags: Flags::FIN | Flags::ACK, ..peer.ack() };
        host.hear(peer.address.ip(), fin, &[]);
        host.drain();
        peer.nxt += 1;
        (host, peer, id)
    }),
];

fn close_wait() -> (Host, Peer, ConnectionId) {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, few_options());
    let fin = Repr { flags: Flags::FIN | Flags::ACK, ..peer.ack() };
    host.hear(peer.address.ip(), fin, &[]);
    host.drain();
    peer.nxt += 1;
    (host, peer, id)
}

/// T2 and T5; section 3.2: only RST with the very next number is believed, others in the window are
/// answered so that a peer who means it can send that one, all others are dropped.
#[test]
fn resets() {
    for (state, arrange) in STATES {
        let (mut host, peer, _) = arrange();
        let window = window(&mut host, &peer);
        for (class, sequence, is_inside) in classes(peer.nxt, window) {
            let (mut host, peer, id) = arrange();
            for flags in [Flags::RST, Flags::RST | Flags::ACK] {
                let reset = Repr { flags, sequence, ..peer.ack() };
                let answers = host.answers(&peer, reset, &[]);
                assert_eq!(host.state(id), state, "{class}");
                assert_eq!(answers.len(), usize::from(is_inside), "{state:?}: {class}");
                for answer in answers {
                    assert!(answer.repr.flags.contains(Flags::ACK));
                    assert!(!answer.repr.flags.contains(Flags::RST));
                    assert_eq!(answer.repr.acknowledgment, peer.nxt);
                }
            }
        }
        let (mut host, peer, id) = arrange();
        let reset = Repr { flags: Flags::RST, ..peer.ack() };
        assert!(host.answers(&peer, reset, &[]).is_empty());
        assert_eq!(host.state(id), State::Closed, "{state:?}: the next one");
        assert_eq!((host.tcp.blocks_in_use(), host.tcp.timers()), (0, 0));
    }
}

/// T5: RST behind a gap is not kept until the gap is filled.
#[test]
fn a_reset_in_the_window_is_not_kept() {
    let mut host = Host::new();
    let (mut peer, id) = host.open(0, all_options());
    let ahead = Repr { sequence: peer.nxt + 1_000, ..peer.ack() };
    host.hear(peer.address.ip(), ahead, &[2; 1_000]);
    for sequence in [peer.nxt + 500, peer.nxt + 1_000, peer.nxt + 2_000] {
        host.hear(peer.address.ip(), Repr { flags: Flags::RST, sequence, ..peer.ack() }, &[]);
    }
    host.hear(peer.address.ip(), peer.ack(), &[1; 1_000]);
    peer.nxt += 2_000;
    host.drain();
    assert_eq!(host.state(id), State::Established);
    assert_eq!(host.read(id).len(), 2_000);
    host.assert_goes_on(&mut peer, id);
}

/// T3; section 4.2: SYN is answered with an ACK whatever its number, and changes nothing.
#[test]
fn syns() {
    for (state, arrange) in STATES {
        let (mut host, peer, _) = arrange();
        let window = window(&mut host, &peer);
        let next = ("the next", peer.nxt, true);
        for (class, sequence, _) in classes(peer.nxt, window).into_iter().chain([next]) {
            for flags in [Flags::SYN, Flags::SYN | Flags::ACK, Flags::SYN | Flags::FIN] {
                for payload in [&[][..], &[9; 100]] {
                    let (mut host, peer, id) = arrange();
                    let syn = Repr { flags, sequence, ..peer.ack() };
                    let answers = host.answers(&peer, syn, payload);
                    let [answer] = &answers[..] else { panic!("{state:?}, {class}: {answers:?}") };
                    assert!(!answer.repr.flags.contains(Flags::RST));
                    assert_eq!(answer.repr.acknowledgment, peer.nxt, "{class}");
                    assert_eq!(host.state(id), state, "{class}");
                    assert_eq!(host.info(id).unread, 0, "{class}");
                }
            }
        }
    }
}

#[test]
fn a_connection_goes_on_after_all_of_them() {
    for options in [few_options(), all_options()] {
        let mut host = Host::new();
        let (mut peer, id) = host.open(0, options);
        let window = window(&mut host, &peer);
        for (_, sequence, _) in classes(peer.nxt, window) {
            for flags in [Flags::RST, Flags::SYN, Flags::RST | Flags::SYN, Flags(0), Flags(0xff)] {
                host.hear(peer.address.ip(), Repr { flags, sequence, ..peer.ack() }, &[]);
            }
        }
        host.drain();
        host.assert_goes_on(&mut peer, id);
    }
}

/// Section 5.2: data is taken only with an acknowledgment of the last window, or of what was sent.
#[test]
fn data_with_each_class_of_acknowledgment() {
    let mut host = Host::new();
    let (peer, id) = host.open(0, few_options());
    host.tcp.write(id, &[1; 1_000], host.now).unwrap();
    host.drain();
    let una = peer.rcv;
    let cases = [
        ("far before", una - 0x7000_0000, false),
        ("older than the window", una - 60_001, false),
        ("the oldest of the window", una - 60_000, true),
        ("just before", una - 1, true),
        ("the last", una, true),
        ("inside", una + 500, true),
        ("all", una + 1_000, true),
        ("more than was sent", una + 1_001, false),
        ("far beyond", una + 0x7000_0000, false),
    ];
    for (class, acknowledgment, is_taken) in cases {
        let mut host = Host::new();
        let (peer, id) = host.open(0, few_options());
        host.tcp.write(id, &[1; 1_000], host.now).unwrap();
        host.drain();
        let answers = host.answers(&peer, Repr { acknowledgment, ..peer.ack() }, b"injected");
        assert_eq!(host.info(id).unread > 0, is_taken, "{class}");
        if !is_taken {
            let [answer] = &answers[..] else { panic!("{class}: {answers:?}") };
            assert_eq!(answer.repr.acknowledgment, peer.nxt, "{class}");
            assert_eq!(host.info(id).unacknowledged, 1_000, "{class}");
        }
    }
    assert_eq!(host.state(id), State::Established);
}

/// Data out of the window is not taken, and answered with an ACK (RFC 9293, section 3.10.7.4).
#[test]
fn data_with_each_class_of_number() {
    let mut host = Host::new();
    let (peer, _) = host.open(0, few_options());
    let window = window(&mut host, &peer);
    for (class, sequence, is_inside) in classes(peer.nxt, window) {
        let mut host = Host::new();
        let (peer, id) = host.open(0, few_options());
        let answers = host.answers(&peer, Repr { sequence, ..peer.ack() }, b"x");
        let [answer] = &answers[..] else { panic!("{class}: {answers:?}") };
        assert_eq!(answer.repr.acknowledgment, peer.nxt, "{class}");
        assert_eq!(host.tcp.blocks_in_use(), usize::from(is_inside), "{class}");
        assert_eq!(host.info(id).unread, 0, "{class}");
    }
}

/// Section 7: ten answers in five seconds, and the limit of one connection says nothing of another
/// (CVE-2016-5696: there was one for the whole host).
#[test]
fn cve_2016_5696_each_connection_has_its_own_limit() {
    let mut host = Host::new();
    host.now = Instant::from_micros(5_000_000);
    let (one, _) = host.open(0, few_options());
    let others: Vec<_> = (1..50).map(|number| host.open(number, few_options()).0).collect();
    let blind = |peer: &Peer| Repr { flags: Flags::RST, sequence: peer.nxt + 9, ..peer.ack() };
    let mut count = 0;
    for _ in 0..1_000 {
        count += host.answers(&one, blind(&one), &[]).len();
    }
    assert_eq!(count, 10);
    for peer in &others {
        for _ in 0..10 {
            assert_eq!(host.answers(peer, blind(peer), &[]).len(), 1);
        }
        assert_eq!(host.answers(peer, blind(peer), &[]).len(), 0);
    }
    host.after(Duration::from_secs(5));
    assert_eq!(host.answers(&one, blind(&one), &[]).len(), 1);
    assert_eq!(host.counters().challenges_held_back, 990 + 49);
}

/// RFC 9293, section 3.10.7.3: in SYN-SENT nothing is believed that does not acknowledge the SYN.
#[test]
fn in_syn_sent() {
    let mut host = Host::new();
    let (peer, id) = host.calling();
    for acknowledgment in [peer.rcv - 1, peer.rcv + 1, peer.rcv + 0x7fff_0000, Seq(0)] {
        for flags in [Flags::RST | Flags::ACK, Flags::SYN | Flags::ACK, Flags::ACK] {
            let answers = host.answers(&peer, Repr { flags, acknowledgment, ..peer.ack() }, &[]);
            let is_reset = flags.contains(Flags::RST);
            assert_eq!(answers.len(), usize::from(!is_reset), "{flags:?}");
            // Section 3.10.7.3, first: RST with the number that was acknowledged.
            for answer in answers {
                assert_eq!(answer.repr.flags, Flags::RST);
                assert_eq!(answer.repr.sequence, acknowledgment);
            }
            assert_eq!(host.state(id), State::SynSent);
        }
    }
    for flags in [Flags::RST, Flags::FIN, Flags(0), Flags::PSH] {
        assert!(host.answers(&peer, Repr { flags, ..peer.ack() }, b"x").is_empty());
        assert_eq!(host.state(id), State::SynSent);
    }
    host.hear(peer.address.ip(), Repr { flags: Flags::SYN | Flags::ACK, ..peer.ack() }, &[]);
    assert_eq!(host.state(id), State::Established);
}

/// RFC 9293, section 3.10.7.4 in SYN-RECEIVED: blind segments neither open nor end it.
#[test]
fn in_syn_received() {
    let mut host = Host::new();
    let mut peer = host.half_open(0, few_options());
    for ahead in [1, 30_000, 65_534] {
        let sequence = peer.nxt + ahead;
        host.hear(peer.address.ip(), Repr { flags: Flags::RST, sequence, ..peer.ack() }, &[]);
        host.hear(peer.address.ip(), Repr { flags: Flags::SYN, sequence, ..peer.ack() }, &[]);
    }
    for wrong in [peer.rcv - 1, peer.rcv + 1, peer.rcv - 0x4000_0000] {
        let wrong = Repr { acknowledgment: wrong, ..peer.ack() };
        let answers = host.answers(&peer, wrong, &[]);
        assert!(answers.iter().any(|answer| answer.repr.flags == Flags::RST));
    }
    assert_eq!((host.tcp.connections(), host.tcp.poll_event()), (1, None));
    host.hear(peer.address.ip(), peer.ack(), &[]);
    assert_eq!(host.tcp.poll_event(), Some(Event::Acceptable(host.listener)));
    let id = host.tcp.accept(host.listener, host.now).unwrap().unwrap();
    host.assert_goes_on(&mut peer, id);
    // RST with the next number is believed.
    let peer = host.half_open(1, few_options());
    host.hear(peer.address.ip(), Repr { flags: Flags::RST, ..peer.ack() }, &[]);
    assert_eq!(host.tcp.connections(), 1);
}

/// RFC 1337: RST does not end TIME-WAIT, and old segments are answered seldom.
#[test]
fn in_time_wait() {
    let mut host =
        Host::with(Config { time_wait: Duration::from_secs(60), ..Config::default() }, 8);
    let (mut peer, id) = host.open(0, few_options());
    host.tcp.close(id, host.now).unwrap();
    host.drain();
    peer.rcv += 1;
    let fin = Repr { flags: Flags::FIN | Flags::ACK, ..peer.ack() };
    host.hear(peer.address.ip(), fin, &[]);
    peer.nxt += 1;
    host.drain();
    assert_eq!((host.tcp.connections(), host.tcp.time_waits()), (0, 1));
    let mut answers = 0;
    for ahead in 0..1_000_u32 {
        let sequence = peer.nxt + ahead.wrapping_mul(0x0123_4567);
        for flags in [Flags::RST, Flags::RST | Flags::ACK] {
            host.hear(peer.address.ip(), Repr { flags, sequence, ..peer.ack() }, &[]);
        }
        answers += host.answers(&peer, Repr { sequence, ..peer.ack() }, b"x").len();
    }
    assert_eq!((host.tcp.time_waits(), answers), (1, 1));
    host.after(Duration::from_secs(61));
    assert_eq!(host.tcp.time_waits(), 0);
}
