//! Windows that open, close and shrink: RFC 9293, section 3.8.6.

use super::{hand::*, *};

/// RFC 9293, MUST-1, REC-1: 65,535 is a large window and no small negative number, and with a scale
/// it takes more than 16 bits.
#[test]
fn a_window_is_an_unsigned_number() {
    let hand = Hand::new(plain()).opened(given(SYN_ACK, 0, 1).window(65_535));
    assert_eq!(hand.info().window, 65_535);
    let config = Config { window_scaling: true, ..plain() };
    let mut hand = Hand::new(config).opened(given(SYN_ACK, 0, 1).scale(14));
    hand.give(given(ACK, 1, 1).window(65_535));
    assert_eq!(hand.info().window, 65_535 << 14);
}

/// RFC 9293, SHLD-15, SHLD-16, SHLD-17, MUST-34: a peer may take back what it has offered. Nothing
/// new is sent, what was sent is sent again, and the connection lives.
#[test]
fn a_window_may_shrink() {
    let mut hand = Hand::connected(plain());
    hand.write(&pattern(8_000));
    assert_eq!(hand.sent().len(), 6);
    hand.give(given(ACK, 1, 1_461).window(1_460));
    hand.write(&pattern(8_000));
    let resent = hand.wait(Duration::from_secs(60));
    assert!(!resent.is_empty());
    for left in &resent {
        assert!(left.seq >= 1_461 && left.end() <= 2_921, "{}", left.in_words());
    }
    // To nothing, and for longer than a connection lives that nobody answers.
    for _ in 0..100 {
        hand.give(given(ACK, 1, 1_461).window(0));
        for left in hand.wait(Duration::from_secs(30)) {
            assert!(left.seq == 1_461 && left.payload.len() <= 1, "{}", left.in_words());
        }
    }
    let again = hand.answer(given(ACK, 1, 1_461));
    assert!(again[0].starts_with("ACK 1461+"), "{again:?}");
    assert_eq!(hand.state(), State::Established);
}

/// RFC 9293, MUST-35, MUST-36, MUST-37, SHLD-29, SHLD-30: a closed window is probed after the
/// retransmission timeout, then ever more seldom, and for as long as the peer answers.
#[test]
fn a_closed_window_is_probed_for_ever() {
    let mut hand = Hand::connected(plain());
    hand.give(given(ACK, 1, 1).window(0));
    hand.write(&pattern(5_000));
    assert_eq!(hand.sent(), [""; 0]);
    let rto = hand.info().retransmission_timeout;
    let (mut moments, start) = (Vec::new(), hand.now);
    let end = hand.now + Duration::from_secs(10 * 3_600);
    while hand.now < end {
        let next = hand.tcp.poll_timeout().unwrap();
        for probe in hand.wait(next.since(hand.now)) {
            assert_eq!(probe.in_words(), "ACK 1+1 ack 1");
            moments.push(hand.now.since(start));
            hand.give(given(ACK, 1, 1).window(0));
        }
    }
    assert!(moments[0] >= rto && moments[0] <= rto + Duration::from_millis(2), "{moments:?}");
    for step in moments.windows(2).take(7) {
        assert!(step[1] - step[0] >= (step[0] - moments[0]).max(rto), "{moments:?}");
    }
    assert!(moments.len() > 250);
    assert_eq!(hand.state(), State::Established);
    // What the peer had no room for was not kept by it: it leaves first.
    let left = hand.answer(given(ACK, 1, 1));
    assert_eq!(left[..2], ["ACK 1+1 ack 1", "ACK 2+1460 ack 1"], "{left:?}");
}

/// RFC 9293, MUST-37, MAY-8: with both ends of our own, for a week.
#[test]
fn a_reader_may_take_a_week() {
    let mut pair = Pair::new();
    let ids = pair.connected();
    let data = pattern(3_000_000);
    let written = pair.ends[0].write(ids[0], &data, pair.now).unwrap();
    pair.run(Duration::from_secs(10));
    let rest = pair.ends[0].write(ids[0], &data[written..], pair.now).unwrap();
    pair.run(Duration::from_secs(7 * 86_400));
    assert_eq!(pair.state(0, ids[0]), State::Established);
    let unread = pair.ends[1].info(ids[1]).unwrap().unread as usize;
    assert!(unread < written + rest, "{unread}");
    let mut buffer = vec![0; written + rest];
    let mut read = 0;
    for _ in 0..1_000 {
        read += pair.ends[1].read(ids[1], &mut buffer[read..], pair.now).unwrap();
        pair.run(Duration::from_millis(10));
    }
    assert_eq!(read, written + rest);
    assert!(buffer == data[..read]);
}

/// RFC 9293, MUST-36: FIN alone waits for the window too, and is a probe itself.
#[test]
fn fin_is_a_probe_if_nothing_else_waits() {
    let mut hand = Hand::connected(plain());
    hand.give(given(ACK, 1, 1).window(0));
    hand.finish();
    assert_eq!(hand.sent(), [""; 0]);
    let probes = hand.wait(Duration::from_millis(300));
    assert_eq!(probes[0].in_words(), "FIN|ACK 1+0 ack 1");
}

