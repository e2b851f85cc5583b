//! How connections begin: RFC 9293, section 3.5.

use super::{hand::*, *};

/// RFC 9293, section 3.5, figure 6, from both sides; section 3.10.7.2 and 3.10.7.3, fourth.
#[test]
fn a_handshake_has_three_segments() {
    let mut hand = Hand::new(plain());
    hand.connect();
    assert_eq!(hand.sent(), ["SYN 0+0"]);
    assert_eq!(hand.state(), State::SynSent);
    assert_eq!(hand.answer(given(SYN_ACK, 0, 1)), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.state(), State::Established);
    assert!(hand.ready().contains(Ready::CONNECTED));

    let mut hand = Hand::listening(plain());
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
    assert_eq!(hand.tcp.accept(hand.listener.unwrap(), hand.now), Ok(None));
    assert_eq!(hand.answer(given(ACK, 1, 1)), [""; 0]);
    assert_eq!(hand.tcp.poll_event(), Some(Event::Acceptable(hand.listener.unwrap())));
    hand.id = hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap();
    assert_eq!(hand.state(), State::Established);
}

/// RFC 9293, MUST-10; section 3.5, figure 7.
#[test]
fn two_may_open_at_the_same_time() {
    let mut hand = Hand::connecting(plain());
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
    assert_eq!(hand.state(), State::SynReceived);
    assert_eq!(hand.answer(given(SYN_ACK, 0, 1)), [""; 0]);
    assert_eq!(hand.state(), State::Established);
    assert!(hand.ready().contains(Ready::CONNECTED));
    // The same with a plain ACK, which a stack sends that has had our SYN with ACK.
    let mut hand = Hand::connecting(plain());
    hand.answer(given(SYN, 0, 0));
    hand.give(given(ACK, 1, 1));
    assert_eq!(hand.state(), State::Established);
}

/// RFC 9293, MUST-10, with both ends of our own.
#[test]
fn two_of_our_own_open_at_the_same_time() {
    let mut pair = Pair::new();
    let at = |end: usize| SocketAddr::new(ADDRESSES[end], PORT);
    let ids = [0, 1]
        .map(|end| pair.ends[end].connect_from(at(end), at(1 - end), 1_500, pair.now).unwrap());
    pair.run(Duration::from_millis(100));
    assert_eq!([pair.state(0, ids[0]), pair.state(1, ids[1])], [State::Established; 2]);
    let data = pattern(100_000);
    assert!(pair.transfer(ids, 0, &data) == data);
    assert!(pair.transfer(ids, 1, &data) == data);
    assert_eq!(pair.ends[0].counters().timeouts, 0, "{:#?}", pair.log);
}

/// RFC 7323, section 2.2: the window of a SYN is not shifted, nor that of a SYN that crosses ours.
#[test]
fn the_window_of_a_crossing_syn_is_not_shifted() {
    let mut hand = Hand::connecting(Config::default());
    hand.give(given(SYN, 0, 0).scale(7).window(1_000));
    assert_eq!(hand.info().window, 1_000);
    hand.give(given(SYN_ACK, 0, 1).scale(7).window(1_000));
    assert_eq!(hand.state(), State::Established);
    assert!(hand.info().window <= 1_000, "{}", hand.info().window);
    hand.give(given(ACK, 1, 1).window(1_000));
    assert_eq!(hand.info().window, 128_000);
}

/// RFC 9293, MUST-11: after SYN-RECEIVED, RST ends an attempt from here, and leads back to LISTEN
/// one from outside.
#[test]
fn syn_received_knows_where_it_came_from() {
    let mut hand = Hand::connecting(plain());
    hand.answer(given(SYN, 0, 0));
    hand.give(given(RST, 1, 0));
    assert_eq!(hand.info().reason, Some(Reason::Refused));
    assert!(hand.ready().contains(Ready::CLOSED));

    let mut hand = Hand::listening(plain());
    hand.answer(given(SYN, 0, 0));
    assert_eq!(hand.answer(given(RST, 1, 0)), [""; 0]);
    assert_eq!((hand.tcp.connections(), hand.tcp.poll_event()), (0, None));
    hand.irs += 100_000;
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
}

