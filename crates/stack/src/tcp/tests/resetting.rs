//! RST, sent and received: RFC 9293, section 3.5.2 and 3.5.3.

use super::{hand::*, *};

/// RFC 9293, section 3.5.2, group 1, and 3.10.7.1: no connection.
#[test]
fn a_closed_port_answers_so_that_it_is_believed() {
    let mut hand = Hand::new(plain());
    hand.give(given(SYN, 0, 0));
    let [reset] = &hand.left()[..] else { panic!() };
    assert_eq!((reset.flags, reset.seq, reset.ack), (RST_ACK, 0, 1));
    hand.give(given(FIN, 7, 0).data(b"data"));
    let [reset] = &hand.left()[..] else { panic!() };
    assert_eq!((reset.flags, reset.seq, reset.ack), (RST_ACK, 0, 12));
    assert_eq!(hand.answer(given(FIN_ACK, 7, 99).data(b"data")), ["RST 99+0"]);
    assert_eq!(hand.answer(given(SYN_ACK, 7, 99)), ["RST 99+0"]);
    // RST is not answered.
    assert_eq!(hand.answer(given(RST, 7, 0)), [""; 0]);
    assert_eq!(hand.answer(given(RST_ACK, 7, 99)), [""; 0]);
}

/// RFC 9293, section 3.5.2, group 3: in a synchronized state what is not acceptable is answered
/// with ACK, and the connection stays.
#[test]
fn what_is_not_acceptable_does_not_reset() {
    let mut hand = Hand::connected(plain());
    assert_eq!(hand.answer(given(ACK, 2_000_000, 1).data(b"data")), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.answer(given(ACK, 1, 5_000)), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.answer(given(SYN, 1, 0)), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.state(), State::Established);
}

/// RFC 9293, section 3.5.3 and 3.10.7.4, second, in every state; RFC 5961, section 3.2: only with
/// the very number that is expected.
#[test]
fn rst_ends_a_connection_in_every_state() {
    let finish = |hand: &mut Hand| {
        hand.finish();
        hand.sent();
    };
    type Arrange<'a> = &'a dyn Fn(&mut Hand);
    let arrange: [(State, Arrange<'_>); 6] = [
        (State::Established, &|_| {}),
        (State::FinWait1, &finish),
        (State::FinWait2, &|hand| {
            finish(hand);
            hand.give(given(ACK, 1, 2));
        }),
        (State::CloseWait, &|hand| hand.give(given(FIN_ACK, 1, 1))),
        (State::Closing, &|hand| {
            finish(hand);
            hand.give(given(FIN_ACK, 1, 1));
        }),
        (State::LastAck, &|hand| {
            hand.give(given(FIN_ACK, 1, 1));
            finish(hand);
        }),
    ];
    for (state, arrange) in arrange {
        let mut hand = Hand::connected(plain());
        arrange(&mut hand);
        assert_eq!(hand.state(), state);
        hand.sent();
        let next =
            if matches!(state, State::CloseWait | State::Closing | State::LastAck) { 2 } else { 1 };
        let challenge = hand.answer(given(RST, next + 1, 0));
        assert_eq!((challenge.len(), hand.state()), (1, state));
        assert_eq!(hand.answer(given(RST, next + 1_000_000, 0)), [""; 0]);
        assert_eq!(hand.answer(given(RST, next - 1, 0)), [""; 0]);
        assert_eq!(hand.state(), state);
        assert_eq!(hand.answer(given(RST, next, 0)), [""; 0]);
        assert_eq!((hand.state(), hand.info().reason), (State::Closed, Some(Reason::Reset)));
        assert_eq!(hand.tcp.timers(), 0, "{state:?}");
    }
}

/// RFC 9293, SHLD-2: a reset may say in words why.
#[test]
fn rst_may_have_data() {
    let mut hand = Hand::connected(plain());
    hand.give(given(RST, 1, 0).data(b"no memory"));
    assert_eq!((hand.info().reason, hand.info().unread), (Some(Reason::Reset), 0));
}

/// RFC 9293, MUST-66: RST is looked at although the window is closed.
#[test]
fn rst_gets_through_a_closed_window() {
    let mut hand = Hand::connected(Config { receive_buffer_bytes: 4_000, ..plain() });
    hand.give(given(ACK, 1, 1).data(&pattern(4_000)));
    let left = hand.left();
    assert_eq!(left.last().unwrap().window, 0);
    assert_eq!(hand.answer(given(RST, 4_002, 0)), [""; 0]);
    assert_eq!(hand.state(), State::Established);
    hand.give(given(RST, 4_001, 0));
    assert_eq!(hand.info().reason, Some(Reason::Reset));
}
