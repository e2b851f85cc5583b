//! Peers that do not answer, and routers that say why: RFC 9293, sections 3.8.3, 3.8.4 and 3.9.2.2.

use super::{hand::*, *};

/// RFC 9293, MUST-20, SHLD-9, SHLD-10, SHLD-11, MUST-47: after three attempts the program is told,
/// a long while later the connection is given up, and the peer is reset.
#[test]
fn a_silent_peer_is_given_up_in_the_end() {
    let mut hand = Hand::connected(plain());
    hand.write(b"data");
    let (mut sent, mut troubled_after) = (hand.left().len(), 0);
    let start = hand.now;
    while hand.state() != State::Closed {
        let next = hand.tcp.poll_timeout().unwrap();
        sent += hand.wait(next.since(hand.now)).iter().filter(|left| !left.has(RST)).count();
        if troubled_after == 0 && hand.ready().contains(Ready::TROUBLED) {
            assert_eq!(hand.info().trouble, Some(Trouble::Silent));
            troubled_after = sent - 1;
        }
    }
    // A tail loss probe is among them.
    assert!((3..=4).contains(&troubled_after), "{troubled_after}");
    let after = hand.now.since(start);
    assert!(after >= Duration::from_secs(100), "{after:?}");
    assert!(after >= Config::default().user_timeout);
    assert_eq!(hand.info().reason, Some(Reason::TimedOut));
    assert!(hand.ready().contains(Ready::CLOSED));
    assert_eq!((hand.tcp.timers(), hand.tcp.blocks_in_use()), (0, 0));
}

/// RFC 9293, section 3.8.3: the peer of a connection that is given up is told.
#[test]
fn who_is_given_up_is_reset() {
    let mut hand = Hand::connected(plain());
    hand.write(b"data");
    let last = hand.wait(Duration::from_secs(2_000)).pop().unwrap();
    assert_eq!(last.in_words(), "RST|ACK 5+0 ack 1");
}

/// RFC 9293, SHLD-9: once the peer answers, nothing is wrong any more.
#[test]
fn trouble_may_pass() {
    let mut hand = Hand::connected(plain());
    hand.write(b"data");
    hand.wait(Duration::from_secs(30));
    assert_eq!(hand.info().trouble, Some(Trouble::Silent));
    hand.give(given(ACK, 1, 5));
    assert_eq!((hand.info().trouble, hand.state()), (None, State::Established));
}

/// RFC 9293, MUST-21; RFC 5482, section 3.1: the program chooses how long, for one connection.
#[test]
fn the_program_may_choose_how_long_to_try() {
    for (timeout, least, most) in [(30, 30, 80), (3_600, 3_600, 3_800)] {
        let mut hand = Hand::connected(plain());
        let timeout = Some(Duration::from_secs(timeout));
        hand.tcp.set_user_timeout(hand.id(), timeout, hand.now).unwrap();
        hand.write(b"data");
        let start = hand.now;
        while hand.state() != State::Closed {
            let next = hand.tcp.poll_timeout().unwrap();
            hand.wait(next.since(hand.now));
        }
        let after = hand.now.since(start).as_secs();
        assert!((least..=most).contains(&after), "{after}");
    }
}

/// RFC 9293, section 3.8.6.1: a window that stays closed is asked for before the connection is
/// given up, however short the program's patience is; who does not answer then is.
#[test]
fn a_closed_window_is_asked_for_at_least_once() {
    let mut hand = Hand::new(plain());
    hand.connect();
    // A round trip so long that the first timeout is longer than the program's patience.
    hand.wait(Duration::from_millis(900));
    hand.give(given(SYN_ACK, 0, 1).mss(1_460));
    hand.left();
    hand.give(given(ACK, 1, 1).window(0));
    let timeout = Some(Duration::from_secs(1));
    hand.tcp.set_user_timeout(hand.id(), timeout, hand.now).unwrap();
    hand.write(b"data");
    assert_eq!(hand.wait(Duration::from_secs(4)).len(), 1);
    assert_eq!((hand.state(), hand.tcp.counters().window_probes), (State::Established, 1));
    let last = hand.wait(Duration::from_secs(10)).pop().unwrap();
    assert!(last.in_words().starts_with("RST"), "{}", last.in_words());
    assert_eq!((hand.state(), hand.tcp.counters().window_probes), (State::Closed, 1));
}