/// RFC 9293, section 3.5, figure 8: the SYN of a connection long gone comes before the new one.
#[test]
fn an_old_syn_does_no_harm() {
    // The listener's side: RST from the other end leads back to LISTEN.
    let mut hand = Hand::listening(plain());
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
    assert_eq!(hand.answer(given(RST, 1, 0)), [""; 0]);
    hand.irs += 10;
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
    hand.give(given(ACK, 1, 1));
    assert!(hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap().is_some());
    // The other side: the answer acknowledges what it never sent.
    let mut hand = Hand::connecting(plain());
    assert_eq!(hand.answer(given(SYN_ACK, 0, -9)), ["RST -9+0"]);
    assert_eq!(hand.state(), State::SynSent);
    assert_eq!(hand.answer(given(SYN_ACK, 0, 1)), ["ACK 1+0 ack 1"]);
}

/// RFC 9293, section 3.5.1, figure 9: this end has forgotten the connection and opens a new one.
#[test]
fn a_half_open_connection_is_found_by_the_syn() {
    let mut hand = Hand::connecting(plain());
    // The other end says where it stands; RST makes it forget.
    assert_eq!(hand.answer(given(ACK, 300, 100)), ["RST 100+0"]);
    assert_eq!(hand.state(), State::SynSent);
    let resent = hand.wait(Duration::from_secs(1));
    assert_eq!(timed(&resent), [(1_000, "SYN 0+0".into())]);
    // And when it is the other end that has forgotten: RFC 5961, section 4.
    let mut hand = Hand::connected(plain());
    assert_eq!(hand.answer(given(SYN, 400, 0)), ["ACK 1+0 ack 1"]);
    hand.give(given(RST, 1, 0));
    assert_eq!(hand.info().reason, Some(Reason::Reset));
}

/// RFC 9293, section 3.5.1, figure 10: data for a connection that this end has forgotten.
#[test]
fn a_half_open_connection_is_found_by_data() {
    let mut hand = Hand::new(plain());
    assert_eq!(hand.answer(given(ACK, 300, 100).data(b"data")), ["RST 100+0"]);
    let mut hand = Hand::connected(plain());
    hand.write(b"data");
    hand.sent();
    hand.give(given(RST, 1, 0));
    assert_eq!(hand.info().reason, Some(Reason::Reset));
}

/// RFC 9293, section 3.5.1, figure 11: two listeners, and a SYN of long ago.
#[test]
fn a_listener_that_is_answered_by_mistake_goes_on() {
    let mut hand = Hand::listening(plain());
    assert_eq!(hand.answer(given(SYN_ACK, 0, 100)), ["RST 100+0"]);
    assert_eq!(hand.tcp.connections(), 0);
}

/// RFC 9293, section 3.10.7.4, first: in SYN-RECEIVED the number is looked at before the
/// acknowledgment, so that a segment from before is not answered with RST.
#[test]
fn syn_received_looks_at_the_number_first() {
    let mut hand = Hand::listening(plain());
    hand.answer(given(SYN, 0, 0));
    assert_eq!(hand.answer(given(ACK, -100_000, 5)), ["SYN|ACK 0+0 ack 1"]);
    // Fifth: in the window, with an acknowledgment of what was never sent.
    assert_eq!(hand.answer(given(ACK, 1, 5)), ["RST 5+0"]);
    assert_eq!(hand.answer(given(ACK, 1, 0)), ["RST 0+0"]);
    hand.give(given(ACK, 1, 1));
    assert!(hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap().is_some());
}

/// RFC 9293, section 3.10.7.4, fourth: SYN once more is answered once more.
#[test]
fn a_syn_that_comes_twice_is_answered_twice() {
    let mut hand = Hand::listening(plain());
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
    assert_eq!(hand.answer(given(SYN, 0, 0)), ["SYN|ACK 0+0 ack 1"]);
    assert_eq!(hand.tcp.connections(), 1);
}

/// RFC 9293, MUST-18 and RFC 6298, section 3: which of two SYNs is acknowledged nobody knows.
#[test]
fn an_answer_to_one_of_two_syns_is_no_measurement() {
    let mut hand = Hand::listening(plain());
    hand.give(given(SYN, 0, 0));
    hand.sent();
    hand.wait(Duration::from_millis(900));
    hand.give(given(SYN, 0, 0));
    assert_eq!(hand.sent(), ["SYN|ACK 0+0 ack 1"]);
    hand.wait(Duration::from_millis(1));
    hand.give(given(ACK, 1, 1));
    hand.id = hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap();
    assert_eq!(hand.info().round_trip, None);
}

