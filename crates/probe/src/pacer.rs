//! How fast to ask: as fast as the path proves to carry, and no faster.
//!
//! At first the rate doubles with each round trip as long as answers come back, and more of them
//! than before: a path full of silent targets never earns that, and one that is full has nothing
//! more to give. When answers are lost the rate is halved, and goes back to where it was if the
//! path then carries less: it loses whatever the rate.

use std::time::Duration;

/// How fast a batch may ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the method takes it: for checks that somebody waits for.
    Unlimited,
    /// At a rate that the path proves to carry, up to this many questions a second.
    Adaptive {
        /// The most, in questions per second.
        per_second_max: f64,
    },
    /// At this rate, in questions per second, whatever comes back.
    Fixed(f64),
}

/// Questions per second before anything is known about the path.
const START: f64 = 10_000.0;
/// The least that loss brings the rate down to.
const LEAST: f64 = 1_000.0;
/// What may be asked at once after a pause, as time at the present rate.
const BURST: Duration = Duration::from_millis(2);
/// The same at least, in questions.
const BURST_LEAST: f64 = 64.0;
/// What is asked before the first round ends.
const BURST_FIRST: f64 = 256.0;
/// The shortest round; they are as long as a round trip.
const ROUND: Duration = Duration::from_millis(5);
/// Growth of the answers per second that shows that a path carries more, as in BBR's start.
const MORE: f64 = 1.25;
/// So many rounds without it show that the path is full.
const ROUNDS_FULL: u8 = 3;
/// Growth per feedback, once the path was full or lost something.
const GENTLE: f64 = 1.1;
/// Of the answers per second, what halving the rate leaves on a path that was too full; on one that
/// loses whatever the rate it leaves half.
const CARRIES_ON: f64 = 0.75;
/// Loss below this share of answers is left alone.
const TOLERATED: f64 = 0.01;
/// A share is worth something from this many answers on.
const ANSWERS_LEAST: u32 = 50;
/// Rates beyond these bounds, in questions per second, are taken for the bounds.
const RATES: (f64, f64) = (1.0 / 3600.0, 1e9);

/// Decides when the next question may be asked.
#[derive(Clone, Debug)]
pub struct Pacer {
    pace: Pace,
    per_second: f64,
    credit: f64,
    credit_at: Duration,
    round: Round,
    /// The most answers per second in a round, and how many rounds ago it was last exceeded by
    /// [`MORE`]; `None` once the start is over.
    start: Option<(f64, u8)>,
    /// Smoothed, of first questions; `None` before any was answered.
    round_trip: Option<Duration>,
    /// The shortest of them.
    shortest: Option<Duration>,
    loss: Loss,
}

/// What happened since the rate was looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    since: Duration,
    asked: u32,
    answered: u32,
}

/// Answers that came only to a repeated question, and what was tried against that.
#[derive(Clone, Copy, Debug)]
struct Loss {
    since: Duration,
    prompt: u32,
    late: u32,
    tolerated: f64,
    /// The rate, the loss, and the prompt answers per second before the rate was halved, until it
    /// shows whether that helped.
    tried: Option<(f64, f64, f64)>,
}

impl Pacer {
    /// A pacer that starts at `now`.
    #[must_use]
    pub fn new(pace: Pace, now: Duration) -> Self {
        // In this order a rate that is no number becomes one.
        let bounded = |rate: f64| rate.max(RATES.0).min(RATES.1);
        let pace = match pace {
            Pace::Unlimited => Pace::Unlimited,
            Pace::Adaptive { per_second_max } => {
                Pace::Adaptive { per_second_max: bounded(per_second_max) }
            }
            Pace::Fixed(rate) => Pace::Fixed(bounded(rate)),
        };
        let per_second = match pace {
            Pace::Unlimited => f64::INFINITY,
            Pace::Adaptive { per_second_max } => START.min(per_second_max),
            Pace::Fixed(rate) => rate,
        };
        let first = if matches!(pace, Pace::Fixed(_)) { 1.0 } else { BURST_FIRST };
        Self {
            pace,
            per_second,
            credit: first.min(per_second.max(1.0)),
            credit_at: now,
            round: Round { since: now, ..Round::default() },
            start: Some((0.0, 0)),
            round_trip: None,
            shortest: None,
            loss: Loss { since: now, prompt: 0, late: 0, tolerated: TOLERATED, tried: None },
        }
    }

    /// The shortest time that an answer to a first question took; `None` before there was one.
    #[must_use]
    pub fn shortest_round_trip(&self) -> Option<Duration> {
        self.shortest
    }

