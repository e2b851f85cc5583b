//! Many checks at once, without I/O: who is asked when, who is asked again, and what follows.
//!
//! What goes in: [`add`](Batch::add), [`handle_answer`](Batch::handle_answer),
//! [`handle_busy`](Batch::handle_busy), [`handle_timeout`](Batch::handle_timeout). What comes out:
//! [`poll_transmit`](Batch::poll_transmit) (until none), [`poll_finding`](Batch::poll_finding)
//! (until none), [`poll_timeout`](Batch::poll_timeout). Time is an argument, counted from any
//! moment; it must not go back.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use crate::{
    Answer, Counts, Evidence, Finding, Id, MethodName, Pace, Plan, Verdict, pacer::Pacer,
    plan::ATTEMPTS_MAX,
};

/// How long to hold back when a method is out of buffers or ports.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

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
    /// Which check of this place it is.
    generation: u32,
    attempts: u8,
    is_over: bool,
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
            generation,
            attempts: 0,
            is_over: false,
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
        queue.push_back(entry);
        self.queues = self.queues.max(check.attempts);
        // Behind a silent check, those that are over pile up; half of the entries are stale now.
        if queue.len() > 2 * self.checks.capacity() {
            queue.retain(|entry| is_current(&self.checks, entry.place, entry.generation));
        }
        self.counts.asked += 1;
    }

    /// The method could not ask the question that [`poll_transmit`](Self::poll_transmit) gave
    /// last: it will be asked a little later.
    pub fn handle_busy(&mut self, id: Id, now: Duration) {
        self.paused_until = now + BUSY_PAUSE;
        let Some(check) = self.checks.get_mut(id.0 as usize).filter(|check| !check.is_over) else {
            return;
        };
        let Some(attempt) = check.attempts.checked_sub(1) else { return };
        check.attempts = attempt;
        let (generation, queue) = (check.generation, &mut self.asked[usize::from(attempt)]);
        queue.pop_back_if(|last| last.place == id.0);
        self.counts.asked -= 1;
        if attempt == 0 {
            self.fresh.push_front(id.0);
        } else {
            self.again.push_front((id.0, generation));
        }
    }

    /// The last question about a check that is under way was not sent after all: it will be asked
    /// a little later, after those that wait already.
    pub fn handle_unsent(&mut self, id: Id, now: Duration) {
        self.paused_until = now + BUSY_PAUSE;
        let check = self.checks.get_mut(id.0 as usize).filter(|check| !check.is_over);
        let Some(check) = check.filter(|check| check.attempts > 0) else { return };
        check.attempts -= 1;
        // What is noted about that question is of a check that is no more.
        check.generation = check.generation.wrapping_add(1);
        self.counts.asked -= 1;
        if check.attempts == 0 {
            self.fresh.push_back(id.0);
        } else {
            self.again.push_back((id.0, check.generation));
        }
    }

    /// An answer about a check that is under way.
    pub fn handle_answer(&mut self, id: Id, answer: Answer, now: Duration) {
        let Some(check) = self.checks.get(id.0 as usize) else { return };
        if check.is_over || check.attempts == 0 {
            self.counts.duplicates += 1;
            return;
        }
        // A refusal of this host says nothing about the path.
        if !matches!(answer.evidence, Evidence::Refusal(_)) {
            // No answer is to a question that was not asked, whatever a method says.
            let took = answer.attempt.map_or(check.attempts, |attempt| attempt.saturating_add(1));
            let took = took.min(check.attempts);
            self.counts.answered += 1;
            self.counts.asked_of_answered += u64::from(took);
            let since_first = now.saturating_sub(check.first_at);
            self.pacer.handle_answer(took == 1, since_first);
        }
        self.conclude(id.0, answer.verdict, answer.evidence, now);
        self.drop_stale();
    }

    /// Time has passed: asks again, and gives up, where it is due.
    pub fn handle_timeout(&mut self, now: Duration) {
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
        due.chain(turn).min()
    }

    /// The next check that is over. The caller makes the method forget it.
    pub fn poll_finding(&mut self) -> Option<Concluded> {
        let concluded = self.concluded.pop_front()?;
        self.free.push(concluded.id.0);
        Some(concluded)
    }

    /// How many questions a silent target is asked: as planned, and more where so many are lost
    /// that one of all those asked would be missed by chance.
    fn attempts(&self) -> u8 {
        let planned = self.plan.attempts();
        if !self.insists || self.counts.answered < 50 {
            return planned;
        }
        #[allow(clippy::cast_precision_loss, reason = "an estimate")]
        let (asked, loss) = (self.counts.asked as f64, self.counts.loss().clamp(0.001, 0.9));
        // Of `asked` checks, fewer than one in a hundred runs may miss one.
        let needed = ((asked * 100.0).ln() / -loss.ln()).ceil();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let needed = needed.clamp(0.0, f64::from(ATTEMPTS_MAX)) as u8;
        needed.max(planned)
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