/// RFC 9293, section 3.10.7.2: what a listener takes, refuses and drops.
#[test]
fn a_listener_takes_syn_alone() {
    let mut hand = Hand::listening(plain());
    assert_eq!(hand.answer(given(RST, 0, 0)), [""; 0]);
    assert_eq!(hand.answer(given(ACK, 0, 100)), ["RST 100+0"]);
    assert_eq!(hand.answer(given(RST_ACK, 0, 100)), [""; 0]);
    assert_eq!(hand.answer(given(FIN, 0, 0)), [""; 0]);
    assert_eq!(hand.answer(given(PSH, 0, 0).data(b"data")), [""; 0]);
    assert_eq!(hand.tcp.connections(), 0);
}

/// RFC 9293, section 3.10.7.3: what a connection takes that waits for an answer.
#[test]
fn syn_sent_takes_syn_alone() {
    let mut hand = Hand::connecting(plain());
    assert_eq!(hand.answer(given(ACK, 1, 1)), [""; 0]);
    assert_eq!(hand.answer(given(FIN_ACK, 1, 1)), [""; 0]);
    assert_eq!(hand.answer(given(PSH, 1, 0).data(b"data")), [""; 0]);
    // First: an acknowledgment of what was not sent.
    assert_eq!(hand.answer(given(ACK, 1, 0)), ["RST 0+0"]);
    assert_eq!(hand.answer(given(ACK, 1, 2)), ["RST 2+0"]);
    assert_eq!(hand.answer(given(RST_ACK, 1, 2)), [""; 0]);
    // Second: RST without an acknowledgment says nothing (RFC 5961, section 3.2).
    assert_eq!(hand.answer(given(RST, 0, 0)), [""; 0]);
    assert_eq!(hand.state(), State::SynSent);
    hand.give(given(RST_ACK, 0, 1));
    assert_eq!(hand.info().reason, Some(Reason::Refused));
}

/// RFC 9293, section 3.10.7.3, fourth: data with the SYN is not taken; it comes again.
#[test]
fn data_with_the_syn_comes_again() {
    let mut hand = Hand::listening(plain());
    assert_eq!(hand.answer(given(SYN, 0, 0).data(b"data")), ["SYN|ACK 0+0 ack 1"]);
    hand.give(given(ACK, 1, 1).data(b"data"));
    hand.id = hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap();
    assert_eq!(hand.read(), b"data");
}

/// RFC 9293, section 3.10.2: what is written before the connection is open leaves afterwards.
#[test]
fn what_is_written_early_waits_for_the_handshake() {
    let mut hand = Hand::connecting(plain());
    assert_eq!(hand.write(b"early"), 5);
    hand.finish();
    assert_eq!(hand.sent(), [""; 0]);
    assert_eq!(hand.answer(given(SYN_ACK, 0, 1)), ["FIN|PSH|ACK 1+5 ack 1"]);
    assert_eq!(hand.state(), State::FinWait1);
}

/// RFC 9293, MUST-46; section 3.9.2.3.
#[test]
fn there_is_one_other_end() {
    let mut hand = Hand::new(plain());
    let v4 = |a, b, c, d| SocketAddr::from(([a, b, c, d], 80));
    let group_v6 = SocketAddr::new("ff02::1".parse().unwrap(), 80);
    let local_v6 = "fd00::1".parse().unwrap();
    for remote in [v4(224, 0, 0, 1), v4(255, 255, 255, 255), v4(0, 0, 0, 0)] {
        let refused = hand.tcp.connect(ADDRESSES[0], remote, 1_500, hand.now);
        assert_eq!(refused, Err(Error::NotADestination(remote)));
    }
    for (local, remote) in [(local_v6, group_v6), (ADDRESSES[0], group_v6)] {
        let refused = hand.tcp.connect(local, remote, 1_500, hand.now);
        assert_eq!(refused, Err(Error::NotADestination(remote)));
    }
    assert_eq!(hand.sent(), [""; 0]);
}

/// RFC 9293, MUST-43, MUST-45: the address that the program names is the one that SYN has.
#[test]
fn the_program_may_choose_its_address() {
    let mut hand = Hand::new(plain());
    let local = SocketAddr::from(([10, 9, 8, 7], 1_234));
    let remote = SocketAddr::new(ADDRESSES[1], 80);
    hand.tcp.connect_from(local, remote, 1_500, hand.now).unwrap();
    let mut buffer = [0; 100];
    let outgoing = hand.tcp.poll_transmit(hand.now, &mut buffer).unwrap();
    assert_eq!(outgoing.source, local.ip());
    assert_eq!(Packet::parse(&buffer[..outgoing.len]).unwrap().source_port(), 1_234);
    // Twice the same two ends are one too many.
    let again = hand.tcp.connect_from(local, remote, 1_500, hand.now);
    assert_eq!(again, Err(Error::ConnectionInUse(remote)));
}
