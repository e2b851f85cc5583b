use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use proptest::prelude::*;

use rustix::io::Errno;

use super::{
    later::{BUSY_MAX, BUSY_PAUSE, UNSENT_MAX},
    *,
};
use crate::Reason;

const MILLI: Duration = Duration::from_millis(1);

fn target(number: u64) -> SocketAddr {
    let [.., a, b, c] = number.to_be_bytes();
    SocketAddr::from(([10, a, b, c], 80))
}

fn answer(verdict: Verdict, evidence: Evidence, attempt: Option<u8>) -> Answer {
    Answer { verdict, evidence, attempt }
}

fn open(attempt: Option<u8>) -> Answer {
    answer(Verdict::Open, Evidence::SynAck, attempt)
}

fn batch(plan: Plan, capacity: usize) -> Batch {
    Batch::new(MethodName::Syn, plan, Pace::Unlimited, capacity)
}

/// Splitmix64.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn happens(&mut self, share: f64) -> bool {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64 <= share && share > 0.0
    }

    fn time(&mut self, most: Duration) -> Duration {
        Duration::from_nanos(self.below(u64::try_from(most.as_nanos()).unwrap() + 1))
    }
}

/// What the network and the method do.
#[derive(Clone, Copy, Debug)]
struct World {
    seed: u64,
    checks: u64,
    capacity: usize,
    timeout: Duration,
    retries: u8,
    pace: Pace,
    insists: bool,
    /// Of each packet, there and back.
    loss: f64,
    duplicates: f64,
    busy: f64,
    /// There and back together.
    delay_max: Duration,
    /// The loop comes so much later than it was told.
    late_max: Duration,
    /// Of all targets, the others being open.
    closed: f64,
    silent: f64,
    prohibited: f64,
    /// Of all answers, those that tell which question they are to.
    tells_attempt: f64,
}

impl World {
    /// Nothing is lost, and half of the targets are open.
    const KIND: Self = Self {
        seed: 0,
        checks: 3000,
        capacity: 256,
        timeout: Duration::from_millis(700),
        retries: 2,
        pace: Pace::Unlimited,
        insists: false,
        loss: 0.0,
        duplicates: 0.0,
        busy: 0.0,
        delay_max: Duration::from_millis(90),
        late_max: Duration::ZERO,
        closed: 0.3,
        silent: 0.1,
        prohibited: 0.1,
        tells_attempt: 1.0,
    };
}

/// A packet on its way back: for whom, and which question it answers.
type Arrival = Reverse<(Duration, u64, u32, u64, u8)>;

/// A loop around a batch, with a clock of its own and a network that a seed decides about.
struct Simulator {
    world: World,
    random: Random,
    batch: Batch,
    now: Duration,
    arrivals: BinaryHeap<Arrival>,
    /// By token: what the target would say.
    truth: Vec<Option<Answer>>,
    /// By token: how often it was asked.
    asked: Vec<u8>,
    /// The token that the method knows for a place.
    places: HashMap<u32, u64>,
    findings: HashMap<u64, Finding>,
    added: u64,
    /// Answers that were handed over about checks that are over.
    second_answers: u64,
    /// The questions that answered checks took, as far as that is known, and of how many it is.
    took: u64,
    attributed: u64,
    packets: u64,
}

impl Simulator {
    fn new(world: World) -> Self {
        let mut random = Random(world.seed);
        let plan = Plan::new(world.timeout, world.retries);
        let batch = Batch::new(MethodName::Syn, plan, world.pace, world.capacity);
        let batch = if world.insists { batch.insistent() } else { batch };
        let truth = (0..world.checks).map(|_| truth(&world, &mut random)).collect();
        let asked = vec![0; usize::try_from(world.checks).unwrap()];
        Self {
            world,
            random,
            batch,
            now: Duration::ZERO,
            arrivals: BinaryHeap::new(),
            truth,
            asked,
            places: HashMap::new(),
            findings: HashMap::new(),
            added: 0,
            second_answers: 0,
            took: 0,
            attributed: 0,
            packets: 0,
        }
    }

