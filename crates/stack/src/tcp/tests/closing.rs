//! How connections end: RFC 9293, section 3.6.

use super::{hand::*, *};

/// RFC 9293, section 3.6, figure 12, from the side that closes first.
#[test]
fn who_closes_first_waits() {
    let mut hand = Hand::connected(plain());
    hand.finish();
    assert_eq!(hand.sent(), ["FIN|ACK 1+0 ack 1"]);
    assert_eq!(hand.state(), State::FinWait1);
    hand.give(given(ACK, 1, 2));
    assert_eq!(hand.state(), State::FinWait2);
    assert_eq!(hand.answer(given(FIN_ACK, 1, 2)), ["ACK 2+0 ack 2"]);
    assert_eq!((hand.tcp.time_waits(), hand.state()), (1, State::Closed));
    assert_eq!(hand.info().reason, None);
}

/// RFC 9293, section 3.6, figure 12, from the side that closes second.
#[test]
fn who_closes_second_does_not_wait() {
    let mut hand = Hand::connected(plain());
    assert_eq!(hand.answer(given(FIN_ACK, 1, 1)), ["ACK 1+0 ack 2"]);
    assert_eq!(hand.state(), State::CloseWait);
    assert!(hand.ready().contains(Ready::FINISHED));
    hand.finish();
    assert_eq!(hand.sent(), ["FIN|ACK 1+0 ack 2"]);
    assert_eq!(hand.state(), State::LastAck);
    hand.give(given(ACK, 2, 2));
    assert_eq!((hand.tcp.time_waits(), hand.state()), (0, State::Closed));
    assert!(hand.ready().contains(Ready::CLOSED));
}

/// RFC 9293, section 3.6, figure 13.
#[test]
fn two_may_close_at_the_same_time() {
    let mut hand = Hand::connected(plain());
    hand.finish();
    hand.sent();
    assert_eq!(hand.answer(given(FIN_ACK, 1, 1)), ["ACK 2+0 ack 2"]);
    assert_eq!(hand.state(), State::Closing);
    hand.give(given(ACK, 2, 2));
    assert_eq!((hand.tcp.time_waits(), hand.state()), (1, State::Closed));
    // The FIN of the peer may acknowledge ours.
    let mut hand = Hand::connected(plain());
    hand.finish();
    hand.sent();
    assert_eq!(hand.answer(given(FIN_ACK, 1, 2)), ["ACK 2+0 ack 2"]);
    assert_eq!(hand.tcp.time_waits(), 1);
}

/// RFC 9293, MAY-1 and section 3.6, case 1: who has finished goes on to receive, for as long as
/// the peer likes.
#[test]
fn one_half_may_stay_open() {
    let mut hand = Hand::connected(plain());
    hand.finish();
    hand.sent();
    hand.give(given(ACK, 1, 2));
    hand.wait(Duration::from_secs(86_400));
    for index in 0..10 {
        hand.give(given(ACK, 1 + 4 * index, 2).data(b"data"));
        assert_eq!(hand.read(), b"data");
    }
    assert_eq!(hand.tcp.write(hand.id(), b"more", hand.now), Err(Error::Finished));
    assert_eq!(hand.state(), State::FinWait2);
}

/// RFC 9293, section 3.6, case 2: data may go to who has finished.
#[test]
fn the_other_half_may_stay_open() {
    let mut hand = Hand::connected(plain());
    hand.give(given(FIN_ACK, 1, 1));
    hand.sent();
    hand.write(b"data");
    assert_eq!(hand.sent(), ["PSH|ACK 1+4 ack 2"]);
    hand.finish();
    assert_eq!(hand.sent(), ["FIN|ACK 5+0 ack 2"]);
}

/// RFC 9293, section 3.10.4: FIN leaves after all that was written, with the last of it.
#[test]
fn fin_goes_with_the_last_data() {
    let mut hand = Hand::connected(plain());
    hand.write(&pattern(2_000));
    hand.finish();
    assert_eq!(hand.sent(), ["ACK 1+1460 ack 1", "FIN|PSH|ACK 1461+540 ack 1"]);
    // Acknowledged without FIN, it comes alone.
    hand.give(given(ACK, 1, 2_001));
    let again = hand.wait(Duration::from_secs(1));
    assert!(
        again.iter().all(|left| left.in_words() == "FIN|ACK 2001+0 ack 1"),
        "{:?}",
        timed(&again)
    );
    assert!(!again.is_empty());
    hand.give(given(ACK, 1, 2_002));
    assert_eq!(hand.state(), State::FinWait2);
}

/// RFC 9293, section 3.10.7.4, eighth: data and FIN of one segment, and FIN that comes twice.
#[test]
fn data_comes_before_its_fin() {
    let mut hand = Hand::connected(plain());
    assert_eq!(hand.answer(given(FIN_ACK, 1, 1).data(b"last")), ["ACK 1+0 ack 6"]);
    assert_eq!((hand.read(), hand.state()), (b"last".to_vec(), State::CloseWait));
    assert_eq!(hand.answer(given(FIN_ACK, 1, 1).data(b"last")), ["ACK 1+0 ack 6"]);
    assert_eq!(hand.answer(given(FIN_ACK, 5, 1)), ["ACK 1+0 ack 6"]);
    assert_eq!((hand.read(), hand.state()), (Vec::new(), State::CloseWait));
}

