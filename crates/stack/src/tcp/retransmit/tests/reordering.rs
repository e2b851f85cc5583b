//! RACK: RFC 8985, section 6.

use super::*;

#[test]
fn a_lost_retransmission_is_found() {
    // RFC 8985, section 3.1: what was sent after a retransmission arrives, and it does not.
    let mut sender = Sender::with(6);
    sender.ack(0, &[(1, 5)]);
    assert_eq!(sender.resend(9), [0]);
    sender.wait(Duration::from_millis(1));
    sender.send(3);
    sender.wait(RTT);
    assert_eq!(sender.ack(0, &[(1, 6)]).newly_lost, 0);
    let acked = sender.ack(0, &[(1, 7)]);
    assert_eq!((acked.newly_lost, acked.stage), (1_000, Stage::Fast));
    assert_eq!(sender.resend(9), [0]);
}

#[test]
fn an_unknown_order_waits_a_quarter_of_the_round_trip() {
    // RFC 8985, section 6.2, steps 4 and 5: less than DupThresh, so that the timer decides.
    let mut sender = Sender::with(3);
    let acked = sender.ack(0, &[(2, 3)]);
    assert_eq!((acked.newly_lost, acked.stage), (0, Stage::Open));
    let deadline = sender.board.reorder_deadline().unwrap();
    assert_eq!(deadline, sender.now + RTT / 4);
    sender.now = deadline - Duration::from_micros(1);
    assert_eq!(sender.reorder_timeout().newly_lost, 0);
    sender.now = deadline;
    let acked = sender.reorder_timeout();
    assert_eq!((acked.newly_lost, acked.stage), (2_000, Stage::Entered));
    assert_eq!(sender.board.reorder_deadline(), None);
    assert_eq!(sender.resend(9), [0, 1]);
}

#[test]
fn reordering_seen_makes_it_patient() {
    // RFC 8985, section 6.2, step 3: 0 arrives after 3; then three SACKed ones are not enough.
    let mut sender = Sender::with(4);
    sender.ack(0, &[(3, 4)]);
    sender.ack(1, &[(3, 4)]);
    sender.ack(4, &[]);
    sender.send(8);
    sender.wait(RTT);
    assert_eq!(sender.ack(4, &[(5, 9)]).newly_lost, 0);
    assert_eq!(sender.board.reorder_deadline(), Some(sender.now + RTT / 4));
}

#[test]
fn what_was_sent_later_is_not_lost() {
    let mut sender = Sender::with(4);
    sender.wait(Duration::from_millis(40));
    sender.send(4);
    let acked = sender.ack(0, &[(1, 4)]);
    assert_eq!((acked.newly_lost, sender.board.in_flight()), (1_000, 4_000));
}

#[test]
fn d_sacks_widen_the_window_for_sixteen_recoveries() {
    // RFC 8985, section 6.2, step 4.
    let mut sender = Sender::with(8);
    sender.ack(0, &[(1, 5)]);
    sender.resend(9);
    sender.wait(RTT);
    assert!(sender.ack(8, &[(0, 1)]).spurious);
    let window = |sender: &Sender| sender.memory.reorder_window(0, Some(RTT), Some(RTT));
    assert_eq!(window(&sender), RTT / 2);
    let mut una = 8;
    for recovery in 0..16 {
        assert_eq!(window(&sender), RTT / 2, "{recovery}");
        sender.send(8);
        sender.wait(RTT);
        sender.ack(una, &[(una + 1, una + 8)]);
        sender.wait(RTT);
        assert_eq!(sender.reorder_timeout().newly_lost, 1_000, "{recovery}");
        sender.resend(9);
        sender.wait(RTT);
        una += 8;
        assert_eq!(sender.ack(una, &[]).stage, Stage::Ended);
    }
    assert_eq!(window(&sender), RTT / 4);
}

#[test]
fn one_round_trip_widens_once_and_the_srtt_bounds_it() {
    let mut sender = Sender::with(8);
    sender.ack(0, &[(2, 6)]);
    sender.resend(9);
    sender.ack(0, &[(2, 3), (2, 6)]);
    sender.ack(0, &[(2, 3), (2, 6)]);
    assert_eq!(sender.memory.reorder_multiplier, 2);
    sender.memory.reorder_multiplier = u8::MAX;
    sender.ack(8, &[]);
    assert!(sender.memory.reorder_window(0, Some(RTT), Some(RTT)) <= RTT);
}

#[test]
fn an_ack_of_the_original_says_nothing_of_the_retransmission() {
    // RFC 8985, section 6.2, step 2: 1 ms after it was sent again, 0 cannot have come back.
    let mut sender = Sender::with(6);
    sender.ack(0, &[(2, 5)]);
    assert_eq!(sender.resend(1), [0]);
    sender.wait(Duration::from_millis(1));
    let acked = sender.ack(1, &[(2, 5)]);
    assert_eq!(acked.newly_lost, 0, "1 was lost before, 5 was sent before 0 was sent again");
    assert_eq!(sender.board.in_flight(), 1_000);
}

#[test]
fn an_old_timestamp_makes_a_retransmission_say_nothing() {
    // RFC 8985, section 6.2, step 2: with the retransmission's time, 0 and 5 are lost.
    for (echo, lost) in [(RTT * 2, 0), (RTT, 2_000)] {
        let mut sender = Sender::with(6);
        sender.ack(0, &[(2, 5)]);
        assert_eq!(sender.resend(9), [0, 1]);
        sender.wait(RTT);
        sender.echo = Some(echo);
        assert_eq!(sender.ack(0, &[(1, 5)]).newly_lost, lost);
    }
}