/// RFC 9293, section 3.8.6.1 and 3.10.7.4: a probe of our closed window is answered, and its octet
/// comes again.
#[test]
fn a_probe_of_a_closed_window_is_answered() {
    let mut hand = Hand::connected(Config { receive_buffer_bytes: 4_000, ..plain() });
    hand.give(given(ACK, 1, 1).data(&pattern(4_000)));
    assert_eq!(hand.left().pop().unwrap().window, 0);
    for _ in 0..100 {
        assert_eq!(hand.answer(given(ACK, 4_001, 1).data(b"x")), ["ACK 1+0 ack 4001"]);
        hand.now += Duration::from_secs(1);
    }
    // As Linux probes: a number that was there, without data.
    assert_eq!(hand.answer(given(ACK, 4_000, 1)), ["ACK 1+0 ack 4001"]);
    // RFC 9293, section 3.8.6: its acknowledgment counts although the window is closed.
    hand.write(b"data");
    hand.sent();
    hand.give(given(ACK, 4_001, 5).data(b"x"));
    assert_eq!(hand.info().unacknowledged, 0);
    assert_eq!(hand.read().len(), 4_000);
}

/// RFC 9293, SHLD-14: what was offered stays offered, whatever the program does.
#[test]
fn our_window_does_not_shrink() {
    let config = Config { receive_buffer_bytes: 100_000, window_scaling: true, ..plain() };
    let mut hand = Hand::new(config).opened(given(SYN_ACK, 0, 1).scale(0));
    let (mut seq, mut edge) = (1, 0);
    for round in 0..200_u32 {
        let len = 1 + (round * 7_919 % 1_460) as usize;
        hand.give(given(ACK, seq, 1).data(&pattern(len)));
        seq += len as i64;
        if round % 17 == 0 {
            let mut buffer = [0; 9_999];
            hand.tcp.read(hand.id(), &mut buffer, hand.now).unwrap();
        }
        for left in hand.wait(Duration::from_millis(50)) {
            let right = left.ack + (i64::from(left.window) << 1);
            assert!(right >= edge, "{right} after {edge} in round {round}");
            edge = right;
        }
    }
    assert!(edge > 100_000);
}

/// RFC 9293, MUST-39, section 3.8.6.2.2: a full window opens by a segment, or half of the buffer,
/// and not by less.
#[test]
fn our_window_does_not_open_in_small_steps() {
    let mut hand = Hand::connected(Config { receive_buffer_bytes: 10_000, ..plain() });
    hand.give(given(ACK, 1, 1).data(&pattern(1_460 * 6)));
    hand.give(given(ACK, 8_761, 1).data(&pattern(1_240)));
    assert_eq!(hand.left().pop().unwrap().window, 0);
    let mut byte = [0; 1];
    hand.tcp.read(hand.id(), &mut byte, hand.now).unwrap();
    // Nor with a segment that leaves for another reason.
    hand.write(b"data");
    assert_eq!(hand.left().pop().unwrap().window, 0);
    for read in 2..=1_460 {
        hand.tcp.read(hand.id(), &mut byte, hand.now).unwrap();
        let windows: Vec<u16> = hand.left().iter().map(|left| left.window).collect();
        assert_eq!(windows, if read == 1_460 { vec![1_460] } else { vec![] }, "{read}");
    }
}

/// RFC 9293, section 3.10.7.4, first: of what goes beyond the window, the part within is taken.
#[test]
fn data_beyond_the_window_is_cut() {
    let mut hand = Hand::connected(Config { receive_buffer_bytes: 2_000, ..plain() });
    assert_eq!(hand.answer(given(FIN_ACK, 1, 1).data(&pattern(2_500))), ["ACK 1+0 ack 2001"]);
    assert_eq!((hand.read().len(), hand.state()), (2_000, State::Established));
    assert_eq!(hand.left()[0].window, 2_000);
    let left = hand.answer(given(FIN_ACK, 2_001, 1).data(&pattern(500)));
    assert_eq!(left.last().unwrap(), "ACK 1+0 ack 2502");
    assert_eq!(hand.state(), State::CloseWait);
}

/// RFC 9293, section 3.10.7.4, fifth: an older segment does not change the window.
#[test]
fn an_old_segment_does_not_change_the_window() {
    let mut hand = Hand::connected(plain());
    hand.give(given(ACK, 1, 1).data(b"abcd").window(1_000));
    hand.give(given(ACK, 5, 1).window(2_000));
    hand.give(given(ACK, 1, 1).data(b"abcdef").window(3_000));
    assert!(hand.info().window == 3_000 || hand.info().window == 2_000);
    hand.write(&pattern(500));
    hand.sent();
    hand.give(given(ACK, 7, 501).window(4_000));
    hand.give(given(ACK, 7, 1).window(100));
    assert_eq!(hand.info().window, 4_000);
}