/// RFC 9293, section 3.10.7.4, seventh and eighth: FIN before the data that it follows; RFC 5681,
/// section 4.2: the gap is told at once.
#[test]
fn fin_waits_for_the_data_before_it() {
    let mut hand = Hand::connected(Config { delayed_ack: Duration::from_millis(400), ..plain() });
    assert_eq!(hand.answer(given(FIN_ACK, 5, 1)), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.state(), State::Established);
    assert_eq!(hand.answer(given(ACK, 1, 1).data(b"data")), ["ACK 1+0 ack 6"]);
    assert_eq!((hand.read(), hand.state()), (b"data".to_vec(), State::CloseWait));
    // With data of its own.
    let mut hand = Hand::connected(plain());
    assert_eq!(hand.answer(given(FIN_ACK, 5, 1).data(b"last")), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.answer(given(ACK, 1, 1).data(b"data")), ["ACK 1+0 ack 10"]);
    assert_eq!((hand.read(), hand.state()), (b"datalast".to_vec(), State::CloseWait));
}

/// RFC 9293, section 3.10.7.4, seventh: nothing comes after FIN.
#[test]
fn nothing_is_taken_after_fin() {
    let mut hand = Hand::connected(plain());
    hand.give(given(FIN_ACK, 1, 1));
    hand.sent();
    hand.give(given(ACK, 2, 1).data(b"more"));
    assert_eq!((hand.read(), hand.state()), (Vec::new(), State::CloseWait));
    hand.write(b"x");
    assert_eq!(hand.sent(), ["PSH|ACK 1+1 ack 2"]);
}

/// RFC 9293, SHLD-3: who closes with data unread, or gets some afterwards, says by RST that it was
/// lost.
#[test]
fn data_that_nobody_reads_is_not_swallowed() {
    let mut hand = Hand::connected(plain());
    hand.give(given(ACK, 1, 1).data(b"unread"));
    hand.sent();
    hand.tcp.close(hand.id(), hand.now).unwrap();
    assert_eq!(hand.sent(), ["RST|ACK 1+0 ack 7"]);
    assert_eq!(hand.tcp.connections(), 0);

    let mut hand = Hand::connected(plain());
    hand.tcp.close(hand.id(), hand.now).unwrap();
    assert_eq!(hand.sent(), ["FIN|ACK 1+0 ack 1"]);
    hand.give(given(ACK, 1, 2));
    assert_eq!(hand.answer(given(ACK, 1, 2).data(b"late")), ["RST|ACK 2+0 ack 1"]);
    assert_eq!(hand.tcp.connections(), 0);
}

/// A connection that its program has left does not wait for the peer for ever. RFC 9293, section
/// 3.6 has no such limit; all hosts have one.
#[test]
fn an_orphan_ends_in_fin_wait_2() {
    let mut hand = Hand::connected(plain());
    hand.tcp.close(hand.id(), hand.now).unwrap();
    hand.sent();
    hand.give(given(ACK, 1, 2));
    hand.wait(Duration::from_secs(59));
    assert_eq!(hand.tcp.connections(), 1);
    hand.wait(Duration::from_secs(2));
    assert_eq!((hand.tcp.connections(), hand.tcp.timers()), (0, 0));
}

/// RFC 9293, section 3.10.5: ABORT sends RST, and forgets.
#[test]
fn abort_is_told_by_rst() {
    let mut hand = Hand::connected(plain());
    hand.write(b"data");
    hand.sent();
    hand.tcp.abort(hand.id(), hand.now).unwrap();
    assert_eq!(hand.sent(), ["RST|ACK 5+0 ack 1"]);
    assert_eq!((hand.tcp.connections(), hand.tcp.blocks_in_use()), (0, 0));
    // A peer that nobody has heard of is told nothing.
    let mut hand = Hand::connecting(plain());
    hand.tcp.abort(hand.id(), hand.now).unwrap();
    assert_eq!((hand.sent(), hand.tcp.connections()), (vec![], 0));
}

/// RFC 9293, MUST-12: an end by RST looks different from one by FIN.
#[test]
fn an_abort_of_the_peer_is_told() {
    let mut hand = Hand::connected(plain());
    hand.give(given(ACK, 1, 1).data(b"data"));
    hand.give(given(RST, 5, 0));
    assert!(hand.ready().contains(Ready::CLOSED));
    assert_eq!(hand.info().reason, Some(Reason::Reset));
    // What arrived before can be read.
    assert_eq!(hand.read(), b"data");
    let ended = hand.tcp.read(hand.id(), &mut [0; 9], hand.now);
    assert_eq!(ended, Err(Error::Ended(Reason::Reset)));
    assert_eq!(hand.tcp.write(hand.id(), b"x", hand.now), Err(Error::Ended(Reason::Reset)));
}
