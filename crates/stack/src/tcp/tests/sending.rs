//! What leaves and in which pieces: RFC 9293, sections 3.7, 3.8.6.2.1 and 3.9.1.2.

use super::{hand::*, *};
use crate::tcp::congestion::Algorithm;

/// RFC 9293, SHLD-28: as much as a segment takes.
#[test]
fn segments_are_as_long_as_they_may_be() {
    let mut hand = Hand::connected(plain());
    hand.write(&pattern(4_000));
    let left = hand.left();
    let lengths: Vec<usize> = left.iter().map(|left| left.payload.len()).collect();
    assert_eq!(lengths, [1_460, 1_460, 1_080]);
    let sent: Vec<u8> = left.into_iter().flat_map(|left| left.payload).collect();
    assert_eq!(sent, pattern(4_000));
}

/// RFC 9293, SHLD-7: Nagle's algorithm, in Minshall's form (appendix A.3): a small segment waits
/// while another small one is not acknowledged.
#[test]
fn small_segments_wait_for_small_ones() {
    let mut hand = Hand::connected(plain());
    hand.write(b"a");
    assert_eq!(hand.sent(), ["PSH|ACK 1+1 ack 1"]);
    hand.write(b"bc");
    hand.write(b"de");
    assert_eq!(hand.sent(), [""; 0]);
    assert_eq!(hand.answer(given(ACK, 1, 2)), ["PSH|ACK 2+4 ack 1"]);
    // A full one does not wait, nor does FIN.
    hand.write(&pattern(1_500));
    assert_eq!(hand.sent(), ["ACK 6+1460 ack 1"]);
    hand.finish();
    assert_eq!(hand.sent(), ["FIN|PSH|ACK 1466+40 ack 1"]);
}

/// RFC 9293, MUST-17: the program may switch Nagle's algorithm off, for one connection or for all.
#[test]
fn the_program_may_do_without_nagle() {
    let mut hand = Hand::connected(plain());
    hand.tcp.set_nodelay(hand.id(), true, hand.now).unwrap();
    let mut other = Hand::connected(Config { nodelay: true, ..plain() });
    for hand in [&mut hand, &mut other] {
        for seq in 1..5 {
            hand.write(b"x");
            assert_eq!(hand.sent(), [std::format!("PSH|ACK {seq}+1 ack 1")]);
        }
    }
    hand.tcp.set_nodelay(hand.id(), false, hand.now).unwrap();
    hand.write(b"x");
    assert_eq!(hand.sent(), [""; 0]);
}

/// RFC 9293, MUST-38, section 3.8.6.2.1: small pieces of a window that opens slowly are not sent.
#[test]
fn a_window_that_opens_slowly_is_not_filled_at_once() {
    let mut hand = Hand::connected(plain());
    hand.give(given(ACK, 1, 1).window(4_000));
    hand.write(&pattern(10_000));
    assert_eq!(hand.sent(), ["ACK 1+1460 ack 1", "ACK 1461+1460 ack 1"]);
    // 1,080 are left in the window, and then 1,180: less than a segment.
    assert_eq!(hand.answer(given(ACK, 1, 1_461).window(2_640)), [""; 0]);
    let next = hand.answer(given(ACK, 1, 2_921).window(2_920));
    assert_eq!(next, ["ACK 2921+1460 ack 1", "ACK 4381+1460 ack 1"]);
}

/// RFC 9293, section 3.8.6.2.1, (3): half of the largest window is enough, for peers whose whole
/// buffer is less than a segment; and (4): what is less leaves in the end.
#[test]
fn a_small_buffer_is_used_by_half() {
    let mut hand = Hand::new(plain()).opened(given(SYN_ACK, 0, 1).mss(1_460).window(1_000));
    hand.write(&pattern(10_000));
    assert_eq!(hand.sent(), ["ACK 1+1000 ack 1"]);
    assert_eq!(hand.answer(given(ACK, 1, 1_001).window(600)), ["ACK 1001+600 ack 1"]);
    assert_eq!(hand.answer(given(ACK, 1, 1_601).window(300)), [""; 0]);
    let late = hand.wait(Duration::from_secs(2));
    assert_eq!(late[0].in_words(), "ACK 1601+300 ack 1");
}

/// RFC 9293, MUST-60, MUST-61, SHLD-27: PSH is on the segment that empties the buffer, and on that
/// one alone; nothing waits for more to be written.
#[test]
fn push_is_on_the_last_segment() {
    let mut hand = Hand::connected(Config { nodelay: true, ..plain() });
    for _ in 0..30 {
        hand.write(&pattern(100));
    }
    assert_eq!(hand.sent(), ["ACK 1+1460 ack 1", "ACK 1461+1460 ack 1", "PSH|ACK 2921+80 ack 1"]);
}

