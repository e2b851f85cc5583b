//! Tail loss probes: RFC 8985, section 7.

use super::*;

const RTO: Duration = Duration::from_millis(900);
const DELAYED: Duration = Duration::from_millis(40);

fn timeout(sender: &Sender) -> Option<Duration> {
    sender.board.probe_timeout(&sender.memory, Some(RTT), RTO, DELAYED)
}

/// Sends the last segment again, as a probe.
fn probe(sender: &mut Sender) {
    let (start, end) = sender.board.probe_segment().unwrap();
    sender.board.resent(&mut sender.memory, start, end, MSS, sender.now);
    sender.board.probe_sent(&mut sender.memory, true);
    sender.wait(RTT);
}

#[test]
fn it_waits_two_round_trips() {
    // RFC 8985, section 7.2.
    assert_eq!(timeout(&Sender::with(2)), Some(RTT * 2));
    assert_eq!(timeout(&Sender::with(1)), Some(RTT * 2 + DELAYED));
    let sender = Sender::with(2);
    let without = sender.board.probe_timeout(&sender.memory, None, RTO * 2, DELAYED);
    assert_eq!(without, Some(Duration::from_secs(1)));
    let short = sender.board.probe_timeout(&sender.memory, Some(RTT), RTT, DELAYED);
    assert_eq!(short, Some(RTT));
}

#[test]
fn no_probe_in_recovery_nor_with_sacks_nor_twice() {
    let mut sender = Sender::with(5);
    sender.ack(0, &[(3, 4)]);
    assert_eq!(timeout(&sender), None);
    let mut sender = Sender::with(5);
    probe(&mut sender);
    assert_eq!(timeout(&sender), None);
    assert_eq!(timeout(&Sender::without_sack(5)), None);
    assert_eq!(timeout(&Sender::with(0)), None);
}

/// RFC 8985, section 7.3.
#[test]
fn the_probe_is_the_last_segment() {
    let mut sender = Sender::with(3);
    assert_eq!(sender.board.probe_segment(), Some((sender.at(2), sender.at(3))));
    let end = sender.at(3) + 2_300;
    sender.board.sent(sender.at(3), end, MSS, sender.now);
    assert_eq!(sender.board.probe_segment(), Some((sender.at(5), end)));
}

#[test]
fn a_probe_reveals_a_lost_tail() {
    // RFC 8985, section 7.1: 2 to 5 are lost; the probe's SACK makes RACK find the others.
    let mut sender = Sender::with(6);
    sender.ack(2, &[]);
    sender.wait(RTT * 2);
    probe(&mut sender);
    let acked = sender.ack(2, &[(5, 6)]);
    let acked = if acked.newly_lost == 0 {
        sender.now = sender.board.reorder_deadline().unwrap();
        sender.reorder_timeout()
    } else {
        acked
    };
    assert_eq!((acked.newly_lost, acked.stage), (3_000, Stage::Entered));
    assert_eq!(sender.resend(9), [2, 3, 4]);
}

#[test]
fn a_probe_that_repaired_the_loss_is_a_loss() {
    // RFC 8985, section 7.4.2: the ACK of what was sent after it brings no D-SACK.
    let mut sender = Sender::with(3);
    probe(&mut sender);
    assert!(!sender.ack(3, &[]).probe_repaired);
    sender.send(1);
    sender.wait(RTT);
    assert!(sender.ack(4, &[]).probe_repaired);
    sender.send(1);
    assert!(!sender.ack(5, &[]).probe_repaired);
}

#[test]
fn a_probe_that_was_needless_is_none() {
    // Case 1: a D-SACK, also while nothing is in flight.
    let mut sender = Sender::with(3);
    probe(&mut sender);
    sender.ack(3, &[]);
    let block = [SackBlock { left: sender.at(2), right: sender.at(3) }];
    let ack = Ack {
        una: sender.at(3),
        nxt: sender.at(3),
        sack: &block,
        echo: None,
        is_duplicate: false,
        srtt: Some(RTT),
        min_rtt: Some(RTT),
        now: sender.now,
    };
    let acked = sender.memory.acknowledge(&ack);
    assert_eq!((acked.probe_repaired, acked.spurious), (false, false));
    assert_eq!(sender.memory.reorder_multiplier, 1, "it says nothing of reordering");
    sender.send(1);
    assert!(!sender.ack(4, &[]).probe_repaired);
    // Case 2: the same number twice, and no SACK.
    let mut sender = Sender::with(3);
    probe(&mut sender);
    sender.ack(3, &[]);
    sender.ack(3, &[]);
    sender.send(1);
    assert!(!sender.ack(4, &[]).probe_repaired);
}

#[test]
fn a_probe_of_new_data_is_never_a_loss() {
    let mut sender = Sender::with(3);
    sender.send(1);
    sender.board.probe_sent(&mut sender.memory, false);
    assert!(!sender.ack(4, &[]).probe_repaired);
    sender.send(1);
    assert!(!sender.ack(5, &[]).probe_repaired);
}
