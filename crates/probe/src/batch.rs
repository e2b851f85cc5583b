//! Many checks at once, without I/O: who is asked when, who is asked again, and what follows.
//!
//! What goes in: [`add`](Batch::add), [`handle_answer`](Batch::handle_answer),
//! [`handle_busy`](Batch::handle_busy), [`handle_timeout`](Batch::handle_timeout). What comes out:
//! [`poll_transmit`](Batch::poll_transmit) (until none), [`poll_finding`](Batch::poll_finding)
//! (until none), [`poll_timeout`](Batch::poll_timeout). Time is an argument, counted from any
//! moment; it must not go back.

mod later;
mod loss;

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use crate::{
    Answer, Counts, Evidence, Finding, Id, MethodName, Pace, Plan, Verdict, pacer::Pacer,
    plan::ATTEMPTS_MAX,
};

/// One question to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The check.
    pub id: Id,
    /// Who is asked.
    pub target: SocketAddr,
    /// 0 for the first question, then counting up.
    pub attempt: u8,
}

/// A check that is over. Its place is free again: the method has to forget it before the next
/// [`Batch::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concluded {
    /// The place that it had.
    pub id: Id,
    /// What the caller gave to [`Batch::add`].
    pub token: u64,
    /// The result.
    pub finding: Finding,
}

/// Checks under way and those that wait for their turn.
#[derive(Debug)]
pub struct Batch {
    method: MethodName,
    plan: Plan,
    pacer: Pacer,
    checks: Vec<Check>,
    free: Vec<u32>,
    /// Not asked yet.
    fresh: VecDeque<u32>,
    /// To be asked again.
    again: VecDeque<(u32, u32)>,
    /// By attempt: who was asked when, in order. An entry of which the check is over is stale.
    asked: [VecDeque<Asked>; ATTEMPTS_MAX as usize],
    /// How many of those queues were ever used.
    queues: u8,
    concluded: VecDeque<Concluded>,
    /// Those that could not be asked when it was their turn, and when they come back.
    later: VecDeque<Asked>,
    /// When a method was last busy, and how often at that time.
    busy: (Duration, u32),
    paused_until: Duration,
    counts: Counts,
    insists: bool,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Duration,
    place: u32,
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Check {
    target: SocketAddr,
    token: u64,
    first_at: Duration,
    last_at: Duration,
    /// Which check of this place it is.
    generation: u32,
    attempts: u8,
    is_over: bool,
    /// Since when its questions could not be sent.
    unsent_since: Option<Duration>,
}

impl Batch {
    /// A batch of at most `capacity` checks at once.
    #[must_use]
    pub fn new(method: MethodName, plan: Plan, pace: Pace, capacity: usize) -> Self {
        let capacity = capacity.clamp(1, 1 << 20);
        Self {
            method,
            plan,
            pacer: Pacer::new(pace, Duration::ZERO),
            checks: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            fresh: VecDeque::with_capacity(capacity),
            again: VecDeque::new(),
            asked: Default::default(),
            queues: 0,
            concluded: VecDeque::new(),
            later: VecDeque::new(),
            busy: (Duration::ZERO, 0),
            paused_until: Duration::ZERO,
            counts: Counts::default(),
            insists: false,
        }
    }

    /// Asks more often than planned where the path turns out to lose questions, so that a target
    /// is not missed because of that; a silent target then takes longer than the plan's timeout.
    #[must_use]
    pub fn insistent(mut self) -> Self {
        self.insists = true;
        self
    }

    /// Changes the plan for what is concluded from now on.
    pub fn set_plan(&mut self, plan: Plan) {
        self.plan = plan;
    }

    /// How many more checks can be added.
    #[must_use]
    pub fn room(&self) -> usize {
        self.free.len() + (self.checks.capacity() - self.checks.len())
    }

    /// Whether every check that was added is over and its finding taken.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.checks.len()
    }

