//! Handshakes that are more than a listener has room for.

use std::time::Duration;

use portolan_stack::tcp::{Config, State};
use portolan_wire::{
    Seq,
    tcp::{Flags, Options, Repr, Timestamps},
};

use crate::host::*;

/// A host whose backlog is full: its answers are cookies.
fn full() -> Host {
    let mut host = Host::with(Config::default(), 1);
    host.half_open(1_000, all_options());
    assert_eq!(host.tcp.connections(), 1);
    host
}

/// What was agreed on comes back with the ACK, and nothing was kept meanwhile.
#[test]
fn a_cookie_brings_back_what_was_offered() {
    for mss in [None, Some(536), Some(1_300), Some(1_460)] {
        for window_scale in [None, Some(0), Some(7), Some(14)] {
            for sack_permitted in [false, true] {
                for clock in [None, Some(Timestamps { value: 77, echo: 0 })] {
                    let options = Options {
                        mss,
                        window_scale,
                        sack_permitted,
                        timestamps: clock,
                        ..Options::default()
                    };
                    let mut host = full();
                    let (peer, id) = host.open(0, options);
                    assert_eq!(host.counters().cookies_accepted, 1);
                    let info = host.info(id);
                    assert_eq!(info.state, State::Established);
                    let has_clock = clock.is_some();
                    assert_eq!(info.timestamps, has_clock);
                    assert_eq!(info.sack, sack_permitted && has_clock, "{options:?}");
                    assert_eq!(info.scaling, window_scale.is_some() && has_clock, "{options:?}");
                    let scale = window_scale.filter(|_| has_clock).unwrap_or(0);
                    assert_eq!(info.window, u32::from(peer.ack().window) << scale);
                    let len = u32::from(mss.unwrap_or(536)) - if has_clock { 12 } else { 0 };
                    assert_eq!(info.segment_len, len);
                    // Nobody knows how long the handshake took.
                    assert_eq!(info.round_trip, None);
                    assert_eq!(info.retransmission_timeout, Duration::from_secs(1));
                }
            }
        }
    }
}

#[test]
fn a_connection_from_a_cookie_works() {
    let mut host = full();
    let (mut peer, id) = host.open(0, all_options());
    for _ in 0..3 {
        host.assert_goes_on(&mut peer, id);
    }
}

/// The ACK may have data, or be lost, so that the data brings the cookie.
#[test]
fn the_first_data_brings_the_cookie_as_well() {
    let mut host = full();
    let mut peer = host.half_open(0, few_options());
    host.hear(peer.address.ip(), peer.ack(), b"GET");
    peer.nxt += 3;
    let id = host.tcp.accept(host.listener, host.now).unwrap().unwrap();
    assert_eq!(host.read(id), b"GET");
    host.assert_goes_on(&mut peer, id);
}

/// A flood of ACKs with wrong cookies costs neither memory nor a connection.
#[test]
fn wrong_cookies() {
    let mut host = full();
    let peer = host.half_open(0, all_options());
    let mut random = 1_u32;
    let mut replies = 0;
    let allocated = allocation_counter::measure(|| {
        for _ in 0..20_000 {
            random = random.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            let acknowledgment = peer.rcv + (random | 1 << 10);
            let wrong = Repr { acknowledgment, ..peer.ack() };
            host.hear(peer.address.ip(), wrong, &[]);
            host.hear(peer.address.ip(), Repr { sequence: peer.nxt + 1, ..peer.ack() }, &[]);
        }
        replies = host.drain().len();
    });
    assert_eq!(host.counters().cookies_wrong, 40_000);
    assert_eq!((host.counters().cookies_accepted, host.tcp.connections()), (0, 1));
    assert!(replies <= 1_024, "{replies}");
    // The segments that this test makes and reads are counted as well.
    assert!(allocated.bytes_max < 1 << 20, "{}", allocated.bytes_max);
    // The right one is still good.
    host.hear(peer.address.ip(), peer.ack(), &[]);
    assert_eq!(host.counters().cookies_accepted, 1);
}

