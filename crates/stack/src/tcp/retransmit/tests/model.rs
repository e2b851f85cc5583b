//! The scoreboard against the RFC's own loops over all segments.

use proptest::prelude::*;

use super::*;

/// One segment, as RFC 8985, section 5.2 has it.
#[derive(Clone, Copy)]
struct Segment {
    sent: Instant,
    is_acked: bool,
    is_sacked: bool,
    is_lost: bool,
    is_resent: bool,
}

/// RFC 8985, section 6.2, by its pseudocode: everything is looked at each time.
struct Model {
    segments: Vec<Segment>,
    una: usize,
    recovery_point: Option<usize>,
    latest: Option<(Instant, usize, Duration)>,
    highest: usize,
    reordering_seen: bool,
    sacked_count: u32,
}

impl Model {
    fn take(&mut self, index: usize, now: Instant) {
        let segment = self.segments[index];
        if segment.is_acked || segment.is_sacked {
            return;
        }
        let (rtt, end) = (now.since(segment.sent), index + 1);
        if end > self.highest {
            self.highest = end;
        } else if end < self.highest && !segment.is_resent {
            self.reordering_seen = true;
        }
        if segment.is_resent && rtt < RTT {
            return;
        }
        if self.latest.is_none_or(|(sent, last, _)| (segment.sent, end) > (sent, last)) {
            self.latest = Some((segment.sent, end, rtt));
        }
    }

    fn acknowledge(&mut self, una: usize, blocks: &[(usize, usize)], now: Instant) -> usize {
        for index in self.una..una {
            self.take(index, now);
            self.segments[index].is_acked = true;
            self.segments[index].is_lost = false;
        }
        self.una = self.una.max(una);
        if !self.segments[self.una..].iter().any(|segment| segment.is_sacked) {
            self.sacked_count = 0;
        }
        for (left, right) in blocks.iter().copied() {
            if self.una < left && left < right && right <= self.segments.len() {
                for index in left..right {
                    self.take(index, now);
                    self.sacked_count += u32::from(!self.segments[index].is_sacked);
                    self.segments[index].is_sacked = true;
                    self.segments[index].is_lost = false;
                }
            }
        }
        if self.recovery_point.is_some_and(|point| self.una >= point) {
            self.recovery_point = None;
        }
        self.detect(now)
    }

    fn detect(&mut self, now: Instant) -> usize {
        let is_strict = self.recovery_point.is_some() || self.sacked_count >= 3;
        let patient = self.reordering_seen || !is_strict;
        let window = if patient { RTT / 4 } else { Duration::ZERO };
        let Some((latest, last, rtt)) = self.latest else { return 0 };
        let mut newly_lost = 0;
        for (index, segment) in self.segments.iter_mut().enumerate().skip(self.una) {
            let is_missing = !segment.is_sacked && !segment.is_lost;
            if is_missing && (latest, last) > (segment.sent, index + 1) {
                segment.is_lost = now.since(segment.sent) >= rtt + window;
                newly_lost += usize::from(segment.is_lost);
            }
        }
        if newly_lost > 0 && self.recovery_point.is_none() {
            self.recovery_point = Some(self.segments.len());
        }
        newly_lost
    }

