//! Urgent data: RFC 9293, section 3.8.5.

use super::{hand::*, *};

/// RFC 9293, MUST-30, MUST-32, MUST-33: the program is told at once, and can ask how much is to
/// come until the end of what is urgent.
#[test]
fn the_program_is_told_of_urgent_data() {
    let mut hand = Hand::connected(plain());
    assert_eq!(hand.info().urgent, None);
    hand.give(given(ACK, 1, 1).data(b"abcd").urgent(3));
    assert!(hand.ready().contains(Ready::URGENT));
    assert_eq!(hand.info().urgent, Some(3));
    let mut two = [0; 2];
    hand.tcp.read(hand.id(), &mut two, hand.now).unwrap();
    assert_eq!(hand.info().urgent, Some(1));
    assert_eq!(hand.read(), b"cd");
    assert_eq!(hand.info().urgent, None);
    assert!(!hand.ready().contains(Ready::URGENT));
}

/// RFC 9293, MUST-62: the pointer is that of the octet behind the urgent data; MUST-31: which may
/// be as long as it likes.
#[test]
fn urgent_data_ends_before_the_pointer() {
    let mut hand = Hand::connected(plain());
    hand.tcp.write_urgent(hand.id(), b"urgent", hand.now).unwrap();
    let left = hand.left();
    assert_eq!((left[0].flags, left[0].urgent), (PSH | ACK | URG, 6));
    hand.give(given(ACK, 1, 7));
    hand.write(b"not");
    let left = hand.left();
    assert_eq!((left[0].flags, left[0].urgent), (PSH | ACK, 0));
    hand.give(given(ACK, 1, 10));
    // Longer than the pointer can say.
    hand.tcp.write_urgent(hand.id(), &pattern(100_000), hand.now).unwrap();
    let mut pointers = Vec::new();
    while hand.info().unacknowledged > 0 {
        for left in hand.left() {
            assert!(left.flags.contains(URG));
            pointers.push((left.seq, left.urgent));
            hand.give(given(ACK, 1, left.end()));
        }
        hand.wait(Duration::from_millis(1));
    }
    for (seq, pointer) in pointers {
        assert_eq!(i64::from(pointer), (10 + 100_000 - seq).min(65_535));
    }
}

/// RFC 9293, MUST-31, both ends: a megabyte is urgent.
#[test]
fn much_may_be_urgent() {
    let mut pair = Pair::new();
    let ids = pair.connected();
    let data = pattern(1_000_000);
    let written = pair.ends[0].write_urgent(ids[0], &data, pair.now).unwrap();
    assert_eq!(written, data.len());
    let mut read = Vec::new();
    let mut buffer = vec![0; 100_000];
    let mut was_urgent = false;
    while read.len() < written {
        pair.run(Duration::from_millis(5));
        was_urgent |= pair.ends[1].info(ids[1]).unwrap().urgent.is_some();
        let len = pair.ends[1].read(ids[1], &mut buffer, pair.now).unwrap();
        read.extend_from_slice(&buffer[..len]);
    }
    assert!(was_urgent && read == data);
    assert_eq!(pair.ends[1].info(ids[1]).unwrap().urgent, None);
}

/// RFC 9293, MUST-66: that there is something urgent is heard although the window is closed.
#[test]
fn urgent_gets_through_a_closed_window() {
    let mut hand = Hand::connected(Config { receive_buffer_bytes: 4_000, ..plain() });
    hand.give(given(ACK, 1, 1).data(&pattern(4_000)));
    hand.sent();
    hand.ready();
    hand.give(given(ACK, 4_001, 1).data(b"x").urgent(1));
    assert!(hand.ready().contains(Ready::URGENT));
    assert_eq!(hand.info().urgent, Some(4_001));
}

/// RFC 9293, section 3.10.7.4, sixth: a pointer of before is no news, and none is after FIN.
#[test]
fn an_old_pointer_is_no_news() {
    let mut hand = Hand::connected(plain());
    hand.give(given(ACK, 1, 1).data(b"abcd"));
    hand.read();
    hand.ready();
    hand.give(given(ACK, 1, 1).data(b"abcd").urgent(4));
    assert_eq!((hand.ready().contains(Ready::URGENT), hand.info().urgent), (false, None));
    hand.give(given(FIN_ACK, 5, 1));
    hand.give(given(ACK, 6, 1).urgent(9));
    assert_eq!(hand.info().urgent, None);
}
