//! What is lost, what is not, and what it costs to know. Segments have 1,000 bytes.

use portolan_wire::tcp::SackBlocks;

use super::*;

mod adversary;
mod model;
mod newreno;
mod path;
mod reordering;
mod tail;
mod timeouts;

const MSS: u16 = 1_000;
const RTT: Duration = Duration::from_millis(100);

/// A sender: a scoreboard with its memory and a clock. Segments are counted from 0.
struct Sender {
    board: Scoreboard,
    memory: Memory,
    now: Instant,
    first: Seq,
    echo: Option<Duration>,
}

impl Sender {
    /// Has sent so many segments, one record each, at the moment 1 s; it is 1 s and an RTT now.
    fn with(segments: u32) -> Self {
        // The sequence numbers wrap around amid the tests.
        let first = Seq(u32::MAX - 4_500);
        let mut sender = Self {
            board: Scoreboard::new(first, true),
            memory: Memory::new(first),
            now: Instant::from_micros(1_000_000),
            first,
            echo: None,
        };
        sender.send(segments);
        sender.wait(RTT);
        sender
    }

    fn without_sack(segments: u32) -> Self {
        let mut sender = Self::with(segments);
        sender.board.is_sack_permitted = false;
        sender
    }

    fn at(&self, segment: u32) -> Seq {
        self.first + segment * u32::from(MSS)
    }

    fn number(&self, seq: Seq) -> u32 {
        seq.distance(self.first) / u32::from(MSS)
    }

    fn wait(&mut self, duration: Duration) {
        self.now += duration;
    }

    /// Sends new segments, a record each.
    fn send(&mut self, segments: u32) {
        for _ in 0..segments {
            let start = self.board.end();
            self.board.sent(start, start + u32::from(MSS), MSS, self.now);
        }
    }

    /// Sends new segments as one burst.
    fn send_burst(&mut self, segments: u32) {
        let start = self.board.end();
        self.board.sent(start, start + segments * u32::from(MSS), MSS, self.now);
    }

    /// An ACK before segment `una`, with blocks of segments.
    fn ack(&mut self, una: u32, blocks: &[(u32, u32)]) -> Acked {
        let mut sack = SackBlocks::default();
        for (left, right) in blocks {
            assert!(sack.push(SackBlock { left: self.at(*left), right: self.at(*right) }));
        }
        self.ack_with(self.at(una), sack.as_slice())
    }

    fn ack_with(&mut self, una: Seq, sack: &[SackBlock]) -> Acked {
        let acked = self.ack_quietly(una, sack);
        self.check();
        acked
    }

    /// Without going through all records to check them.
    fn ack_quietly(&mut self, una: Seq, sack: &[SackBlock]) -> Acked {
        let ack = Ack {
            una,
            nxt: self.board.end(),
            sack,
            echo: self.echo,
            is_duplicate: una == self.board.una(),
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            now: self.now,
        };
        self.board.acknowledge(&mut self.memory, &ack)
    }

    /// Sends again what is lost, at most so many segments; which these are.
    fn resend(&mut self, most: usize) -> Vec<u32> {
        let mut sent = Vec::new();
        while sent.len() < most {
            let Some((start, end)) = self.board.next_lost() else { break };
            let end = if end.distance(start) > MSS.into() { start + MSS.into() } else { end };
            self.board.resent(&mut self.memory, start, end, MSS, self.now);
            sent.push(self.number(start));
        }
        self.check();
        sent
    }

    fn reorder_timeout(&mut self) -> Acked {
        let (srtt, min_rtt) = (Some(RTT), Some(RTT));
        self.board.handle_reorder_timeout(&mut self.memory, srtt, min_rtt, self.now)
    }

    fn retransmission_timeout(&mut self) -> TimedOut {
        self.board.on_timeout(&mut self.memory, Some(RTT), Some(RTT), self.now)
    }

    /// What holds always: no gaps, and the counters are the sums.
    fn check(&self) {
        let board = &self.board;
        let mut next = board.una;
        let (mut sacked, mut lost) = (0, 0);
        for record in &board.records {
            assert_eq!(record.start, next);
            assert!(record.start.before(record.end));
            next = record.end;
            match record.state {
                record::State::Sacked => sacked += record.len(),
                record::State::Lost => lost += record.len(),
                record::State::InFlight => {}
            }
        }
        assert_eq!((sacked, lost), (board.sacked_bytes, board.lost_bytes));
    }
}

#[test]
fn a_segment_is_in_flight_until_acknowledged() {
    let mut sender = Sender::with(1);
    assert_eq!(sender.board.in_flight(), 1_000);
    let acked = sender.ack(1, &[]);
    assert_eq!((acked.bytes, acked.delivered, acked.outstanding), (1_000, 1_000, 1_000));
    assert_eq!((acked.rtt, acked.stage), (Some(RTT), Stage::Open));
    assert!(sender.board.is_empty());
}

#[test]
fn an_ack_in_the_middle_of_a_burst_takes_a_part() {
    let mut sender = Sender::with(0);
    sender.send_burst(10);
    assert_eq!(sender.ack(3, &[]).bytes, 3_000);
    assert_eq!((sender.board.in_flight(), sender.board.una()), (7_000, sender.at(3)));
}

