//! Numbers that wrap, and numbers that begin: RFC 9293, section 3.4.

use super::{hand::*, *};

/// RFC 9293, section 3.4: numbers wrap in the handshake, in data, in FIN, and in what is
/// acknowledged, in both directions.
#[test]
fn a_connection_may_begin_before_the_wrap() {
    for begin in 0..8 {
        let mut hand = Hand::before_wrap(plain());
        hand.irs += begin;
        let mut hand = hand.opened(given(SYN_ACK, 0, 1).mss(1_460));
        assert!(hand.iss.0 > u32::MAX - 8, "{}", hand.iss);
        hand.write(b"abcdefgh");
        assert_eq!(hand.sent(), ["PSH|ACK 1+8 ack 1"]);
        hand.give(given(ACK, 1, 3));
        assert_eq!(hand.info().unacknowledged, 6);
        hand.give(given(ACK, 5, 9).data(b"efgh"));
        hand.give(given(ACK, 3, 9).data(b"cdef"));
        hand.give(given(ACK, 1, 9).data(b"ab"));
        assert_eq!(hand.read(), b"abcdefgh");
        // One for each that was out of order, and one for all.
        assert_eq!(hand.sent(), ["ACK 9+0 ack 1", "ACK 9+0 ack 1", "ACK 9+0 ack 9"]);
        // Older and newer than is possible.
        assert_eq!(hand.answer(given(ACK, 9, 10)), ["ACK 9+0 ack 9"]);
        hand.finish();
        assert_eq!(hand.sent(), ["FIN|ACK 9+0 ack 9"]);
        hand.give(given(FIN_ACK, 9, 10));
        assert_eq!((hand.state(), hand.tcp.time_waits()), (State::Closed, 1));
    }
}

/// RFC 9293, section 3.4, as listener, with selective acknowledgments.
#[test]
fn a_listener_may_begin_before_the_wrap() {
    let config = Config { sack: true, timestamps: true, ..plain() };
    let mut hand = Hand::before_wrap(config).listen();
    let syn = given(SYN, 0, 0).mss(1_460).sack_permitted();
    hand = hand.accepting(syn);
    assert!(hand.iss.0 > u32::MAX - 8, "{}", hand.iss);
    hand.write(&pattern(14_600));
    assert_eq!(hand.sent().len(), 10);
    let mut ack = given(ACK, 1, 1);
    ack.options.sack = hand.sack(&[(1_461, 14_601)]);
    hand.give(ack);
    let again = hand.wait(Duration::from_millis(10));
    assert_eq!(again[0].in_words(), "ACK 1+1460 ack 1");
    hand.give(given(ACK, 1, 14_601));
    assert_eq!(hand.info().unacknowledged, 0);
}

/// RFC 9293, section 3.4: nothing that is kept by number is left behind when much data goes by, on
/// its way through the wrap and through the middle.
#[test]
fn numbers_come_around() {
    let payload = pattern(60_000);
    for start in [u32::MAX - 5_000_000, (1 << 31) - 5_000_000] {
        let mut hand = Hand::new(plain());
        hand.irs = portolan_wire::Seq(start);
        let mut hand = hand.opened(given(SYN_ACK, 0, 1));
        let (mut seq, mut ack) = (1, 1);
        while seq < 10_000_000 {
            hand.give(given(ACK, seq, ack).data(&payload));
            seq += 60_000;
            assert_eq!(hand.read(), payload);
            hand.write(b"x");
            ack += 1;
            assert!(!hand.left().is_empty());
        }
        assert_eq!(hand.state(), State::Established);
        assert_eq!(hand.tcp.counters().out_of_window, 0);
    }
}

/// RFC 9293, MUST-8, SHLD-1, MUST-9; RFC 6528, section 3: the clock of 4 microseconds, and for each
/// flow a number that nobody outside can compute.
#[test]
fn first_numbers_follow_a_clock_and_a_secret() {
    let first = |hand: &mut Hand, port| {
        hand.flow.remote_port = port;
        hand.connect();
        hand.sent();
        hand.tcp.abort(hand.id(), hand.now).unwrap();
        hand.iss
    };
    let mut hand = Hand::new(plain());
    let before = first(&mut hand, 1_000);
    hand.now += Duration::from_secs(1);
    assert_eq!(first(&mut hand, 1_000).distance(before), 250_000);
    let others: std::collections::BTreeSet<u32> =
        (1_001..1_101).map(|port| first(&mut hand, port).distance(before)).collect();
    assert_eq!(others.len(), 100);
    let (least, most) = (others.first().unwrap(), others.last().unwrap());
    assert!(most - least > 1 << 31);
    // With another secret it is another number.
    let isn = |secret| isn::isn(&Keys::new([secret; 32]).isn, &hand.flow, hand.now);
    assert_ne!(isn(1), isn(2));
}
