//! Peers without SACK: RFC 5681, section 3.2, and RFC 6582.

use super::*;

fn duplicates(sender: &mut Sender, count: u32, una: u32) {
    for _ in 0..count {
        assert_eq!(sender.ack(una, &[]).bytes, 0);
    }
}

#[test]
fn the_third_duplicate_makes_the_first_lost() {
    let mut sender = Sender::without_sack(10);
    for _ in 0..2 {
        let acked = sender.ack(0, &[]);
        assert_eq!((acked.delivered, acked.newly_lost, acked.stage), (1_000, 0, Stage::Open));
    }
    let acked = sender.ack(0, &[]);
    assert_eq!((acked.newly_lost, acked.stage), (1_000, Stage::Entered));
    assert_eq!(sender.resend(9), [0]);
    // Three have arrived, the first is under way again.
    assert_eq!(sender.board.in_flight(), 7_000);
}

#[test]
fn a_partial_ack_makes_the_next_one_lost() {
    // RFC 6582, section 3.2, step 3: of ten the first and the fifth are lost.
    let mut sender = Sender::without_sack(10);
    let delivered: u32 = (0..8).map(|_| sender.ack(0, &[]).delivered).sum();
    assert_eq!(delivered, 8_000);
    assert_eq!(sender.resend(9), [0]);
    sender.wait(RTT);
    let acked = sender.ack(4, &[]);
    assert_eq!((acked.bytes, acked.delivered, acked.newly_lost), (4_000, 1_000, 1_000));
    assert_eq!(acked.stage, Stage::Fast);
    assert_eq!(sender.resend(9), [4]);
    sender.wait(RTT);
    let acked = sender.ack(10, &[]);
    assert_eq!((acked.delivered, acked.stage), (1_000, Stage::Ended));
    assert!(sender.board.is_empty());
}

#[test]
fn duplicates_after_recovery_do_not_begin_another() {
    // RFC 6582, section 3.2, step 2, and section 4.
    let mut sender = Sender::without_sack(10);
    duplicates(&mut sender, 3, 0);
    sender.resend(9);
    sender.ack(10, &[]);
    sender.send(5);
    for _ in 0..5 {
        assert_eq!(sender.ack(10, &[]).newly_lost, 0);
    }
    sender.ack(11, &[]);
    duplicates(&mut sender, 2, 11);
    assert_eq!(sender.ack(11, &[]).stage, Stage::Entered);
}

#[test]
fn more_duplicates_than_segments_count_for_nothing() {
    let mut sender = Sender::without_sack(10);
    let delivered: u32 = (0..1_000).map(|_| sender.ack(0, &[]).delivered).sum();
    assert!(delivered <= 9_000, "{delivered}");
    assert_eq!(sender.ack(10, &[]).delivered, 10_000 - delivered);
}

#[test]
fn a_burst_loses_one_segment_of_it() {
    let mut sender = Sender::without_sack(0);
    sender.send_burst(10);
    duplicates(&mut sender, 2, 0);
    assert_eq!(sender.ack(0, &[]).newly_lost, 1_000);
}

#[test]
fn after_a_timeout_all_is_sent_again() {
    let mut sender = Sender::without_sack(4);
    sender.wait(RTT * 5);
    sender.retransmission_timeout();
    assert_eq!((sender.board.in_flight(), sender.resend(9)), (0, Vec::from([0, 1, 2, 3])));
}