/// RFC 9293, MUST-22, MUST-23: SYN is repeated for three minutes at least, ever more seldom.
#[test]
fn syn_is_repeated_for_three_minutes() {
    let mut hand = Hand::new(plain());
    hand.connect();
    let sent = hand.wait(Duration::from_secs(600));
    assert_eq!(seconds(&sent), [0, 1, 3, 7, 15, 31, 63, 127]);
    assert!(sent.iter().all(|left| left.in_words() == "SYN 0+0"));
    assert_eq!(hand.info().reason, Some(Reason::TimedOut));
    let mut hand = Hand::new(plain());
    hand.connect();
    hand.wait(Duration::from_secs(180));
    assert_eq!((hand.state(), hand.info().trouble), (State::SynSent, Some(Trouble::Silent)));
}

/// RFC 9293, MUST-22: SYN with ACK is repeated too, for a minute: who opened repeats his SYN
/// anyway.
#[test]
fn a_half_open_connection_is_given_up() {
    let mut hand = Hand::listening(plain());
    hand.give(given(SYN, 0, 0));
    let sent = hand.wait(Duration::from_secs(600));
    assert_eq!(seconds(&sent), [0, 1, 3, 7, 15, 31]);
    assert_eq!((hand.tcp.connections(), hand.tcp.timers()), (0, 0));
}

/// RFC 6298, section 5, (5.7): after a lost SYN the first timeout is three seconds.
#[test]
fn after_a_lost_syn_data_waits_for_three_seconds() {
    let mut hand = Hand::new(plain());
    hand.connect();
    hand.wait(Duration::from_millis(1_500));
    hand.give(given(SYN_ACK, 0, 1));
    assert_eq!(hand.info().retransmission_timeout, Duration::from_secs(3));
    hand.write(&pattern(5_000));
    // RFC 6928, section 2: and one segment leaves.
    let left: Vec<Left> = hand.left().into_iter().filter(|left| !left.payload.is_empty()).collect();
    assert_eq!(left.len(), 1);
}

fn watched() -> Config {
    Config { keepalive: Some(Keepalive::default()), ..plain() }
}

/// RFC 9293, MAY-5, MUST-24, MUST-25, MUST-28: off, unless the program asks for it; then after two
/// hours.
#[test]
fn nobody_is_probed_unasked() {
    let day = Duration::from_secs(86_400);
    let mut hand = Hand::connected(plain());
    assert_eq!(timed(&hand.wait(day)), []);
    assert_eq!(hand.tcp.timers(), 0);
    assert_eq!(Keepalive::default().idle, Duration::from_secs(7_200));
    let mut hand = Hand::connected(watched());
    let probes = hand.wait(Duration::from_secs(7_201));
    assert_eq!(seconds(&probes), [7_200]);
    let mut hand = Hand::connected(watched());
    hand.tcp.set_keepalive(hand.id(), false, hand.now).unwrap();
    assert_eq!(timed(&hand.wait(day)), []);
}

/// RFC 9293, MUST-26, MUST-27, SHLD-12: only in silence, as often as the configuration says, and
/// without data: a number that the peer must answer.
#[test]
fn probes_are_sent_in_silence_alone() {
    let keepalive =
        Keepalive { idle: Duration::from_secs(100), interval: Duration::from_secs(10), probes: 3 };
    let mut hand = Hand::connected(Config { keepalive: Some(keepalive), ..plain() });
    hand.wait(Duration::from_secs(50));
    hand.give(given(ACK, 1, 1).data(b"data"));
    hand.wait(Duration::from_secs(99));
    assert_eq!(hand.tcp.counters().keepalives, 0);
    let probes = hand.wait(Duration::from_secs(2));
    assert_eq!(timed(&probes)[0].1, "ACK 0+0 ack 5");
    // Answered, it is quiet for as long again.
    hand.give(given(ACK, 5, 1));
    assert_eq!(timed(&hand.wait(Duration::from_secs(99))), []);
    assert_eq!(hand.wait(Duration::from_secs(2)).len(), 1);
    // With data on its way, that is the probe.
    hand.give(given(ACK, 5, 1));
    hand.write(b"data");
    let sent = hand.wait(Duration::from_secs(300));
    assert!(sent.iter().all(|left| left.seq == 1 && left.payload == b"data"));
}

