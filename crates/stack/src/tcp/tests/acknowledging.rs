//! When acknowledgments leave: RFC 9293, section 3.8.6.3; RFC 5681, section 4.2.

use super::{hand::*, *};

/// Behind the first segments, which are acknowledged at once.
fn settled(config: Config) -> Hand {
    let mut hand = Hand::connected(config);
    for index in 0..20 {
        hand.give(given(ACK, 1 + 1_460 * index, 1).data(&pattern(1_460)));
        hand.read();
    }
    hand.wait(Duration::from_secs(1));
    hand
}

const NEXT: i64 = 1 + 20 * 1_460;

/// RFC 9293, SHLD-18, MUST-40: an acknowledgment waits for data to go with, and not for long.
#[test]
fn an_acknowledgment_waits_for_a_while() {
    let mut hand = settled(plain());
    assert_eq!(hand.answer(given(ACK, NEXT, 1).data(b"data")), [""; 0]);
    let late = hand.wait(Duration::from_secs(1));
    assert_eq!(timed(&late), [(40, std::format!("ACK 1+0 ack {}", NEXT + 4))]);
    assert!(Config::default().delayed_ack < Duration::from_millis(500));
    // It goes with data if there is some.
    assert_eq!(hand.answer(given(ACK, NEXT + 4, 1).data(b"data")), [""; 0]);
    hand.write(b"answer");
    assert_eq!(hand.sent(), [std::format!("PSH|ACK 1+6 ack {}", NEXT + 8)]);
    let probes = hand.wait(Duration::from_millis(45));
    assert_eq!(timed(&probes), []);
}

/// RFC 9293, SHLD-19; RFC 5681, section 4.2.
#[test]
fn every_second_full_segment_is_acknowledged() {
    let mut hand = settled(plain());
    for round in 0..10 {
        let start = NEXT + round * 2_920;
        assert_eq!(hand.answer(given(ACK, start, 1).data(&pattern(1_460))), [""; 0]);
        let second = hand.answer(given(ACK, start + 1_460, 1).data(&pattern(1_460)));
        assert_eq!(second, [std::format!("ACK 1+0 ack {}", start + 2_920)]);
        hand.read();
        hand.sent();
    }
}

/// RFC 9293, MUST-58, MUST-59: of segments that wait together, one acknowledgment is for all.
#[test]
fn what_arrives_together_is_acknowledged_together() {
    let mut hand = settled(plain());
    for index in 0..10 {
        hand.give(given(ACK, NEXT + index * 1_460, 1).data(&pattern(1_460)));
    }
    assert_eq!(hand.sent(), [std::format!("ACK 1+0 ack {}", NEXT + 14_600)]);
}

/// RFC 9293, SHLD-31, MAY-13; RFC 5681, section 4.2: behind a gap data is kept, and answered at
/// once; so is what fills the gap.
#[test]
fn data_out_of_order_is_kept_and_answered_at_once() {
    let mut hand = settled(plain());
    let again = std::format!("ACK 1+0 ack {NEXT}");
    assert_eq!(hand.answer(given(ACK, NEXT + 4, 1).data(b"efgh")), [again.as_str()]);
    assert_eq!(hand.answer(given(ACK, NEXT + 8, 1).data(b"ijkl")), [again]);
    let all = std::format!("ACK 1+0 ack {}", NEXT + 12);
    assert_eq!(hand.answer(given(ACK, NEXT, 1).data(b"abcd")), [all]);
    assert_eq!(hand.read(), b"abcdefghijkl");
}

/// RFC 9293, section 3.10.7.4, first and seventh: what was there before is acknowledged again, and
/// cut away.
#[test]
fn data_that_was_there_is_acknowledged_again() {
    let mut hand = settled(plain());
    hand.give(given(ACK, NEXT, 1).data(b"abcd"));
    hand.wait(Duration::from_secs(1));
    let again = std::format!("ACK 1+0 ack {}", NEXT + 4);
    assert_eq!(hand.answer(given(ACK, NEXT, 1).data(b"abcd")), [again]);
    let more = std::format!("ACK 1+0 ack {}", NEXT + 6);
    assert_eq!(hand.answer(given(ACK, NEXT, 1).data(b"abcdef")), [more]);
    assert_eq!(hand.read(), b"abcdef");
}

/// RFC 2018, section 4, and RFC 2883, section 4: what arrived behind a gap, the latest first, and
/// once what arrived twice.
#[test]
fn gaps_and_duplicates_are_reported() {
    let config = Config { sack: true, ..plain() };
    let mut hand = Hand::new(config).opened(given(SYN_ACK, 0, 1).mss(1_460).sack_permitted());
    let blocks = |hand: &mut Hand| {
        let left = hand.left().pop().unwrap();
        let of = |number: portolan_wire::Seq| number.distance(hand.irs);
        let sack = left.options.sack;
        (left.ack, sack.as_slice().iter().map(|one| (of(one.left), of(one.right))).collect())
    };
    hand.give(given(ACK, 11, 1).data(&[1; 10]));
    assert_eq!(blocks(&mut hand), (1, vec![(11, 21)]));
    hand.give(given(ACK, 31, 1).data(&[1; 10]));
    assert_eq!(blocks(&mut hand), (1, vec![(31, 41), (11, 21)]));
    hand.give(given(ACK, 1, 1).data(&[1; 10]));
    assert_eq!(blocks(&mut hand), (21, vec![(31, 41)]));
    hand.give(given(ACK, 1, 1).data(&[1; 10]));
    assert_eq!(blocks(&mut hand), (21, vec![(1, 11), (31, 41)]));
    hand.give(given(ACK, 21, 1).data(&[1; 10]));
    assert_eq!(blocks(&mut hand), (41, vec![]));
}

/// RFC 2018, section 2: without the option in both SYNs there is no report.
#[test]
fn who_does_not_ask_gets_no_report() {
    let mut hand = Hand::connected(Config { sack: true, ..plain() });
    hand.give(given(ACK, 11, 1).data(&[1; 10]));
    let left = hand.left().pop().unwrap();
    assert!(left.options.sack.as_slice().is_empty());
    let mut hand = Hand::listening(plain());
    hand.give(given(SYN, 0, 0).sack_permitted());
    assert!(!hand.left()[0].options.sack_permitted);
}

/// RFC 5681, section 4.2; RFC 2883, section 4: segments that arrive together have an ACK each where
/// they are out of order or duplicates, with what each has changed.
#[test]
fn segments_out_of_order_that_arrive_together_have_an_answer_each() {
    let config = Config { sack: true, ..plain() };
    let mut hand = Hand::listening(config).accepting(given(SYN, 0, 0).sack_permitted());
    hand.give(given(ACK, 11, 1).data(b"later"));
    hand.give(given(ACK, 21, 1).data(b"later"));
    hand.give(given(ACK, 21, 1).data(b"later"));
    let mut left: Vec<usize> =
        hand.left().iter().map(|left| left.options.sack.as_slice().len()).collect();
    left.sort_unstable();
    assert_eq!(left, [1, 2, 3]);
}
