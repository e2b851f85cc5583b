//! Timeouts, needless ones, and needless recoveries.

use super::*;

#[test]
fn a_timeout_forgets_sacks_and_loses_what_is_old() {
    // RFC 2018, section 8, and RFC 8985, section 6.3.
    let mut sender = Sender::with(5);
    sender.ack(0, &[(2, 3)]);
    sender.wait(RTT * 5);
    sender.send(1);
    let timed_out = sender.retransmission_timeout();
    assert_eq!(timed_out, TimedOut { outstanding: 5_000, is_first: true });
    assert_eq!(sender.board.in_flight(), 1_000, "what was sent just now may arrive");
    assert_eq!(sender.resend(9), [0, 1, 2, 3, 4]);
    assert_eq!(sender.memory.phase(), Phase::Timeout);
    sender.wait(RTT * 5);
    assert!(!sender.retransmission_timeout().is_first);
    sender.resend(9);
    sender.echo = Some(Duration::ZERO);
    assert_eq!(sender.ack(2, &[]).stage, Stage::Timeout);
    assert!(sender.retransmission_timeout().is_first);
    let acked = sender.ack(6, &[]);
    assert_eq!((acked.stage, sender.memory.phase()), (Stage::Timeout, Phase::Open));
}

#[test]
fn a_receiver_that_reneged_gets_it_again() {
    // RFC 2018, section 8: 1 and 2 were SACKed and dropped.
    let mut sender = Sender::with(3);
    sender.ack(0, &[(1, 3)]);
    sender.resend(9);
    sender.wait(RTT);
    sender.ack(1, &[]);
    assert_eq!(sender.resend(9), [0; 0]);
    sender.wait(RTT * 3);
    sender.retransmission_timeout();
    assert_eq!(sender.resend(1), [1]);
}

/// RFC 3522, section 3.
#[test]
fn eifel_finds_a_timeout_needless() {
    // RFC 3522: the ACK echoes what was sent before the retransmission.
    let mut sender = Sender::with(5);
    sender.wait(RTT);
    sender.retransmission_timeout();
    assert_eq!(sender.resend(1), [0]);
    sender.wait(Duration::from_millis(5));
    sender.echo = Some(Duration::from_millis(205));
    let acked = sender.ack(1, &[]);
    assert!(acked.spurious);
    assert_eq!((sender.memory.phase(), sender.board.has_lost()), (Phase::Open, false));
    assert_eq!(sender.board.in_flight(), 4_000);
}

/// RFC 3522, section 3.2: an echo that is as old as the retransmission shows nothing, wherever in
/// the ticks of its clock both ends lie.
#[test]
fn eifel_leaves_what_was_needed() {
    for (sent_us, took_us) in [(0, 100_000), (999, 99_002), (1, 99_998), (500, 100_499)] {
        let echo_of = |sender: &Sender, sent: Instant| {
            let ticks = sender.now.as_millis() - sent.as_millis();
            Some(Duration::from_millis(ticks + 1))
        };
        let mut sender = Sender::with(5);
        sender.wait(RTT * 3 + Duration::from_micros(sent_us));
        sender.retransmission_timeout();
        sender.resend(1);
        let sent = sender.now;
        sender.wait(Duration::from_micros(took_us));
        sender.echo = echo_of(&sender, sent);
        let acked = sender.ack(1, &[]);
        assert!(!acked.spurious, "sent {sent_us} us after a tick, {took_us} us ago");
        assert_eq!(acked.stage, Stage::Timeout);
        // Fast recovery likewise.
        let mut sender = Sender::with(8);
        sender.wait(Duration::from_micros(sent_us));
        sender.ack(0, &[(2, 6)]);
        sender.resend(9);
        let sent = sender.now;
        sender.wait(Duration::from_micros(took_us));
        sender.echo = echo_of(&sender, sent);
        let acked = sender.ack(6, &[]);
        assert!(!acked.spurious, "sent {sent_us} us after a tick, {took_us} us ago");
        // A tick older is older.
        let mut sender = Sender::with(8);
        sender.ack(0, &[(2, 6)]);
        sender.resend(9);
        sender.wait(Duration::from_millis(5));
        sender.echo = echo_of(&sender, sender.now - Duration::from_millis(6));
        assert!(sender.ack(6, &[]).spurious);
    }
}

#[test]
fn f_rto_finds_a_timeout_needless_without_timestamps() {
    // RFC 5682, section 3.1: data that was not sent again is acknowledged.
    let mut sender = Sender::with(5);
    sender.wait(RTT);
    sender.retransmission_timeout();
    sender.resend(1);
    assert!(!sender.ack(1, &[]).spurious);
    assert!(sender.ack(2, &[]).spurious);
    // What was SACKed before the timeout says nothing.
    let mut sender = Sender::with(5);
    sender.ack(0, &[(1, 5)]);
    sender.wait(RTT * 3);
    sender.retransmission_timeout();
    sender.resend(1);
    assert!(!sender.ack(5, &[]).spurious);
}

#[test]
fn d_sacks_of_all_retransmissions_undo_a_recovery() {
    // RFC 3708 with RFC 2883, section 4.2: two were sent again, both had come late.
    let mut sender = Sender::with(8);
    sender.ack(0, &[(2, 6)]);
    assert_eq!(sender.resend(9), [0, 1]);
    assert_eq!(sender.ack(8, &[]).stage, Stage::Ended);
    sender.send(2);
    assert!(!sender.ack(8, &[(0, 1)]).spurious);
    assert!(sender.ack(8, &[(1, 2)]).spurious);
    assert!(!sender.ack(8, &[(1, 2)]).spurious);
}

#[test]
fn a_d_sack_of_one_of_two_undoes_nothing() {
    let mut sender = Sender::with(8);
    sender.ack(0, &[(2, 6)]);
    sender.resend(9);
    assert!(!sender.ack(8, &[(0, 1)]).spurious);
}

#[test]
fn an_undo_puts_back_what_was_not_sent_again() {
    let mut sender = Sender::with(8);
    sender.ack(0, &[(4, 8)]);
    assert_eq!(sender.board.in_flight(), 0);
    assert_eq!(sender.resend(1), [0]);
    sender.wait(Duration::from_millis(2));
    sender.echo = Some(Duration::from_millis(102));
    let acked = sender.ack(1, &[(4, 8)]);
    assert!(acked.spurious);
    // Reordering is known now: the others have a quarter of a round trip.
    assert_eq!((acked.newly_lost, sender.board.in_flight()), (0, 3_000));
    assert!(sender.board.reorder_deadline().is_some());
}

#[test]
fn one_undo_per_window() {
    let mut sender = Sender::with(40);
    let mut undone = 0;
    for una in 0..20 {
        sender.ack(una, &[(una + 2, 40)]);
        sender.wait(RTT);
        sender.reorder_timeout();
        sender.resend(1);
        sender.wait(Duration::from_millis(2));
        sender.echo = Some(RTT * 20);
        undone += u32::from(sender.ack(una + 1, &[(una + 2, 40)]).spurious);
    }
    assert_eq!(undone, 1);
}