    /// Runs until everything is over.
    fn run(mut self) -> Self {
        while self.findings.len() < self.truth.len() {
            let before = self.progress();
            self.batch.handle_timeout(self.now);
            self.add();
            self.ask();
            self.hear();
            self.conclude();
            let moved = self.progress() != before;
            self.check_bounds();
            if self.findings.len() < self.truth.len() {
                self.wait(moved);
            }
        }
        assert!(self.batch.is_idle() && !self.batch.has_findings(), "{:?}", self.world);
        assert_eq!(self.batch.room(), self.world.capacity);
        assert_eq!(self.batch.poll_transmit(self.now), None);
        self
    }

    /// What changes with everything that the batch does.
    fn progress(&self) -> (u64, u64, u64, usize, usize, usize) {
        let queued = self.batch.asked.iter().map(VecDeque::len).sum();
        let concluded = self.findings.len() + self.batch.concluded.len();
        (
            self.packets,
            self.added,
            self.batch.counts.asked,
            queued,
            self.batch.again.len(),
            concluded,
        )
    }

    fn add(&mut self) {
        let most = self.random.below(2 * self.world.capacity as u64) + 1;
        for token in (self.added..self.world.checks).take(usize::try_from(most).unwrap()) {
            let room = self.batch.room();
            let Some(id) = self.batch.add(target(token), token) else {
                assert_eq!(room, 0);
                break;
            };
            assert_eq!(self.batch.room(), room - 1);
            assert_eq!(self.places.insert(id.0, token), None, "the place is still in use");
            self.added += 1;
        }
    }

    fn ask(&mut self) {
        while let Some(transmit) = self.batch.poll_transmit(self.now) {
            let token = self.places[&transmit.id.0];
            let is_over = self.batch.checks[transmit.id.0 as usize].is_over;
            assert!(!self.findings.contains_key(&token) && !is_over, "asked after its end");
            assert_eq!(transmit.target, target(token));
            let asked = &mut self.asked[usize::try_from(token).unwrap()];
            assert_eq!(transmit.attempt, *asked);
            if self.random.happens(self.world.busy) {
                self.batch.handle_busy(transmit.id, self.now);
                continue;
            }
            *asked += 1;
            self.packets += 1;
            self.send(transmit, token);
        }
    }

    /// Loses the question, or lets an answer or two come.
    fn send(&mut self, transmit: Transmit, token: u64) {
        if self.random.happens(self.world.loss) {
            return;
        }
        let copies = 1 + u64::from(self.random.happens(self.world.duplicates));
        for _ in 0..copies {
            if self.random.happens(self.world.loss) {
                continue;
            }
            let at = self.now + self.random.time(self.world.delay_max);
            let order = self.random.next();
            self.arrivals.push(Reverse((at, order, transmit.id.0, token, transmit.attempt)));
        }
    }

    fn hear(&mut self) {
        while let Some(&Reverse((at, _, place, token, attempt))) = self.arrivals.peek() {
            if at > self.now {
                break;
            }
            self.arrivals.pop();
            self.packets += 1;
            let Some(truth) = self.truth[usize::try_from(token).unwrap()] else { continue };
            // The method's duty: what answers a check that was forgotten answers none.
            if self.places.get(&place) != Some(&token) {
                continue;
            }
            let tells = self.random.happens(self.world.tells_attempt);
            let answer = Answer { attempt: tells.then_some(attempt), ..truth };
            let check = self.batch.checks[place as usize];
            if check.is_over {
                self.second_answers += 1;
            } else {
                let told = tells.then_some(attempt);
                let known = self.batch.attribute(check, told, self.now);
                self.took += known.map_or(0, |attempt| u64::from(attempt) + 1);
                self.attributed += u64::from(known.is_some());
            }
            self.batch.handle_answer(Id(place), answer, self.now);
        }
    }

