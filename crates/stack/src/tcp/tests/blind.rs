//! Segments of somebody who does not see the connection: RFC 5961; RFC 9293, MAY-12.

use super::{hand::*, *};

/// RFC 5961, section 3.2: RST is believed with the very number, asked back in the window, and
/// dropped outside.
#[test]
fn rst_is_believed_with_the_right_number_alone() {
    let mut hand = Hand::connected(plain());
    assert_eq!(hand.answer(given(RST, 0, 0)), [""; 0]);
    assert_eq!(hand.answer(given(RST, 2_000_000, 0)), [""; 0]);
    assert_eq!(hand.answer(given(RST, 2, 0)), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.answer(given(RST_ACK, 60_000, 1)), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.state(), State::Established);
    // Who was really meant answers with the number of the ACK.
    hand.give(given(RST, 1, 0));
    assert_eq!(hand.state(), State::Closed);
}

/// RFC 5961, section 4.2: SYN is asked back, wherever it lies, and ends nothing.
#[test]
fn a_syn_is_asked_back() {
    for seq in [-70_000, 0, 1, 2, 60_000, 2_000_000] {
        for flags in [SYN, SYN_ACK] {
            let mut hand = Hand::connected(plain());
            assert_eq!(hand.answer(given(flags, seq, 1)), ["ACK 1+0 ack 1"], "{flags:?} {seq}");
            assert_eq!(hand.state(), State::Established);
        }
    }
}

/// RFC 5961, section 5.2; RFC 9293, MAY-12: data is taken with an acknowledgment of what was sent
/// within the largest window, and no other.
#[test]
fn data_with_an_impossible_acknowledgment_is_not_taken() {
    let mut hand = Hand::connected(plain());
    hand.write(&pattern(1_000));
    hand.sent();
    hand.give(given(ACK, 1, 1_001).window(1_000));
    hand.sent();
    for ack in [1_002, 100_000, 1_001 - 65_536, -0x7000_0000] {
        assert_eq!(hand.answer(given(ACK, 1, ack).data(b"evil")), ["ACK 1001+0 ack 1"], "{ack}");
        assert_eq!(hand.info().unread, 0);
    }
    assert_eq!(hand.tcp.counters().blind_refused, 4);
    for ack in [1_001 - 65_535, 1, 1_000] {
        hand.give(given(ACK, 1, ack).data(b"data"));
        assert_eq!(hand.info().unread, 4);
    }
}

/// RFC 5961, section 7: such questions are limited, for each connection by itself.
#[test]
fn questions_are_limited() {
    let mut hand = Hand::connected(plain());
    hand.now += Duration::from_secs(5);
    let count = |hand: &mut Hand| -> usize {
        (0..100).map(|_| hand.answer(given(RST, 100, 0)).len()).sum()
    };
    assert_eq!(count(&mut hand), 10);
    assert_eq!(hand.tcp.counters().challenges_held_back, 90);
    hand.now += Duration::from_secs(5);
    assert_eq!(count(&mut hand), 10);
}

/// RFC 5961, section 3.2, in SYN-SENT: RST is believed if it acknowledges SYN.
#[test]
fn an_attempt_is_refused_by_who_has_seen_it() {
    let mut hand = Hand::connecting(plain());
    for given in [given(RST, 0, 0), given(RST_ACK, 0, 0), given(RST_ACK, 0, 2)] {
        assert_eq!(hand.answer(given), [""; 0]);
        assert_eq!(hand.state(), State::SynSent);
    }
    hand.give(given(RST_ACK, 0, 1));
    assert_eq!(hand.info().reason, Some(Reason::Refused));
}

/// RFC 9293, section 3.10.7.4: two ends that do not agree about numbers do not answer each other
/// for ever.
#[test]
fn two_that_disagree_come_to_rest() {
    let mut hand = Hand::connected(plain());
    let answers: usize = (0..1_000).map(|_| hand.answer(given(ACK, 1_000_000, 1)).len()).sum();
    assert!(answers <= 20, "{answers}");
}