    /// Whether there are findings to poll.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        !self.concluded.is_empty()
    }

    /// What it counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Questions per second that it allows at present.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.pacer.per_second()
    }

    /// Adds a check, to be asked when its turn comes; `token` comes back with the finding. Returns
    /// its place, or `None` when there is no room.
    pub fn add(&mut self, target: SocketAddr, token: u64) -> Option<Id> {
        let check = |generation| Check {
            target,
            token,
            first_at: Duration::ZERO,
            last_at: Duration::ZERO,
            generation,
            attempts: 0,
            is_over: false,
            unsent_since: None,
        };
        let place = if let Some(place) = self.free.pop() {
            let used = self.checks.get_mut(place as usize)?;
            *used = check(used.generation.wrapping_add(1));
            place
        } else if self.checks.len() < self.checks.capacity() {
            let place = u32::try_from(self.checks.len()).ok()?;
            self.checks.push(check(0));
            place
        } else {
            return None;
        };
        self.fresh.push_back(place);
        Some(Id(place))
    }

    /// Adds a check of which the first question was asked already, at `at`. Returns its place, or
    /// `None` when there is no room.
    pub fn add_asked(&mut self, target: SocketAddr, token: u64, at: Duration) -> Option<Id> {
        let id = self.add(target, token)?;
        self.fresh.pop_back();
        self.checks.get_mut(id.0 as usize)?.first_at = at;
        self.record_question(id.0, at);
        Some(id)
    }

    /// The next question to ask now, if any. It counts as asked unless
    /// [`handle_busy`](Self::handle_busy) takes it back.
    pub fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        if now < self.paused_until {
            return None;
        }
        // Whoever was asked already comes first: silence is concluded in time.
        while let Some(&(place, generation)) = self.again.front() {
            if self.is_current(place, generation) {
                break;
            }
            self.again.pop_front();
        }
        if (self.again.is_empty() && self.fresh.is_empty()) || !self.pacer.take(now) {
            return None;
        }
        let place = match self.again.pop_front() {
            Some((place, _)) => place,
            None => self.fresh.pop_front()?,
        };
        let check = self.checks.get_mut(place as usize)?;
        if check.attempts == 0 {
            check.first_at = now;
        }
        let transmit = Transmit { id: Id(place), target: check.target, attempt: check.attempts };
        self.record_question(place, now);
        Some(transmit)
    }

    /// A question about the check at `place` was asked.
    fn record_question(&mut self, place: u32, at: Duration) {
        let Some(check) = self.checks.get_mut(place as usize) else { return };
        let entry = Asked { at, place, generation: check.generation };
        let Some(queue) = self.asked.get_mut(usize::from(check.attempts)) else { return };
        check.attempts += 1;
        check.last_at = at;
        queue.push_back(entry);
        self.queues = self.queues.max(check.attempts);
        // Behind a silent check, those that are over pile up; half of the entries are stale now.
        if queue.len() > 2 * self.checks.capacity() {
            queue.retain(|entry| is_current(&self.checks, entry.place, entry.generation));
        }
        self.counts.asked += 1;
    }

    /// An answer about a check that is under way.
    pub fn handle_answer(&mut self, id: Id, answer: Answer, now: Duration) {
        let Some(check) = self.checks.get(id.0 as usize) else { return };
        if check.is_over || check.attempts == 0 {
            self.counts.duplicates += 1;
            return;
        }
        if let Evidence::Refusal(_) = answer.evidence {
            // Of the host, which says nothing about the path, and changes as routes do.
            let is_passing = matches!(answer.verdict, Verdict::Unreachable(_));
            if self.insists && is_passing && check.attempts < self.plan.attempts() {
                return;
            }
        } else {
            self.count_answer(*check, answer.attempt, now);
        }
        self.conclude(id.0, answer.verdict, answer.evidence, now);
        self.drop_stale();
    }

    /// Time has passed: asks again, and gives up, where it is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some(entry) = self.later.pop_front_if(|entry| entry.at <= now) {
            if !self.is_current(entry.place, entry.generation) {
                continue;
            }
            match self.checks[entry.place as usize].attempts {
                0 => self.fresh.push_back(entry.place),
                _ => self.again.push_back((entry.place, entry.generation)),
            }
        }
        let feedback = self.plan.wait(0) * 2;
        self.pacer.handle_time(now, feedback);
        let attempts = self.attempts();
        for attempt in 0..self.queues {
            let wait = self.plan.wait(attempt);
            while let Some(entry) = self.asked[usize::from(attempt)].front().copied() {
                let current = self.is_current(entry.place, entry.generation);
                if current && entry.at + wait > now {
                    break;
                }
                self.asked[usize::from(attempt)].pop_front();
                if !current {
                    continue;
                }
                self.checks[entry.place as usize].unsent_since = None;
                if attempt + 1 < attempts {
                    self.again.push_back((entry.place, entry.generation));
                } else {
                    self.conclude(entry.place, Verdict::Filtered, Evidence::Silence, now);
                }
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) and
    /// [`poll_transmit`](Self::poll_transmit) next; `None` when only an answer or a new check can
    /// change anything.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let due = (0..self.queues).zip(&self.asked).filter_map(|(attempt, queue)| {
            queue.front().map(|entry| entry.at + self.plan.wait(attempt))
        });
        let waits = !self.again.is_empty() || !self.fresh.is_empty();
        let turn = waits.then(|| self.pacer.ready_at().max(self.paused_until));
        let later = self.later.front().map(|entry| entry.at);
        due.chain(turn).chain(later).min()
    }

    /// The next check that is over. The caller makes the method forget it.
    pub fn poll_finding(&mut self) -> Option<Concluded> {
        let concluded = self.concluded.pop_front()?;
        self.free.push(concluded.id.0);
        Some(concluded)
    }

    fn is_current(&self, place: u32, generation: u32) -> bool {
        is_current(&self.checks, place, generation)
    }

    fn conclude(&mut self, place: u32, verdict: Verdict, evidence: Evidence, now: Duration) {
        let Some(check) = self.checks.get_mut(place as usize) else { return };
        check.is_over = true;
        let finding = Finding {
            target: check.target,
            verdict,
            evidence,
            method: self.method,
            attempts: check.attempts,
            took: now.saturating_sub(check.first_at),
        };
        self.concluded.push_back(Concluded { id: Id(place), token: check.token, finding });
    }

    /// Forgets the entries of checks that are over, as far as they are the oldest: where targets
    /// answer, the queues stay as short as what is under way.
    fn drop_stale(&mut self) {
        for queue in &mut self.asked[..usize::from(self.queues)] {
            while let Some(&Asked { place, generation, .. }) = queue.front() {
                if is_current(&self.checks, place, generation) {
                    break;
                }
                queue.pop_front();
            }
        }
    }
}

/// Whether the check of this generation is still the one at its place, and not over.
fn is_current(checks: &[Check], place: u32, generation: u32) -> bool {
    let check = checks.get(place as usize);
    check.is_some_and(|check| check.generation == generation && !check.is_over)
}

#[cfg(test)]
mod tests;