    /// Takes findings; not always all of them.
    fn conclude(&mut self) {
        while self.batch.has_findings() && !self.random.happens(0.01) {
            let Some(Concluded { id, token, finding }) = self.batch.poll_finding() else { break };
            assert_eq!(self.places.remove(&id.0), Some(token));
            assert_eq!(finding.target, target(token));
            assert_eq!(finding.attempts, self.asked[usize::try_from(token).unwrap()]);
            assert_eq!(self.findings.insert(token, finding), None, "it ended twice");
        }
    }

    fn check_bounds(&self) {
        let bound = 2 * self.world.capacity;
        assert!(self.batch.asked.iter().all(|queue| queue.len() <= bound), "{:?}", self.world);
        let waiting = [self.batch.again.len(), self.batch.fresh.len(), self.batch.concluded.len()];
        assert!(waiting.iter().all(|&len| len <= self.world.capacity), "{waiting:?}");
    }

    /// Goes to the next time at which something can happen.
    fn wait(&mut self, moved: bool) {
        let arrival = self.arrivals.peek().map(|Reverse((at, ..))| *at);
        let due = self.batch.poll_timeout();
        if self.batch.has_findings() || self.added < self.world.checks && self.batch.room() > 0 {
            return;
        }
        let next = due.into_iter().chain(arrival).min();
        let next = next.unwrap_or_else(|| panic!("nothing will happen again: {:?}", self.world));
        assert!(next > self.now || moved, "a busy loop at {:?}: {:?}", self.now, self.world);
        if next > self.now {
            self.now = next + self.random.time(self.world.late_max);
        }
    }

    /// Open or closed targets that were found to be something else.
    fn wrong(&self) -> usize {
        let is_wrong = |(token, truth): (u64, &Option<Answer>)| {
            let expected = truth.map_or((Verdict::Filtered, Evidence::Silence), |answer| {
                (answer.verdict, answer.evidence)
            });
            let finding = self.findings[&token];
            (finding.verdict, finding.evidence) != expected
        };
        (0..).zip(&self.truth).filter(|&it| is_wrong(it)).count()
    }

    /// What was counted is what happened.
    fn check_counts(&self) {
        let counts = self.batch.counts();
        let silent = self.findings.values().filter(|it| it.evidence == Evidence::Silence).count();
        let answered = u64::try_from(self.findings.len() - silent).unwrap();
        let expected = Counts {
            asked: self.asked.iter().copied().map(u64::from).sum(),
            answered,
            duplicates: self.second_answers,
            attributed: self.attributed,
            asked_of_attributed: self.took,
        };
        assert_eq!(counts, expected, "{:?}", self.world);
        assert!(self.asked.iter().all(|&asked| (1..=ATTEMPTS_MAX).contains(&asked)));
        assert!((0.0..1.0).contains(&counts.loss()), "{}", counts.loss());
    }
}

fn truth(world: &World, random: &mut Random) -> Option<Answer> {
    let prohibited = Verdict::Unreachable(Reason::Prohibited);
    if random.happens(world.silent) {
        None
    } else if random.happens(world.closed) {
        Some(answer(Verdict::Closed, Evidence::Reset, None))
    } else if random.happens(world.prohibited) {
        Some(answer(prohibited, Evidence::Icmp { kind: 3, code: 13 }, None))
    } else {
        Some(open(None))
    }
}

/// A path that loses, repeats and reorders, and a method that is short of buffers.
fn harsh(seed: u64) -> World {
    let mut random = Random(seed ^ 0x5eed);
    let pace = match random.below(4) {
        0 => Pace::Unlimited,
        1 => Pace::Fixed(20_000.0),
        _ => Pace::Adaptive { per_second_max: 1e6 },
    };
    World {
        seed,
        capacity: usize::try_from(1 + random.below(400)).unwrap(),
        retries: u8::try_from(random.below(5)).unwrap(),
        pace,
        insists: random.happens(0.5),
        loss: random.below(30) as f64 / 100.0,
        duplicates: random.below(50) as f64 / 100.0,
        busy: random.below(20) as f64 / 100.0,
        delay_max: random.time(Duration::from_secs(1)),
        late_max: random.time(20 * MILLI),
        tells_attempt: random.below(3) as f64 / 2.0,
        checks: 1000,
        ..World::KIND
    }
}