/// RFC 9293, MUST-29: one probe or its answer may be lost.
#[test]
fn a_lost_answer_is_not_the_end() {
    let keepalive =
        Keepalive { idle: Duration::from_secs(100), interval: Duration::from_secs(10), probes: 3 };
    let config = Config { keepalive: Some(keepalive), ..plain() };
    let mut hand = Hand::connected(config.clone());
    hand.wait(Duration::from_secs(125));
    assert_eq!(hand.tcp.counters().keepalives, 3);
    hand.give(given(ACK, 1, 1));
    hand.wait(Duration::from_secs(125));
    assert_eq!(hand.state(), State::Established);
    // All are.
    let mut hand = Hand::connected(config);
    let sent = hand.wait(Duration::from_secs(200));
    assert_eq!(seconds(&sent), [100, 110, 120, 130]);
    assert_eq!(sent[3].in_words(), "RST|ACK 1+0 ack 1");
    assert_eq!(hand.info().reason, Some(Reason::TimedOut));
}

/// RFC 9293, section 3.8.4: a segment outside of the window, as a probe of the peer's own is one,
/// comes from a peer that is there: the probes count anew.
#[test]
fn who_probes_as_well_is_there() {
    let keepalive =
        Keepalive { idle: Duration::from_secs(100), interval: Duration::from_secs(10), probes: 3 };
    let mut hand = Hand::connected(Config { keepalive: Some(keepalive), ..plain() });
    // The answers to this end's probes are lost; those that the peer sends arrive.
    for _ in 0..3 {
        hand.wait(Duration::from_secs(115));
        hand.give(given(ACK, 0, 1));
    }
    assert_eq!(hand.state(), State::Established);
    assert_eq!(hand.tcp.counters().keepalives, 6);
}

/// RFC 9293, section 3.8.4: with both ends of our own, a quiet connection lives.
#[test]
fn a_probe_is_answered() {
    let mut pair =
        Pair::with(Config { keepalive: Some(Keepalive::default()), ..Config::default() }, plain());
    let ids = pair.connected();
    pair.run(Duration::from_secs(5 * 86_400));
    assert_eq!(pair.state(0, ids[0]), State::Established);
    let counters = pair.ends[0].counters();
    assert!((55..=60).contains(&counters.keepalives), "{}", counters.keepalives);
}

/// RFC 9293, MUST-54, MUST-56, SHLD-25, MUST-47: that the way is broken at present ends nothing;
/// the program is told.
#[test]
fn soft_errors_are_told_and_end_nothing() {
    for kind in [ErrorKind::Transient, ErrorKind::Unreachable] {
        let mut hand = Hand::connected(plain());
        hand.write(b"data");
        hand.sent();
        assert!(hand.error(kind, 1));
        assert!(hand.ready().contains(Ready::TROUBLED));
        assert_eq!(hand.info().trouble, Some(Trouble::Unreachable));
        assert_eq!(hand.state(), State::Established);
        hand.give(given(ACK, 1, 5));
        assert_eq!(hand.info().trouble, None);
    }
    let mut hand = Hand::connecting(plain());
    assert!(hand.error(ErrorKind::Transient, 0));
    assert_eq!(hand.state(), State::SynSent);
    assert!(hand.ready().contains(Ready::TROUBLED));
}

/// RFC 5927, section 5; RFC 9293, SHLD-26: a hard error ends an attempt, and no connection that is
/// established.
#[test]
fn hard_errors_end_attempts_alone() {
    let mut hand = Hand::connecting(plain());
    assert!(hand.error(ErrorKind::Unreachable, 0));
    assert_eq!(hand.info().reason, Some(Reason::Unreachable));
    let mut hand = Hand::listening(plain());
    hand.give(given(SYN, 0, 0));
    hand.sent();
    assert!(hand.error(ErrorKind::Unreachable, 0));
    hand.give(given(ACK, 1, 1));
    assert!(hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap().is_some());
}

/// RFC 5927, section 4: an error about no segment in flight was made up.
#[test]
fn errors_about_nothing_in_flight_are_refused() {
    let mut hand = Hand::connected(plain());
    let too_big = ErrorKind::TooBig { mtu: 600 };
    assert!(!hand.error(too_big, 1));
    hand.write(&pattern(1_000));
    hand.sent();
    for seq in [-1, 0, 1_001, 1_000_000] {
        assert!(!hand.error(too_big, seq), "{seq}");
        assert!(!hand.error(ErrorKind::Unreachable, seq));
    }
    assert_eq!((hand.info().segment_len, hand.info().trouble), (1_460, None));
    assert!(hand.error(too_big, 1));
    assert!(hand.tcp.counters().errors_refused >= 8);
}