    /// The present rate, in questions per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.per_second
    }

    /// Whether a question may be asked; if so, it counts as asked.
    pub fn take(&mut self, now: Duration) -> bool {
        if self.pace == Pace::Unlimited {
            return true;
        }
        if self.credit < 1.0 {
            self.refill(now);
        }
        if self.credit < 1.0 {
            return false;
        }
        self.credit -= 1.0;
        self.round.asked = self.round.asked.saturating_add(1);
        true
    }

    /// When the next question may be asked, if none may now.
    #[must_use]
    pub fn ready_at(&self) -> Duration {
        if self.credit >= 1.0 || self.pace == Pace::Unlimited {
            return self.credit_at;
        }
        let wait = Duration::from_secs_f64((1.0 - self.credit) / self.per_second);
        // Rounded up: who comes then is not told to come at the same time again.
        self.credit_at + wait + Duration::from_nanos(1)
    }

    /// An answer came, to the first question or to a repeated one, `took` after the first.
    pub fn handle_answer(&mut self, is_first: bool, took: Duration) {
        self.round.answered = self.round.answered.saturating_add(1);
        let counter = if is_first { &mut self.loss.prompt } else { &mut self.loss.late };
        *counter = counter.saturating_add(1);
        if is_first {
            // RFC 6298, section 2.3, with its weight of 1/8.
            let smoothed = self.round_trip.map_or(took, |before| (before * 7 + took) / 8);
            self.round_trip = Some(smoothed);
            self.shortest = Some(self.shortest.map_or(took, |before| before.min(took)));
        }
    }

    /// Looks at what happened and sets the rate; `feedback` is how long it takes until loss shows.
    pub fn handle_time(&mut self, now: Duration, feedback: Duration) {
        let Pace::Adaptive { per_second_max } = self.pace else { return };
        let passed = now.saturating_sub(self.round.since);
        if passed >= ROUND.max(self.round_trip.unwrap_or_default()) {
            if self.per_second < per_second_max {
                self.weigh_round(passed);
            }
            self.round = Round { since: now, ..Round::default() };
        }
        if now.saturating_sub(self.loss.since) >= feedback {
            self.weigh_loss(now);
        }
        self.per_second = self.per_second.min(per_second_max);
    }

    fn weigh_round(&mut self, passed: Duration) {
        let Some((best, rounds)) = &mut self.start else { return };
        let Round { asked, answered, .. } = self.round;
        let seconds = passed.as_secs_f64();
        // A rate that was not used up proves nothing, nor does a path that hardly answers.
        let used = f64::from(asked) >= self.per_second * seconds / 2.0;
        if !used || asked == 0 || answered < asked.div_ceil(16) {
            return;
        }
        // Less what a burst after a pause added.
        let carried = (f64::from(answered) / seconds).min(self.per_second);
        if carried > *best * MORE {
            (*best, *rounds) = (carried, 0);
            self.per_second *= 2.0;
            return;
        }
        *rounds += 1;
        if *rounds == ROUNDS_FULL {
            // What the last doubling added was of no use.
            self.per_second = (self.per_second / 2.0).max(LEAST.min(self.per_second));
            self.start = None;
        }
    }

    fn weigh_loss(&mut self, now: Duration) {
        let Loss { since, prompt, late, tolerated, tried, .. } = self.loss;
        let answers = prompt.saturating_add(late);
        if answers < ANSWERS_LEAST {
            return;
        }
        let share = f64::from(late) / f64::from(answers);
        let good = f64::from(prompt) / now.saturating_sub(since).as_secs_f64().max(1e-6);
        self.loss = Loss { since: now, prompt: 0, late: 0, ..self.loss };
        match tried {
            Some((rate, before, good_before)) => {
                self.loss.tried = None;
                if good < good_before * CARRIES_ON {
                    self.per_second = self.per_second.max(rate);
                    self.loss.tolerated = share.max(before) * 1.5;
                }
            }
            None if share > tolerated => {
                self.loss.tried = Some((self.per_second, share, good));
                self.start = None;
                let slower = (self.per_second / 2.0).max(LEAST);
                self.per_second = slower.min(self.per_second);
            }
            None if self.start.is_none() => self.per_second *= GENTLE,
            None => {}
        }
    }

    fn refill(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.credit_at).as_secs_f64();
        // One more, so that who is a little late does not lose what came meanwhile.
        let most = (self.per_second * BURST.as_secs_f64() + 1.0).max(self.burst_least());
        self.credit = (self.credit + passed * self.per_second).min(most);
        self.credit_at = now;
    }

    fn burst_least(&self) -> f64 {
        if matches!(self.pace, Pace::Fixed(_)) {
            1.0
        } else {
            BURST_LEAST.min(self.per_second.max(1.0))
        }
    }
}

#[cfg(test)]
mod tests;
