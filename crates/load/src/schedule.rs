//! When what is to be started: the plan of a run, without a clock.

use std::time::Duration;

/// The starts of one worker: of each `of` starts, the `nth`. Time is counted from the run's begin.
///
/// At a rate, the moments are fixed in advance, whatever happens meanwhile (open loop): who is late
/// starts late, but counts from when it was meant to (no coordinated omission).
#[derive(Clone, Debug)]
pub struct Schedule {
    rate: Option<f64>,
    /// For so long, in seconds, the rate grows from nothing.
    ramp: f64,
    /// Of all workers' starts, the number of this worker's next one.
    next: u64,
    step: u64,
    /// So many starts of all workers together, if nothing else ends them.
    count: u64,
    /// No start after this.
    duration: Option<Duration>,
}

impl Schedule {
    /// Starts per second by all workers (`None`: whenever there is room), and their number or their
    /// time, whichever ends first.
    #[must_use]
    pub fn new(rate: Option<f64>, count: Option<u64>, duration: Option<Duration>) -> Self {
        let count = count.unwrap_or(u64::MAX);
        Self { rate, ramp: 0.0, next: 0, step: 1, count, duration }
    }

    /// The rate grows for so long, linearly, from nothing.
    #[must_use]
    pub fn ramp(mut self, ramp: Duration) -> Self {
        self.ramp = ramp.as_secs_f64();
        self
    }

    /// The part of one worker.
    #[must_use]
    pub fn share(mut self, nth: u64, of: u64) -> Self {
        (self.next, self.step) = (nth, of.max(1));
        self
    }

    /// How many starts are planned in all; `None` where only time ends it.
    #[must_use]
    pub fn planned(&self) -> Option<u64> {
        let end = self.end();
        (end < u64::MAX).then_some(end)
    }

    /// When the next start is meant to be: in the past if it is overdue, `now` without a rate;
    /// `None` when all is started, or time is over.
    #[must_use]
    pub fn next(&self, now: Duration) -> Option<Duration> {
        if self.next >= self.end() || self.duration.is_some_and(|end| now >= end) {
            return None;
        }
        Some(self.rate.map_or(now, |rate| self.at(self.next, rate)))
    }

    /// The next start is made.
    pub fn advance(&mut self) {
        self.next = self.next.saturating_add(self.step);
    }

    /// How many starts are meant to be between two moments, as a part of one too; `None` without a
    /// rate.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 starts")]
    pub fn due(&self, from: Duration, until: Duration) -> Option<f64> {
        let rate = self.rate?;
        let by = |time| self.due_by(time, rate).min(self.end() as f64);
        Some(by(until) - by(from))
    }

    #[inline]
    fn end(&self) -> u64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let by_time = match (self.rate, self.duration) {
            (Some(rate), Some(duration)) => self.due_by(duration, rate).round() as u64,
            _ => u64::MAX,
        };
        self.count.min(by_time)
    }

    /// The area under the rate: a triangle while it grows, a rectangle after.
    fn due_by(&self, time: Duration, rate: f64) -> f64 {
        let time = time.as_secs_f64();
        let growing = time.min(self.ramp);
        let grown = if self.ramp > 0.0 { growing * growing / self.ramp / 2.0 } else { 0.0 };
        rate * (grown + (time - growing))
    }

    /// When [`Schedule::due_by`] reaches the number.
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 starts")]
    fn at(&self, nth: u64, rate: f64) -> Duration {
        let full = nth as f64 / rate;
        let after = full - self.ramp / 2.0;
        let grows = after < 0.0;
        let seconds = if grows { (2.0 * full * self.ramp).sqrt() } else { after + self.ramp };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests;
