//! What a receiver who means ill can make an ACK cost: CVE-2019-11477, 11478 and 11479. The counter
//! is of operations on records; the bounds are per segment sent and per ACK.

use super::*;

/// Operations that an ACK may cost: four blocks, each with a binary search and its ends, the
/// front, and RACK's two queues.
const PER_ACK: u64 = 150;
/// Operations that a segment may cost in its life: sent, split, SACKed, joined, acknowledged.
const PER_SEGMENT: u64 = 40;

fn assert_bounded(sender: &Sender, acks: u64, segments: u64) {
    let bound = acks * PER_ACK + segments * PER_SEGMENT;
    let steps = sender.board.steps();
    assert!(steps <= bound, "{steps} steps for {acks} ACKs and {segments} segments, bound {bound}");
}

#[test]
fn every_other_byte() {
    // Parts of segments do not count, so that there is nothing to split.
    let mut sender = Sender::with(0);
    (0..20).for_each(|_| sender.send_burst(64));
    let (first, mut acks) = (sender.first, 0);
    for byte in (1..100_000).step_by(8) {
        let blocks = [0, 2, 4, 6].map(|ahead| {
            let left = first + byte + ahead;
            SackBlock { left, right: left + 1 }
        });
        assert_eq!(sender.ack_quietly(first, &blocks).delivered, 0);
        acks += 1;
    }
    assert_eq!(sender.board.records.len(), 20);
    assert_bounded(&sender, acks, 20);
}

#[test]
fn every_other_segment_and_then_all_for_ever() {
    let mut sender = Sender::with(0);
    (0..20).for_each(|_| sender.send_burst(64));
    let (mut acks, segments) = (0, 20 * 64);
    for _ in 0..5 {
        for segment in (1..segments - 1).step_by(2) {
            let (left, right) = (sender.at(segment), sender.at(segment + 1));
            sender.ack_quietly(sender.first, &[SackBlock { left, right }]);
            acks += 1;
        }
    }
    let all = SackBlock { left: sender.at(1), right: sender.at(segments) };
    for _ in 0..10_000 {
        sender.ack_quietly(sender.first, &[all, all, all, all]);
        acks += 1;
    }
    assert_eq!(sender.board.records.len(), 2);
    assert_bounded(&sender, acks, segments.into());
}

#[test]
fn blocks_out_of_the_window() {
    let mut sender = Sender::with(1_000);
    for ahead in 0..10_000 {
        let left = sender.at(1_000) + ahead;
        let blocks = [SackBlock { left, right: left + 500 }; 4];
        sender.ack_quietly(sender.first, &blocks);
    }
    assert_bounded(&sender, 10_000, 1_000);
}

#[test]
fn records_are_bounded() {
    let mut sender = Sender::with(0);
    let mut bursts = 0;
    while !sender.board.is_full() && bursts < 4_000 {
        sender.send_burst(64);
        bursts += 1;
    }
    for segment in (1..250_000).step_by(2) {
        let (left, right) = (sender.at(segment), sender.at(segment + 1));
        sender.ack_quietly(sender.first, &[SackBlock { left, right }]);
    }
    assert!(sender.board.records.len() <= RECORDS_MAX);
    assert!(sender.board.is_full());
    // Parts of them that are sent again do not make many more.
    sender.wait(RTT * 9);
    sender.retransmission_timeout();
    for _ in 0..20_000 {
        let Some((start, _)) = sender.board.next_lost() else { break };
        let now = sender.now;
        sender.board.resent(&mut sender.memory, start, start + 1_000, MSS, now);
    }
    assert!(sender.board.records.len() <= 2 * RECORDS_MAX, "{}", sender.board.records.len());
    sender.check();
}

#[test]
fn needless_recoveries_on_purpose() {
    // Marks, a retransmission, a lie that it was needless, and again: an undo per window only.
    let mut sender = Sender::with(2_000);
    let (mut acks, mut resent) = (0_u64, 0_u64);
    for una in 0..1_500 {
        let blocks = [SackBlock { left: sender.at(1_900), right: sender.at(2_000) }];
        sender.echo = Some(RTT * 100);
        sender.ack_quietly(sender.at(una), &blocks);
        sender.wait(Duration::from_millis(30));
        sender.reorder_timeout();
        if let Some((start, end)) = sender.board.next_lost() {
            let now = sender.now;
            sender.board.resent(&mut sender.memory, start, end, MSS, now);
            resent += 1;
        }
        acks += 2;
    }
    assert_bounded(&sender, acks, 2_000 + resent);
}

#[test]
fn reneging_and_acknowledging_ahead() {
    let mut sender = Sender::with(1_000);
    let mut timeouts = 0;
    for round in 0..200 {
        sender.ack(0, &[(1, 500), (501, 1_000)]);
        if round % 20 == 0 {
            sender.wait(RTT * 10);
            sender.retransmission_timeout();
            timeouts += 1;
        }
        // Beyond what was sent: the caller's matter, and ignored here.
        assert_eq!(sender.ack(2_000, &[]).bytes, 0);
    }
    // A timeout may cost what a flight costs.
    assert_bounded(&sender, 400, 1_000 * (1 + timeouts));
    assert_eq!(sender.ack(1_000, &[]).bytes, 1_000_000);
    assert!(sender.board.is_empty() && sender.board.lost.is_empty());
}

#[test]
fn a_long_transfer_costs_the_same_throughout_and_allocates_nothing() {
    let mut sender = Sender::with(0);
    let (mut acks, mut capacity) = (0_u64, 0);
    for round in 0..2_000_u32 {
        sender.send(50);
        sender.wait(RTT);
        let first = round * 50;
        // The third of each round is lost once.
        sender.ack(first + 2, &[]);
        for right in [10, 20, 30, 40, 50] {
            sender.ack(first + 2, &[(first + 3, first + right)]);
        }
        assert_eq!(sender.resend(9), [first + 2]);
        sender.wait(RTT);
        sender.ack(first + 50, &[]);
        acks += 7;
        let board = &sender.board;
        let now = board.records.capacity() + board.resent.capacity() + board.lost.capacity();
        assert!(round < 10 || now <= capacity, "{now} after {capacity}");
        capacity = capacity.max(now);
    }
    assert_bounded(&sender, acks, 100_000);
}
