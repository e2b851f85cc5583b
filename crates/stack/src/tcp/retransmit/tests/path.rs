//! Scoreboard and window together, over a path that loses segments.

use std::{collections::BTreeSet, vec};

use super::*;
use crate::tcp::congestion::{Algorithm, Congestion};

/// A path with a round trip, and a receiver that acknowledges each segment.
struct Path {
    sender: Sender,
    congestion: Congestion,
    arrived: BTreeSet<u32>,
    with_sack: bool,
    /// Which transmissions are lost, by their number.
    lose: fn(u32) -> bool,
    transmissions: u32,
    in_flight_max: u32,
}

impl Path {
    fn new(lose: fn(u32) -> bool, with_sack: bool, algorithm: Algorithm) -> Self {
        let sender = if with_sack { Sender::with(0) } else { Sender::without_sack(0) };
        let congestion = Congestion::new(algorithm, MSS);
        let arrived = BTreeSet::new();
        Self { sender, congestion, arrived, with_sack, lose, transmissions: 0, in_flight_max: 0 }
    }

    /// Sends what the window allows, of `total` segments. Which arrive, in their order.
    fn transmit(&mut self, total: u32) -> Vec<u32> {
        let mut arriving = Vec::new();
        while self.sender.board.in_flight() < self.congestion.window() {
            let segment = match self.sender.resend(1).first() {
                Some(segment) => *segment,
                None if self.sender.number(self.sender.board.end()) < total => {
                    self.sender.send(1);
                    self.sender.number(self.sender.board.end()) - 1
                }
                None => break,
            };
            self.congestion.on_sent(MSS.into());
            self.transmissions += 1;
            if !(self.lose)(self.transmissions) {
                arriving.push(segment);
            }
        }
        self.in_flight_max = self.in_flight_max.max(self.sender.board.in_flight());
        arriving
    }

    /// The receiver gets a segment: its ACK, with the block of the segment first.
    fn receive(&mut self, segment: u32) -> (u32, Vec<(u32, u32)>) {
        self.arrived.insert(segment);
        let una = (0..).find(|number| !self.arrived.contains(number)).unwrap();
        let mut left = segment;
        while left > una && self.arrived.contains(&(left - 1)) {
            left -= 1;
        }
        let right = (segment..).find(|number| !self.arrived.contains(number)).unwrap();
        let block = if self.with_sack && left > una { vec![(left, right)] } else { vec![] };
        (una, block)
    }

    /// Until all has arrived. How many timeouts it took.
    fn run(&mut self, total: u32) -> u32 {
        let mut timeouts = 0;
        let mut under_way = self.transmit(total);
        for _ in 0..10_000 {
            if self.sender.number(self.sender.board.una()) == total {
                return timeouts;
            }
            self.sender.wait(RTT);
            if under_way.is_empty() {
                timeouts += self.time_out();
            }
            let mut next = Vec::new();
            for segment in core::mem::take(&mut under_way) {
                let (una, blocks) = self.receive(segment);
                let acked = self.sender.ack(una, &blocks);
                self.react(&acked);
                next.extend(self.transmit(total));
            }
            next.extend(self.transmit(total));
            under_way = next;
        }
        panic!("it does not end: {} of {total}", self.sender.board.una());
    }

    fn react(&mut self, acked: &Acked) {
        let in_flight = self.sender.board.in_flight();
        self.congestion.react(acked, in_flight, Some(RTT), self.sender.now, true);
    }

    /// Nothing arrives any more: RACK's timer, or else the other one.
    fn time_out(&mut self) -> u32 {
        if let Some(at) = self.sender.board.reorder_deadline() {
            self.sender.now = self.sender.now.max(at);
            let acked = self.sender.reorder_timeout();
            self.react(&acked);
            return 0;
        }
        self.sender.wait(RTT * 3);
        let timed_out = self.sender.retransmission_timeout();
        let in_flight = self.sender.board.in_flight();
        self.congestion.on_timeout(timed_out.outstanding, in_flight, timed_out.is_first);
        1
    }
}

const ALGORITHMS: [Algorithm; 2] = [Algorithm::NewReno, Algorithm::Cubic];

#[test]
fn one_loss_costs_one_transmission_and_no_timeout() {
    for algorithm in ALGORITHMS {
        for with_sack in [true, false] {
            let mut path = Path::new(|number| number == 35, with_sack, algorithm);
            assert_eq!(path.run(500), 0, "{algorithm:?} {with_sack}");
            assert_eq!(path.transmissions, 501, "{algorithm:?} {with_sack}");
        }
    }
}

#[test]
fn with_sack_nothing_that_arrived_is_sent_again() {
    for algorithm in ALGORITHMS {
        // 12 of a window, and some of the retransmissions.
        let lose =
            |number: u32| number == 90 || matches!(number, 40..64) && number.is_multiple_of(2);
        let mut path = Path::new(lose, true, algorithm);
        path.run(800);
        assert_eq!(path.transmissions, 800 + 13, "{algorithm:?}");
    }
}

#[test]
fn all_arrives_over_any_path() {
    let paths: [fn(u32) -> bool; 4] = [
        |n| n.is_multiple_of(10),
        |n| n.is_multiple_of(3),
        |n| (30..80).contains(&n),
        |n| n % 97 < 20,
    ];
    for (index, lose) in paths.into_iter().enumerate() {
        for with_sack in [true, false] {
            for algorithm in ALGORITHMS {
                let mut path = Path::new(lose, with_sack, algorithm);
                path.run(600);
                assert_eq!(path.arrived.len(), 600, "{index} {with_sack} {algorithm:?}");
                assert!(path.sender.board.is_empty());
                assert_eq!(path.sender.memory.phase(), Phase::Open);
            }
        }
    }
}

#[test]
fn a_path_without_losses_is_filled() {
    let mut path = Path::new(|_| false, true, Algorithm::Cubic);
    assert_eq!(path.run(2_000), 0);
    assert_eq!(path.transmissions, 2_000);
    assert!(path.in_flight_max >= 500_000, "{}", path.in_flight_max);
}