#[test]
fn whatever_the_network_does_every_check_ends_once_and_the_counts_add_up() {
    for seed in 0..40 {
        let world = harsh(seed);
        println!("{world:?}");
        let done = Simulator::new(world).run();
        done.check_counts();
        // Nobody is said to have answered who did not, nor anything else than he did.
        for (token, finding) in &done.findings {
            let truth = done.truth[usize::try_from(*token).unwrap()];
            let said = truth.map(|answer| (answer.verdict, answer.evidence));
            let found = (finding.verdict, finding.evidence);
            assert!(found == (Verdict::Filtered, Evidence::Silence) || Some(found) == said);
        }
    }
}

#[test]
fn without_loss_every_verdict_is_right_while_answers_come_before_the_timeout() {
    for seed in 0..20 {
        let kind = World { seed, ..World::KIND };
        let delay_max = Random(seed).time(kind.timeout - Duration::from_nanos(1));
        for world in [
            World { delay_max, ..kind },
            World { delay_max, duplicates: 0.5, insists: true, ..kind },
            World { delay_max, busy: 0.2, tells_attempt: 0.0, ..kind },
            World { delay_max, pace: Pace::Adaptive { per_second_max: 1e6 }, ..kind },
        ] {
            println!("{world:?}");
            let done = Simulator::new(world).run();
            assert_eq!(done.wrong(), 0);
            done.check_counts();
        }
    }
}

#[test]
fn a_silent_target_is_waited_for_as_planned() {
    let done = Simulator::new(World { silent: 1.0, checks: 300, ..World::KIND }).run();
    for finding in done.findings.values() {
        assert_eq!((finding.took, finding.attempts), (World::KIND.timeout, 3));
        assert_eq!(finding.verdict, Verdict::Filtered);
    }
    assert_eq!(done.batch.counts(), Counts { asked: 900, ..Counts::default() });
}

#[test]
fn insistent_checks_miss_none_of_thousands_where_one_packet_in_twenty_is_lost() {
    for seed in 0..5 {
        let path = World { seed, loss: 0.05, checks: 6000, capacity: 1024, ..World::KIND };
        for tells_attempt in [1.0, 0.0] {
            let world = World { insists: true, tells_attempt, ..path };
            println!("{world:?}");
            let done = Simulator::new(world).run();
            assert_eq!(done.wrong(), 0);
            done.check_counts();
            // It does so without asking everybody for ever.
            assert!(done.asked.iter().all(|&asked| asked <= 9));
        }
    }
}

#[test]
fn what_answers_say_about_loss_is_what_was_lost() {
    // Answers come before it asks again, so that none is to a question that was not lost.
    let path = World { loss: 0.1, delay_max: 10 * MILLI, ..World::KIND };
    let world = World { checks: 20_000, capacity: 1024, retries: 5, ..path };
    let done = Simulator::new(world).run();
    let loss = done.batch.counts().loss();
    assert!((loss - 0.19).abs() < 0.02, "{loss} instead of one minus 0.9 squared");
}

#[test]
fn a_silent_target_at_the_front_does_not_make_the_queues_grow() {
    let capacity = 64;
    for attempt in 0..ATTEMPTS_MAX {
        let mut batch = batch(Plan::new(Duration::from_secs(3600), ATTEMPTS_MAX - 1), capacity);
        let mut now = Duration::ZERO;
        let silent = batch.add(target(0), 0).unwrap();
        for _ in 0..=attempt {
            batch.handle_timeout(now);
            assert_eq!(batch.poll_transmit(now).map(|it| it.id), Some(silent));
            now = batch.poll_timeout().unwrap();
        }
        now -= Duration::from_nanos(1);
        for token in 1..20_000 {
            let id = batch.add(target(token), token).unwrap();
            assert_eq!(batch.poll_transmit(now).map(|it| it.id), Some(id));
            batch.handle_answer(id, open(Some(0)), now);
            assert_eq!(batch.poll_finding().map(|it| it.token), Some(token));
            let queued: usize = batch.asked.iter().map(VecDeque::len).sum();
            assert!(queued <= 2 * capacity + 1, "{queued} entries");
        }
        assert!(!batch.is_idle());
        assert!(batch.poll_timeout().is_some_and(|due| due > now), "the silent one is forgotten");
    }
}