/// A cookie is for one flow and one first number, and for two minutes.
#[test]
fn a_cookie_of_another_or_of_long_ago() {
    let mut host = full();
    let peer = host.half_open(0, all_options());
    let elsewhere = peer_address(77).ip();
    host.hear(elsewhere, peer.ack(), &[]);
    host.hear(peer.address.ip(), Repr { source_port: 1, ..peer.ack() }, &[]);
    host.hear(peer.address.ip(), Repr { sequence: peer.nxt + 1, ..peer.ack() }, &[]);
    assert_eq!(host.counters().cookies_wrong, 3);
    host.after(Duration::from_secs(121));
    // The backlog overflows still.
    host.half_open(1_000, all_options());
    host.half_open(1_001, all_options());
    host.hear(peer.address.ip(), peer.ack(), &[]);
    assert_eq!((host.counters().cookies_wrong, host.counters().cookies_accepted), (4, 0));
}

/// Without a backlog that was full lately, no ACK is looked at: a guess in 2^29 is right.
#[test]
fn cookies_are_looked_at_only_after_an_overflow() {
    let mut host = full();
    let peer = host.half_open(0, all_options());
    let mut other = Host::with(Config::default(), 1);
    let answers = other.answers(&peer, peer.ack(), &[]);
    assert_eq!(answers[0].repr.flags, Flags::RST);
    assert_eq!((other.tcp.connections(), other.counters().cookies_wrong), (0, 0));
}

/// The program does not accept: handshakes wait, and are finished when it does.
#[test]
fn the_queue_of_those_who_wait_is_full() {
    let mut host = Host::with(Config::default(), 4);
    let peers: Vec<_> = (0..20)
        .map(|number| {
            let peer = host.half_open(number, all_options());
            host.hear(peer.address.ip(), peer.ack(), &[]);
            peer
        })
        .collect();
    assert!(host.counters().accept_queue_full > 0);
    assert!(host.tcp.connections() <= 8, "{}", host.tcp.connections());
    let mut accepted = 0;
    for _ in 0..10 {
        while host.tcp.accept(host.listener, host.now).unwrap().is_some() {
            accepted += 1;
        }
        // Those who were not taken say it again.
        for peer in &peers {
            host.hear(peer.address.ip(), peer.ack(), &[]);
        }
        host.after(Duration::from_secs(1));
    }
    assert_eq!(accepted, 20);
}

/// A SYN is taken in once: the half-open connection has all of its answers left.
#[test]
fn a_first_syn_is_no_segment_out_of_the_window() {
    let mut host = Host::new();
    for payload in [&[][..], b"data"] {
        let peer = Peer {
            address: peer_address(payload.len() as u32),
            port: PORT,
            nxt: THEIR_ISN,
            rcv: Seq(0),
            clock: None,
        };
        let syn = Repr { flags: Flags::SYN, acknowledgment: Seq(0), ..peer.ack() };
        assert_eq!(host.answers(&peer, syn, payload).len(), 1);
    }
    let counters = host.counters();
    let refused = (counters.out_of_window, counters.blind_refused, counters.challenges_sent);
    assert_eq!(refused, (0, 0, 0));
}

/// The same SYN again and again: a few answers, one connection.
#[test]
fn one_syn_many_times() {
    let mut host = Host::new();
    let peer = host.half_open(0, all_options());
    let syn = Repr {
        flags: Flags::SYN,
        sequence: peer.nxt - 1,
        acknowledgment: Seq(0),
        options: all_options(),
        ..peer.ack()
    };
    let answers: usize = (0..1_000).map(|_| host.answers(&peer, syn, &[]).len()).sum();
    assert!(answers <= 20, "{answers}");
    assert_eq!(host.tcp.connections(), 1);
}
