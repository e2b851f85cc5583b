//! What is lost, what is not, and what it costs to know.

use super::*;

#[test]
fn a_segment_is_in_flight_until_acknowledged() {
    let mut board = Scoreboard::new(Seq(100), true);
    let mut memory = Memory::new(Seq(100));
    board.sent(Seq(100), Seq(1_100), 1_000, Instant::ZERO);
    assert_eq!(board.in_flight(), 1_000);
    let ack = Ack {
        una: Seq(1_100),
        nxt: Seq(1_100),
        sack: &[],
        echo: None,
        is_duplicate: false,
        srtt: None,
        min_rtt: None,
        now: Instant::from_micros(50_000),
    };
    let acked = board.acknowledge(&mut memory, &ack);
    assert_eq!((acked.bytes, acked.delivered), (1_000, 1_000));
    assert_eq!(acked.rtt, Some(Duration::from_millis(50)));
    assert!(board.is_empty());
    assert!(board.steps() < 10);
}