#[test]
fn a_second_answer_and_one_about_a_place_without_a_check_change_nothing() {
    let mut batch = batch(Plan::default(), 4);
    let id = batch.add(target(1), 1).unwrap();
    batch.handle_answer(id, open(None), MILLI);
    batch.handle_answer(Id(3), open(None), MILLI);
    batch.handle_answer(Id(u32::MAX), open(None), MILLI);
    assert!(!batch.has_findings(), "nobody was asked yet");
    assert!(batch.poll_transmit(MILLI).is_some());
    batch.handle_answer(id, open(Some(0)), 2 * MILLI);
    let closed = answer(Verdict::Closed, Evidence::Reset, Some(0));
    batch.handle_answer(id, closed, 3 * MILLI);
    let found = batch.poll_finding().unwrap().finding;
    assert_eq!((found.verdict, found.took, found.attempts), (Verdict::Open, MILLI, 1));
    batch.handle_answer(id, closed, 4 * MILLI);
    assert!(!batch.has_findings() && batch.is_idle());
    assert_eq!(batch.counts().answered, 1);
}

#[test]
fn the_next_check_at_a_place_knows_nothing_of_the_one_before() {
    let mut batch = batch(Plan::new(100 * MILLI, 1), 1);
    let first = batch.add(target(1), 1).unwrap();
    assert_eq!(batch.add(target(2), 2), None);
    assert!(batch.poll_transmit(MILLI).is_some());
    batch.handle_answer(first, open(Some(0)), 5 * MILLI);
    assert_eq!(batch.room(), 0, "the finding keeps the place until it is taken");
    assert!(batch.poll_finding().is_some());
    let second = batch.add(target(2), 2).unwrap();
    assert_eq!(second, first);
    // The deadline of the first does not end the second.
    batch.handle_timeout(40 * MILLI);
    batch.handle_answer(second, open(Some(0)), 40 * MILLI);
    assert!(!batch.has_findings(), "it was not asked yet");
    let transmit = batch.poll_transmit(50 * MILLI).unwrap();
    assert_eq!((transmit.target, transmit.attempt), (target(2), 0));
    batch.handle_timeout(60 * MILLI);
    assert_eq!(batch.poll_transmit(60 * MILLI), None);
    batch.handle_answer(second, open(Some(0)), 61 * MILLI);
    let found = batch.poll_finding().unwrap();
    assert_eq!((found.token, found.finding.took), (2, 11 * MILLI));
}

#[test]
fn what_was_asked_already_is_asked_again_before_anybody_new() {
    let mut batch = batch(Plan::new(30 * MILLI, 1), 4);
    let old = batch.add(target(1), 1).unwrap();
    assert!(batch.poll_transmit(Duration::ZERO).is_some());
    let new = batch.add(target(2), 2).unwrap();
    batch.handle_timeout(10 * MILLI);
    let next = |batch: &mut Batch| batch.poll_transmit(10 * MILLI).map(|it| (it.id, it.attempt));
    assert_eq!(next(&mut batch), Some((old, 1)));
    assert_eq!(next(&mut batch), Some((new, 0)));
    assert_eq!(next(&mut batch), None);
}