#[test]
fn three_sacked_segments_make_the_hole_lost() {
    // RFC 8985, section 6.2, step 4, and RFC 6675: without reordering the third decides.
    let mut sender = Sender::with(8);
    assert_eq!(sender.ack(0, &[(1, 2)]).newly_lost, 0);
    assert_eq!(sender.ack(0, &[(1, 3)]).newly_lost, 0);
    assert!(sender.board.reorder_deadline().is_some());
    let acked = sender.ack(0, &[(1, 4)]);
    assert_eq!((acked.newly_lost, acked.stage), (1_000, Stage::Entered));
    assert_eq!(sender.board.in_flight(), 4_000);
    assert_eq!(sender.resend(9), [0]);
    assert_eq!(sender.board.in_flight(), 5_000);
    // The rest arrives, and the retransmission.
    assert_eq!(sender.ack(0, &[(1, 8)]).stage, Stage::Fast);
    sender.wait(RTT);
    let acked = sender.ack(8, &[]);
    assert_eq!((acked.bytes, acked.delivered, acked.stage), (8_000, 1_000, Stage::Ended));
    assert_eq!(acked.rtt, None, "Karn: it was sent twice");
    assert_eq!(sender.memory.phase(), Phase::Open);
}

#[test]
fn the_examples_of_rfc_2018_mark_what_they_say() {
    // RFC 2018, section 4, case 2: the first of eight is lost, each of the others is SACKed.
    let mut sender = Sender::with(8);
    for right in 2..=8 {
        let acked = sender.ack(0, &[(1, right)]);
        assert_eq!(acked.delivered, 1_000);
    }
    assert_eq!((sender.board.outstanding(), sender.board.in_flight()), (1_000, 0));
    // Case 3: 2nd, 4th, 6th and 8th are lost; then the fourth arrives, then the second.
    let mut sender = Sender::with(8);
    sender.ack(1, &[]);
    sender.ack(1, &[(2, 3)]);
    sender.ack(1, &[(4, 5), (2, 3)]);
    let acked = sender.ack(1, &[(6, 7), (4, 5), (2, 3)]);
    assert_eq!((acked.newly_lost, acked.stage), (3_000, Stage::Entered));
    assert_eq!(sender.resend(9), [1, 3, 5]);
    sender.wait(RTT);
    assert_eq!(sender.ack(1, &[(2, 5), (6, 7)]).delivered, 1_000);
    let acked = sender.ack(5, &[(6, 7)]);
    assert_eq!((acked.bytes, acked.delivered), (4_000, 1_000));
}

#[test]
fn a_block_counts_for_whole_segments_of_a_burst() {
    let mut sender = Sender::with(0);
    sender.send_burst(10);
    let first = sender.first;
    let block = SackBlock { left: first + 2_500, right: first + 6_500 };
    assert_eq!(sender.ack_with(first, &[block]).delivered, 3_000);
    assert_eq!(sender.board.outstanding(), 7_000);
    let block = SackBlock { left: first + 2_500, right: first + 2_600 };
    assert_eq!(sender.ack_with(first, &[block]).delivered, 0);
    // The last segment may be shorter.
    let mut sender = Sender::with(0);
    let end = first + 2_300;
    sender.board.sent(first, end, MSS, sender.now);
    let block = SackBlock { left: first + 2_000, right: end };
    assert_eq!(sender.ack_with(first, &[block]).delivered, 300);
}

#[test]
fn blocks_out_of_the_window_are_ignored() {
    let mut sender = Sender::with(10);
    sender.ack(2, &[]);
    for (left, right) in [(2, 4), (1, 4), (9, 11), (11, 12), (5, 5), (7, 5)] {
        let acked = sender.ack(2, &[(left, right)]);
        assert_eq!((acked.delivered, acked.newly_lost), (0, 0), "{left} {right}");
    }
    assert_eq!(sender.board.in_flight(), 8_000);
    // An older ACK still counts for its blocks, a later one than what was sent for nothing.
    assert_eq!(sender.ack(1, &[(5, 6)]).delivered, 1_000);
    assert_eq!(sender.ack(11, &[(6, 7)]).bytes, 0);
}

#[test]
fn what_does_not_follow_is_not_recorded() {
    let mut sender = Sender::with(2);
    sender.board.sent(sender.at(3), sender.at(4), MSS, sender.now);
    sender.board.sent(sender.at(2), sender.at(2), MSS, sender.now);
    assert_eq!(sender.board.end(), sender.at(2));
    let (start, end) = (sender.at(1), sender.at(5));
    sender.board.resent(&mut sender.memory, start, end, MSS, sender.now);
    assert_eq!(sender.board.in_flight(), 2_000);
}

#[test]
fn a_pooled_scoreboard_is_as_new() {
    let mut sender = Sender::with(500);
    sender.ack(0, &[(5, 400)]);
    sender.board.reset(Seq(7), true);
    assert!(sender.board.is_empty() && !sender.board.has_lost());
    assert_eq!((sender.board.una(), sender.board.in_flight()), (Seq(7), 0));
    assert_eq!(sender.board.next_lost(), None);
    assert!(sender.board.records.capacity() <= RECORDS_KEPT * 2);
}

/// RFC 6298, section 3 (Karn): without SACK, what lies behind a hole arrived long before the ACK
/// that its repair brings.
#[test]
fn what_waited_behind_a_hole_is_no_round_trip() {
    let mut flight = Sender::without_sack(3);
    flight.wait(Duration::from_secs(40));
    flight.retransmission_timeout();
    assert_eq!(flight.resend(1), [0]);
    flight.wait(RTT);
    assert_eq!(flight.ack(3, &[]).rtt, None);
    flight.send(1);
    flight.wait(RTT);
    assert_eq!(flight.ack(4, &[]).rtt, Some(RTT));
}
