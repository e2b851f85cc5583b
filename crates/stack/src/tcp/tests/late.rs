//! TIME-WAIT: RFC 9293, section 3.6.1; RFC 6191; RFC 1337.

use super::{hand::*, *};

/// This end has closed first: the hand's next number is 2, ours as well.
fn waiting(config: Config) -> Hand {
    let clock = config.timestamps;
    let with_clock = |given: Given<'static>, value| {
        if clock { given.clock(value, 0) } else { given }
    };
    let hand = Hand::listening(config);
    let mut hand = hand.accepting(with_clock(given(SYN, 0, 0), 1_000));
    hand.finish();
    hand.sent();
    let answer = hand.answer(with_clock(given(FIN_ACK, 1, 2), 1_000));
    assert_eq!(answer, ["ACK 2+0 ack 2"]);
    assert_eq!(hand.tcp.time_waits(), 1);
    hand.tcp.close(hand.id(), hand.now).unwrap();
    assert_eq!(hand.tcp.connections(), 0);
    hand
}

fn clocks() -> Config {
    Config { timestamps: true, ..plain() }
}

/// RFC 9293, MUST-13: as long as the configuration says; here twice a segment lifetime of 30 s.
#[test]
fn an_ended_connection_waits_for_late_segments() {
    let mut hand = waiting(plain());
    hand.wait(Duration::from_secs(59));
    assert_eq!(hand.tcp.time_waits(), 1);
    hand.wait(Duration::from_secs(1));
    assert_eq!((hand.tcp.time_waits(), hand.tcp.poll_timeout()), (0, None));
    let mut hand = waiting(Config { time_wait: Duration::from_secs(240), ..plain() });
    hand.wait(Duration::from_secs(239));
    assert_eq!(hand.tcp.time_waits(), 1);
}

/// RFC 9293, section 3.10.7.4, eighth: FIN once more is answered once more, and the wait begins
/// again.
#[test]
fn fin_once_more_begins_the_wait_again() {
    let mut hand = waiting(plain());
    for _ in 0..5 {
        hand.wait(Duration::from_secs(50));
        assert_eq!(hand.answer(given(FIN_ACK, 1, 2)), ["ACK 2+0 ack 2"]);
    }
    hand.wait(Duration::from_secs(59));
    assert_eq!(hand.tcp.time_waits(), 1);
    hand.wait(Duration::from_secs(2));
    assert_eq!(hand.tcp.time_waits(), 0);
}

/// RFC 1337, section 2: neither old data nor RST ends the wait (hazards 1 to 3).
#[test]
fn nobody_ends_the_wait() {
    let mut hand = waiting(plain());
    assert_eq!(hand.answer(given(RST, 2, 0)), [""; 0]);
    assert_eq!(hand.answer(given(ACK, -100, 1).data(b"old")), ["ACK 2+0 ack 2"]);
    assert_eq!(hand.answer(given(RST, 2, 0)), [""; 0]);
    assert_eq!(hand.tcp.time_waits(), 1);
}

/// RFC 9293, section 3.10.7.4: two ends that wait do not talk for ever.
#[test]
fn an_acknowledgment_is_not_acknowledged() {
    let mut hand = waiting(plain());
    assert_eq!(hand.answer(given(ACK, 2, 2)), [""; 0]);
    let answers: usize = (0..100).map(|_| hand.answer(given(ACK, 500, 2)).len()).sum();
    assert!(answers <= 1, "{answers}");
}

/// A listener that answers an old SYN may do so with the very number that is waited for: by RFC
/// 6528 it grows with time, as that of the connection grew with its data.
#[test]
fn an_answer_to_an_old_syn_opens_nothing() {
    let mut hand = waiting(plain());
    assert_eq!(hand.answer(given(SYN_ACK, 1, 1)), [""; 0]);
    assert_eq!(hand.tcp.time_waits(), 1);
}