#[test]
fn a_busy_method_is_asked_the_same_question_a_little_later() {
    let mut batch = batch(Plan::new(30 * MILLI, 1), 4);
    let id = batch.add(target(1), 1).unwrap();
    let mut now = Duration::ZERO;
    for attempt in 0..2 {
        for _ in 0..20 {
            let transmit = batch.poll_transmit(now).unwrap();
            assert_eq!((transmit.id, transmit.attempt), (id, attempt));
            batch.handle_busy(id, now);
            assert_eq!(batch.poll_transmit(now), None);
            assert_eq!(batch.poll_timeout(), Some(now + BUSY_PAUSE));
            assert_eq!(batch.counts().asked, attempt.into());
            now += BUSY_PAUSE;
            batch.handle_timeout(now);
        }
        assert!(batch.poll_transmit(now).is_some());
        now = batch.poll_timeout().unwrap();
        batch.handle_timeout(now);
    }
    assert_eq!(batch.poll_finding().map(|it| it.finding.attempts), Some(2));
}

#[test]
fn a_question_that_was_not_sent_is_asked_again_after_the_others_and_counts_for_nothing() {
    let mut batch = batch(Plan::new(30 * MILLI, 1), 4);
    let [first, second] = [1, 2].map(|number| batch.add(target(number), number).unwrap());
    let ask = |batch: &mut Batch, now| {
        batch.handle_timeout(now);
        batch.poll_transmit(now).map(|it| (it.id, it.attempt))
    };
    assert_eq!(ask(&mut batch, Duration::ZERO), Some((first, 0)));
    batch.handle_unsent(first, Duration::ZERO);
    assert_eq!(batch.counts().asked, 0);
    // It keeps nobody waiting.
    assert_eq!(ask(&mut batch, Duration::ZERO), Some((second, 0)));
    assert_eq!(ask(&mut batch, Duration::ZERO), None);
    assert_eq!(ask(&mut batch, BUSY_PAUSE), Some((first, 0)));
    // What was noted about the question that was not sent is of no consequence.
    let again = [10, 10, 11].map(|at| ask(&mut batch, at * MILLI));
    assert_eq!(again, [Some((second, 1)), None, Some((first, 1))]);
    batch.handle_unsent(second, 11 * MILLI);
    batch.handle_unsent(Id(3), 11 * MILLI);
    let then = [11, 12].map(|at| ask(&mut batch, at * MILLI));
    assert_eq!(then, [None, Some((second, 1))]);
    assert_eq!(batch.counts().asked, 4);
}

#[test]
fn a_question_that_can_never_be_sent_is_a_refusal_after_some_seconds() {
    let mut batch = batch(Plan::default(), 4);
    let id = batch.add(target(1), 1).unwrap();
    let mut now = Duration::ZERO;
    let verdict = loop {
        batch.handle_timeout(now);
        if let Some(concluded) = batch.poll_finding() {
            break concluded.finding.verdict;
        }
        assert_eq!(batch.poll_transmit(now).map(|it| it.id), Some(id));
        batch.handle_unsent(id, now);
        now += BUSY_PAUSE;
        assert!(now < 2 * UNSENT_MAX);
    };
    assert_eq!(verdict, Verdict::Error(Errno::NOBUFS.raw_os_error()));
    assert!(now >= UNSENT_MAX);
}

#[test]
fn a_method_that_is_busy_with_one_target_after_the_other_is_left_alone_for_a_moment() {
    let mut batch = batch(Plan::default(), 100);
    assert!((0..100).all(|number| batch.add(target(number), number).is_some()));
    let mut busy = 0;
    while let Some(transmit) = batch.poll_transmit(MILLI) {
        batch.handle_busy(transmit.id, MILLI);
        busy += 1;
    }
    assert_eq!(busy, BUSY_MAX);
    batch.handle_timeout(MILLI + BUSY_PAUSE);
    assert!(batch.poll_transmit(MILLI + BUSY_PAUSE).is_some());
}