/// RFC 1191, section 6.4; RFC 9293, MUST-16: what was too long leaves again, shorter, at once, and
/// that is no sign of congestion.
#[test]
fn what_was_too_long_leaves_again_shorter() {
    let mut hand = Hand::connected(plain());
    hand.write(&pattern(3_000));
    assert_eq!(hand.sent()[0], "ACK 1+1460 ack 1");
    let before = hand.info().congestion_window;
    assert!(hand.error(ErrorKind::TooBig { mtu: 1_000 }, 1));
    assert_eq!(hand.sent()[..2], ["ACK 1+960 ack 1", "ACK 961+500 ack 1"]);
    assert_eq!(hand.info().segment_len, 960);
    assert!(hand.info().congestion_window * 2 > before);
    // It does not grow by a report, nor fall below what every link takes.
    assert!(!hand.error(ErrorKind::TooBig { mtu: 1_400 }, 1));
    assert!(hand.error(ErrorKind::TooBig { mtu: 68 }, 1));
    assert_eq!(hand.info().segment_len, 512);
}

/// RFC 8201, section 4; RFC 8200, section 5: over IPv6 that is 1,280.
#[test]
fn over_ipv6_the_least_is_1280() {
    let mut hand = Hand::new(plain());
    (hand.flow.local, hand.flow.remote) = ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
    let mut hand = hand.opened(given(SYN_ACK, 0, 1).mss(1_440));
    hand.write(&pattern(3_000));
    hand.sent();
    assert!(hand.error(ErrorKind::TooBig { mtu: 600 }, 1));
    assert_eq!(hand.info().segment_len, 1_220);
}

/// RFC 8899, section 4.3; RFC 2923, section 2.1: a router that drops long packets and does not say
/// so.
#[test]
fn a_black_hole_is_found() {
    let mut pair = Pair::new();
    let ids = pair.connected();
    pair.arrives = |passing| passing.from == 1 || passing.segment.payload().len() <= 1_000;
    let data = pattern(50_000);
    assert!(pair.transfer(ids, 0, &data) == data);
    assert!(pair.ends[0].info(ids[0]).unwrap().segment_len < 1_000);
}

/// RFC 9293, MUST-48, SHLD-21, SHLD-22, MUST-49: codepoint and TTL are what the program says, also
/// later, and in segments of no connection.
#[test]
fn codepoint_and_hop_limit_can_be_set() {
    let config = Config { diffserv: 10, hop_limit: 7, ..plain() };
    let mut hand = Hand::new(config);
    let next = |hand: &mut Hand| {
        let outgoing = hand.tcp.poll_transmit(hand.now, &mut [0; 2_000]).unwrap();
        (outgoing.diffserv, outgoing.hop_limit)
    };
    hand.give(given(SYN, 0, 0));
    assert_eq!(next(&mut hand), (10, 7));
    hand.connect();
    assert_eq!(next(&mut hand), (10, 7));
    let mut hand = Hand::connected(plain());
    hand.write(b"data");
    assert_eq!(next(&mut hand), (0, 64));
    hand.tcp.set_diffserv(hand.id(), 46, hand.now).unwrap();
    hand.give(given(ACK, 1, 5));
    hand.write(b"data");
    assert_eq!(next(&mut hand), (46, 64));
}

/// RFC 2923, section 2.1: one segment that no way need take may be far from full, on a link with a
/// large MTU.
#[test]
fn a_black_hole_is_found_by_a_segment_that_is_not_full() {
    let mut hand = Hand::new(plain());
    hand.mtu = 9_000;
    let mut hand = hand.opened(given(SYN_ACK, 0, 1).mss(8_960));
    hand.write(&[7; 1_000]);
    let lens: Vec<_> =
        hand.wait(Duration::from_secs(10)).iter().map(|left| left.payload.len()).collect();
    assert_eq!(lens[..3], [1_000; 3]);
    assert_eq!(lens.last(), Some(&536), "{lens:?}");
}