    fn in_flight(&self) -> usize {
        let is_there = |segment: &&Segment| !segment.is_sacked && !segment.is_lost;
        self.segments[self.una..].iter().filter(is_there).count()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send { segments: u32, bursts: bool },
    Resend { most: usize },
    Ack { advance: u32, blocks: Vec<(u32, u32)> },
    Wait { ms: u64 },
    Timer,
}

/// Blocks of segments beyond `una`, in their order; one, if one lies within another: a first block
/// within the second one is a D-SACK, which this model has not.
fn beyond(una: u32, blocks: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let shifted = blocks.iter().map(|(left, length)| (una + left, una + left + length));
    let mut blocks: Vec<_> = shifted.collect();
    blocks.sort_unstable();
    if blocks.windows(2).any(|pair| pair[0].0 >= pair[1].0 || pair[0].1 >= pair[1].1) {
        blocks.truncate(1);
    }
    blocks
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let block = (0_u32..30, 0_u32..8);
    let step = prop_oneof![
        (1_u32..12, any::<bool>()).prop_map(|(segments, bursts)| Step::Send { segments, bursts }),
        (1_usize..6).prop_map(|most| Step::Resend { most }),
        (0_u32..4, prop::collection::vec(block, 0..4))
            .prop_map(|(advance, blocks)| Step::Ack { advance: advance / 2, blocks }),
        (0_u64..150).prop_map(|ms| Step::Wait { ms }),
        Just(Step::Timer),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn it_finds_what_the_loops_of_the_rfc_find(steps in steps()) {
        let mut sender = Sender::with(0);
        let mut model = Model {
            segments: Vec::new(),
            una: 0,
            recovery_point: None,
            latest: None,
            highest: 0,
            reordering_seen: false,
            sacked_count: 0,
        };
        for step in steps {
            sender.wait(Duration::from_millis(1));
            match step {
                Step::Send { segments, bursts } => {
                    if bursts { sender.send_burst(segments) } else { sender.send(segments) }
                    let fresh = Segment {
                        sent: sender.now,
                        is_acked: false,
                        is_sacked: false,
                        is_lost: false,
                        is_resent: false,
                    };
                    model.segments.extend((0..segments).map(|_| fresh));
                }
                Step::Resend { most } => {
                    for index in sender.resend(most) {
                        let segment = &mut model.segments[index as usize];
                        prop_assert!(segment.is_lost);
                        segment.is_lost = false;
                        segment.is_resent = true;
                        segment.sent = sender.now;
                    }
                }
                Step::Ack { advance, blocks } => {
                    let una = model.una as u32 + advance;
                    let una = una.min(model.segments.len() as u32);
                    let mut blocks = beyond(una, &blocks);
                    blocks.retain(|(left, _)| *left > una);
                    let of_model: Vec<_> =
                        blocks.iter().map(|(l, r)| (*l as usize, *r as usize)).collect();
                    let lost = model.acknowledge(una as usize, &of_model, sender.now);
                    let acked = sender.ack(una, &blocks);
                    prop_assert!(!acked.spurious);
                    prop_assert_eq!(acked.newly_lost as usize, lost * 1_000);
                }
                Step::Wait { ms } => sender.wait(Duration::from_millis(ms)),
                Step::Timer => {
                    let is_due = sender.board.reorder_deadline().is_some_and(|at| at <= sender.now);
                    // Recovery that has just begun makes the window zero, for the next ACK.
                    let is_due = is_due || model.recovery_point.is_some();
                    let lost = model.detect(sender.now);
                    prop_assert!(lost == 0 || is_due, "the deadline comes too late");
                    prop_assert_eq!(sender.reorder_timeout().newly_lost as usize, lost * 1_000);
                }
            }
            prop_assert_eq!(sender.board.in_flight() as usize, model.in_flight() * 1_000);
            let is_fast = sender.memory.phase() == Phase::Fast;
            prop_assert_eq!(is_fast, model.recovery_point.is_some());
            let least = model.segments.iter().position(|segment| segment.is_lost);
            let next = sender.board.next_lost().map(|(start, _)| sender.number(start) as usize);
            prop_assert_eq!(next, least);
        }
    }

    // Whatever arrives: no panic, the counters stay sums (`Sender::check`), the cost stays bounded.
    #[test]
    fn nothing_breaks_it(
        acks in prop::collection::vec(
            (any::<u8>(), 0_u32..40_000, 0_u32..60_000, 0_u32..9_000, 0_u64..400), 1..120),
        with_sack in any::<bool>(),
    ) {
        let mut sender = if with_sack { Sender::with(0) } else { Sender::without_sack(0) };
        for (kind, ahead, left, length, ms) in acks {
            sender.wait(Duration::from_millis(ms));
            match kind % 8 {
                0 => sender.send_burst(kind.into()),
                1 => sender.send(u32::from(kind) % 9),
                2 => {
                    sender.resend(usize::from(kind) % 20);
                }
                3 => {
                    sender.reorder_timeout();
                }
                4 => {
                    sender.retransmission_timeout();
                }
                kind => {
                    let una = sender.board.una();
                    sender.echo = (kind == 5).then(|| Duration::from_millis(ahead.into()));
                    let left = una + left - 20_000;
                    let blocks = [
                        SackBlock { left, right: left + length },
                        SackBlock { left: left + ahead, right: left + ahead + length },
                    ];
                    let una = if kind == 6 { una } else { una + ahead / 8 };
                    sender.ack_with(una, &blocks);
                }
            }
            sender.check();
            let board = &sender.board;
            prop_assert!(board.in_flight() <= board.outstanding());
        }
    }
}