#[test]
fn checks_that_were_not_asked_can_be_dropped_and_leave_their_places() {
    let mut batch = batch(Plan::default(), 4);
    let [asked, ..] = [1, 2, 3, 4].map(|number| batch.add(target(number), number).unwrap());
    assert!(batch.poll_transmit(Duration::ZERO).is_some());
    let postponed = batch.poll_transmit(Duration::ZERO).unwrap();
    batch.handle_busy(postponed.id, Duration::ZERO);
    assert_eq!((batch.drop_waiting(), batch.room()), (3, 3));
    assert_eq!(batch.drop_waiting(), 0);
    batch.handle_answer(asked, open(Some(0)), MILLI);
    assert_eq!(batch.poll_finding().map(|it| it.id), Some(asked));
    assert!(batch.is_idle());
    batch.handle_timeout(MILLI * 2);
    assert_eq!((batch.poll_transmit(MILLI * 2), batch.poll_timeout()), (None, None));
}

#[test]
fn of_insistent_checks_what_this_host_refuses_for_a_moment_is_asked_again() {
    let mut batch = batch(Plan::new(30 * MILLI, 1), 4).insistent();
    let id = batch.add(target(1), 1).unwrap();
    let refusal = answer(Verdict::Unreachable(Reason::Network), Evidence::Refusal(101), None);
    assert!(batch.poll_transmit(Duration::ZERO).is_some());
    batch.handle_answer(id, refusal, Duration::ZERO);
    assert!(!batch.has_findings());
    batch.handle_timeout(10 * MILLI);
    assert!(batch.poll_transmit(10 * MILLI).is_some());
    batch.handle_answer(id, refusal, 10 * MILLI);
    assert_eq!(batch.poll_finding().map(|it| it.finding.verdict), Some(refusal.verdict));
}

#[test]
fn a_check_that_was_asked_before_it_was_added_is_asked_again_in_time() {
    let mut batch = batch(Plan::new(30 * MILLI, 1), 1);
    let id = batch.add_asked(target(1), 7, MILLI).unwrap();
    assert_eq!(batch.poll_transmit(MILLI), None);
    assert_eq!(batch.poll_timeout(), Some(11 * MILLI));
    batch.handle_timeout(11 * MILLI);
    assert_eq!(batch.poll_transmit(11 * MILLI).map(|it| (it.id, it.attempt)), Some((id, 1)));
    batch.handle_timeout(31 * MILLI);
    let concluded = batch.poll_finding().unwrap();
    assert_eq!((concluded.token, concluded.finding.took), (7, 30 * MILLI));
    assert_eq!(concluded.finding.verdict, Verdict::Filtered);
}

#[test]
fn a_refusal_of_this_host_concludes_and_says_nothing_about_the_path() {
    let mut batch = batch(Plan::default(), 4);
    let id = batch.add(target(1), 1).unwrap();
    assert!(batch.poll_transmit(MILLI).is_some());
    let refusal = answer(Verdict::Error(1), Evidence::Refusal(1), None);
    batch.handle_answer(id, refusal, MILLI);
    assert_eq!(batch.poll_finding().map(|it| it.finding.verdict), Some(Verdict::Error(1)));
    assert_eq!(batch.counts(), Counts { asked: 1, ..Counts::default() });
}

#[test]
fn an_answer_to_a_question_that_was_never_asked_is_counted_as_one_to_the_last() {
    let mut batch = batch(Plan::default(), 4);
    let id = batch.add(target(1), 1).unwrap();
    assert!(batch.poll_transmit(MILLI).is_some());
    batch.handle_answer(id, open(Some(u8::MAX)), MILLI);
    assert_eq!(batch.counts().asked_of_attributed, 1);
}

proptest! {
    #[test]
    fn a_batch_has_the_room_that_it_was_made_with(capacity in 0..5000_usize) {
        let mut batch = batch(Plan::default(), capacity);
        let room = capacity.max(1);
        for token in 0..u64::try_from(room).unwrap() {
            prop_assert!(batch.add(target(token), token).is_some());
        }
        prop_assert_eq!((batch.room(), batch.add(target(0), 0)), (0, None));
    }
}