/// RFC 9293, MAY-16: data that the window holds back is joined.
#[test]
fn what_waits_is_joined() {
    let mut hand = Hand::connected(Config { nodelay: true, ..plain() });
    hand.give(given(ACK, 1, 1).window(0));
    for _ in 0..100 {
        hand.write(b"ten bytes ");
    }
    assert_eq!(hand.answer(given(ACK, 1, 1)), ["PSH|ACK 1+1000 ack 1"]);
}

/// RFC 9293, MUST-16: the peer's limit, or the path's, and options are a part of it.
#[test]
fn the_length_of_segments_is_what_both_take() {
    let len = |config: Config, mtu, answer: Given<'_>| {
        let mut hand = Hand::new(config);
        hand.mtu = mtu;
        let mut hand = hand.opened(answer);
        hand.write(&pattern(20_000));
        hand.left()[0].payload.len()
    };
    let answer = given(SYN_ACK, 0, 1);
    assert_eq!(len(plain(), 1_500, answer.mss(1_460)), 1_460);
    assert_eq!(len(plain(), 1_500, answer.mss(1_200)), 1_200);
    assert_eq!(len(plain(), 1_400, answer.mss(1_460)), 1_360);
    assert_eq!(len(plain(), 9_000, answer.mss(8_960)), 8_960);
    let clocks = Config { timestamps: true, ..plain() };
    assert_eq!(len(clocks, 1_500, answer.mss(1_460).clock(1, 0)), 1_448);
}

/// RFC 9293, MUST-15: what a peer takes that does not say so, over IPv4 and IPv6.
#[test]
fn without_mss_the_default_holds() {
    let mut hand = Hand::new(plain()).opened(given(SYN_ACK, 0, 1));
    hand.write(&pattern(5_000));
    assert_eq!(hand.sent()[0], "ACK 1+536 ack 1");
    let mut hand = Hand::new(plain());
    (hand.flow.local, hand.flow.remote) = ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
    let mut hand = hand.opened(given(SYN_ACK, 0, 1));
    hand.write(&pattern(5_000));
    assert_eq!(hand.sent()[0], "ACK 1+1220 ack 1");
}

/// RFC 9293, MUST-19: RFC 5681, section 3.1 and RFC 6298, section 5, together: exponential
/// back-off, slow start, and congestion avoidance behind the threshold.
#[test]
fn a_timeout_backs_off_and_starts_slowly() {
    // So short that no router can be suspected to drop segments for their length.
    let mut hand = Hand::new(plain()).opened(given(SYN_ACK, 0, 1).mss(500));
    hand.write(&pattern(100_000));
    assert_eq!(hand.sent().len(), 10);
    let resent = hand.wait(Duration::from_secs(10));
    let again: Vec<&Left> = resent.iter().filter(|left| left.seq == 1).collect();
    let moments: Vec<u128> = again.iter().map(|left| left.at.as_millis()).collect();
    let gaps: Vec<u128> = moments.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.len() >= 3, "{moments:?}");
    assert!(gaps.windows(2).all(|two| two[1].abs_diff(2 * two[0]) < 10), "{moments:?}");
    // One segment leaves after the timeout, two for its acknowledgment, four for theirs.
    assert_eq!(hand.info().congestion_window, 500);
    assert_eq!(hand.answer(given(ACK, 1, 501)).len(), 2);
    hand.give(given(ACK, 1, 1_001));
    hand.give(given(ACK, 1, 1_501));
    assert_eq!(hand.sent().len(), 4);
}

/// RFC 5681, section 4.1: after a pause the window is the initial one again.
#[test]
fn after_a_pause_sending_starts_slowly() {
    let mut pair = Pair::new();
    let ids = pair.connected();
    let data = pattern(1_000_000);
    assert!(pair.transfer(ids, 0, &data) == data);
    let window = pair.ends[0].info(ids[0]).unwrap().congestion_window;
    assert!(window > 100_000, "{window}");
    pair.run(Duration::from_secs(10));
    pair.ends[0].write(ids[0], &data[..200_000], pair.now).unwrap();
    pair.log.clear();
    pair.transmit();
    assert_eq!(pair.log.len(), 10);
}

/// RFC 9438, section 5.8, and RFC 5681, section 3.1: an ACK for all of the window is no pause, as
/// those of peers that acknowledge every other segment are for a window of two.
#[test]
fn a_window_that_one_ack_acknowledges_grows() {
    for congestion in [Algorithm::NewReno, Algorithm::Cubic] {
        let config = Config { congestion, ..plain() };
        let mut hand = Hand::new(config).opened(given(SYN_ACK, 0, 1).mss(1_000));
        hand.write(&pattern(200_000));
        hand.sent();
        // All is lost, and the window is one segment.
        hand.wait(Duration::from_secs(1));
        let mut una = 1_001;
        for _ in 0..50 {
            hand.now += Duration::from_millis(20);
            hand.give(given(ACK, 1, una));
            una = hand.left().iter().map(Left::end).max().unwrap_or(una);
        }
        let window = hand.info().congestion_window;
        assert!(window >= 14_000, "{congestion:?}: {window}");
    }
}
