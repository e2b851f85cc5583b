//! Congestion marks: RFC 3168.

use portolan_wire::tcp::Flags;

use super::{hand::*, *};

const ASKS: Flags = SYN.union(ECE).union(CWR);

fn active() -> Config {
    Config { ecn: EcnUse::Active, ..plain() }
}

/// A connection on which both understand marks.
fn marked() -> Hand {
    let hand = Hand::new(active()).opened(given(SYN_ACK | ECE, 0, 1).mss(1_460));
    assert!(hand.info().ecn);
    hand
}

/// RFC 9293, SHLD-8; RFC 3168, section 6.1.1: who asks, and who answers.
#[test]
fn marks_are_agreed_on_in_both_syns() {
    let mut hand = Hand::new(active());
    hand.connect();
    assert_eq!(hand.left()[0].flags, ASKS);
    for (answer, agrees) in [(ECE, true), (ECE | CWR, false), (CWR, false), (ACK, false)] {
        let hand = Hand::new(active()).opened(given(SYN_ACK | answer, 0, 1));
        assert_eq!(hand.info().ecn, agrees, "{answer:?}");
    }
    for (config, syn, answer) in [
        (plain(), ASKS, SYN_ACK | ECE),
        (active(), ASKS, SYN_ACK | ECE),
        (plain(), SYN, SYN_ACK),
        (plain(), SYN | ECE, SYN_ACK),
        (Config { ecn: EcnUse::Off, ..plain() }, ASKS, SYN_ACK),
    ] {
        let mut hand = Hand::listening(config);
        hand.give(given(syn, 0, 0));
        let left = hand.left();
        assert_eq!((left[0].flags, left[0].ecn), (answer, Ecn::NotCapable));
    }
    // Who only answers does not ask.
    let mut hand = Hand::new(plain());
    hand.connect();
    assert_eq!(hand.left()[0].flags, SYN);
}

/// RFC 3168, section 6.1.1.1: after a loss it is tried without.
#[test]
fn a_syn_that_gets_no_answer_asks_no_more() {
    let mut hand = Hand::new(active());
    hand.connect();
    let flags: Vec<Flags> =
        hand.wait(Duration::from_secs(20)).iter().map(|left| left.flags).collect();
    assert_eq!(flags, [ASKS, ASKS, SYN, SYN, SYN]);
}

/// RFC 3168, section 6.1.5, 6.1.4 and 6.1.6: new data is marked as capable, and neither ACKs, nor
/// what is sent again, nor probes of a closed window.
#[test]
fn only_new_data_may_be_marked() {
    let mut hand = marked();
    hand.write(b"data");
    assert_eq!(hand.left()[0].ecn, Ecn::Capable0);
    for left in hand.wait(Duration::from_secs(3)) {
        assert_eq!((left.seq, left.ecn), (1, Ecn::NotCapable));
    }
    hand.give(given(ACK, 1, 5).data(b"data"));
    let left = hand.wait(Duration::from_secs(1));
    assert_eq!((left[0].in_words().as_str(), left[0].ecn), ("ACK 5+0 ack 5", Ecn::NotCapable));
    hand.give(given(ACK, 5, 5).window(0));
    hand.write(b"more");
    let probes = hand.wait(Duration::from_secs(5));
    assert!(!probes.is_empty());
    for probe in probes {
        assert_eq!((probe.payload.len(), probe.ecn, probe.has(CWR)), (1, Ecn::NotCapable, false));
    }
}

/// RFC 3168, section 6.1.3: ECE from the mark on until CWR, at once.
#[test]
fn a_mark_is_told_until_the_sender_slows_down() {
    let mut hand = marked();
    assert_eq!(hand.answer(given(ACK, 1, 1).data(b"data").marked()), ["ACK|ECE 1+0 ack 5"]);
    hand.write(b"data");
    assert_eq!(hand.sent(), ["PSH|ACK|ECE 1+4 ack 5"]);
    assert_eq!(hand.answer(given(ACK, 5, 5).data(b"more")), ["ACK|ECE 5+0 ack 9"]);
    assert_eq!(hand.answer(given(ACK | CWR, 9, 5).data(b"less")), ["ACK 5+0 ack 13"]);
    // CWR on a segment that is marked again.
    let again = hand.answer(given(ACK | CWR, 13, 5).data(b"less").marked());
    assert_eq!(again, ["ACK|ECE 5+0 ack 17"]);
}

/// RFC 3168, section 6.1.2: the window is reduced once per round trip, and CWR tells.
#[test]
fn a_mark_reduces_the_window_once_per_round_trip() {
    let mut hand = marked();
    hand.write(&pattern(100_000));
    assert_eq!(hand.sent().len(), 10);
    let before = hand.info().congestion_window;
    hand.give(given(ACK | ECE, 1, 1_461));
    let reduced = hand.info().congestion_window;
    assert!(reduced < before * 8 / 10, "{before} {reduced}");
    for index in 2..=10 {
        hand.give(given(ACK | ECE, 1, 1 + 1_460 * index));
        assert!(hand.info().congestion_window >= reduced);
    }
    let left = hand.left();
    assert!(left[0].has(CWR), "{}", left[0].in_words());
    assert!(left[1..].iter().all(|left| !left.has(CWR)));
    // In the next round trip a mark means a new thing.
    hand.give(given(ACK | ECE, 1, left[1].end()));
    assert!(hand.info().congestion_window < reduced);
}

/// RFC 3168, section 6.1.2: after a loss CWR is told as well.
#[test]
fn a_loss_is_told_too() {
    let mut hand = marked();
    hand.write(&pattern(100_000));
    hand.sent();
    hand.wait(Duration::from_secs(3));
    hand.give(given(ACK, 1, 14_601));
    let left = hand.left();
    assert_eq!((left[0].seq, left[0].has(CWR)), (14_601, true));
    assert!(!left[1].has(CWR));
}

/// RFC 3168, section 6.1: without agreement marks mean nothing.
#[test]
fn without_agreement_marks_mean_nothing() {
    let mut hand = Hand::connected(plain());
    let answer = hand.answer(given(ACK | ECE | CWR, 1, 1).data(b"data").marked());
    assert_eq!(answer, ["ACK 1+0 ack 5"]);
    hand.write(b"data");
    assert_eq!(hand.left()[0].ecn, Ecn::NotCapable);
}