/// RFC 9293, MAY-2; RFC 6191, section 2: a SYN with a number beyond all of before begins a new
/// connection, whose own number is beyond all of before as well.
#[test]
fn a_newer_number_begins_a_new_connection() {
    let mut hand = waiting(plain());
    let (old_iss, irs) = (hand.iss, hand.irs);
    hand.irs = irs + 2;
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["ACK 2+0 ack 0"]);
    hand.irs = irs + 3;
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
    assert!(hand.iss.after(old_iss + 2));
    assert_eq!((hand.tcp.time_waits(), hand.tcp.connections()), (0, 1));
    hand.give(given(ACK, 1, 1));
    assert!(hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap().is_some());
}

/// RFC 9293, SHLD-4; RFC 6191, section 2: a newer timestamp does as well, whatever the number.
#[test]
fn a_newer_timestamp_begins_a_new_connection() {
    let mut hand = waiting(clocks());
    let irs = hand.irs;
    // An older one, with a newer number; the same one, with an older number.
    hand.irs = irs + 100_000;
    hand.give(given(SYN, 0, 0).clock(999, 0));
    hand.irs = irs + 1;
    hand.give(given(SYN, 0, 0).clock(1_000, 0));
    assert_eq!((hand.tcp.time_waits(), hand.tcp.connections()), (1, 0));
    hand.left();
    hand.irs = irs;
    hand.irs += 0x9000_0000;
    assert_eq!(hand.answer(given(SYN, 0, 0).clock(1_001, 0)), ["SYN|ACK 0+0 ack 1"]);
    assert_eq!((hand.tcp.time_waits(), hand.tcp.connections()), (0, 1));
}

/// RFC 6191, section 2: the same timestamp with a newer number; and one of both ends without a
/// clock.
#[test]
fn without_a_newer_timestamp_the_number_decides() {
    for (config, syn) in [
        (clocks(), given(SYN, 0, 0).clock(1_000, 0)),
        (clocks(), given(SYN, 0, 0)),
        (plain(), given(SYN, 0, 0).clock(5, 0)),
    ] {
        let mut hand = waiting(config);
        let irs = hand.irs;
        hand.irs = irs - 1_000;
        hand.give(syn);
        assert_eq!(hand.tcp.time_waits(), 1);
        hand.irs = irs + 1_000;
        hand.give(syn);
        assert_eq!((hand.tcp.time_waits(), hand.tcp.connections()), (0, 1));
    }
}

/// RFC 9293, MAY-2: where nobody listens any more, the wait goes on.
#[test]
fn without_a_listener_the_wait_goes_on() {
    let mut hand = waiting(plain());
    hand.tcp.close_listener(hand.listener.unwrap(), hand.now).unwrap();
    hand.irs += 1_000;
    hand.give(given(SYN, 0, 0));
    assert_eq!(hand.tcp.time_waits(), 1);
}

/// RFC 9293, section 3.10.1: from here the two ends cannot be used before the wait is over.
#[test]
fn from_here_the_ports_are_in_use() {
    let mut hand = Hand::connected(plain());
    hand.finish();
    hand.sent();
    hand.give(given(FIN_ACK, 1, 2));
    hand.tcp.close(hand.id(), hand.now).unwrap();
    let local = SocketAddr::new(hand.flow.local, hand.flow.local_port);
    let remote = SocketAddr::new(hand.flow.remote, hand.flow.remote_port);
    let again = hand.tcp.connect_from(local, remote, 1_500, hand.now);
    assert_eq!(again, Err(Error::ConnectionInUse(remote)));
    hand.wait(Duration::from_secs(61));
    assert!(hand.tcp.connect_from(local, remote, 1_500, hand.now).is_ok());
}

/// More than the limit: the oldest go, and it is counted.
#[test]
fn there_is_a_limit_of_those_that_wait() {
    let mut hand = Hand::listening(Config { time_waits_max: 10, ..plain() });
    for port in 1_000..1_020 {
        hand.flow.remote_port = port;
        hand = hand.accepting(given(SYN, 0, 0));
        hand.finish();
        hand.sent();
        hand.give(given(FIN_ACK, 1, 2));
        hand.tcp.close(hand.id(), hand.now).unwrap();
    }
    assert_eq!((hand.tcp.time_waits(), hand.tcp.counters().time_waits_full), (10, 10));
}
