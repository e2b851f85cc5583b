//! When what is to be started: the plan of a run, without a clock.

use std::time::Duration;

/// The starts of one worker: of each `of` starts, the `nth`. Time is counted from the run's begin.
///
/// At a rate, the moments are fixed in advance, whatever happens meanwhile (open loop): who is late
/// starts late, but counts from when it was meant to (no coordinated omission).
#[derive(Clone, Debug)]
pub struct Schedule {
    rate: Option<f64>,
    /// Of all workers' starts, the number of this worker's next one.
    next: u64,
    step: u64,
    /// Starts of all workers together; `u64::MAX` without an end.
    end: u64,
    /// No start after this.
    duration: Option<Duration>,
}

impl Schedule {
    /// Starts per second by all workers (`None`: whenever there is room), and their number or their
    /// time, whichever ends first.
    #[must_use]
    pub fn new(rate: Option<f64>, count: Option<u64>, duration: Option<Duration>) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let by_time = match (rate, duration) {
            (Some(rate), Some(duration)) => (rate * duration.as_secs_f64()).round() as u64,
            _ => u64::MAX,
        };
        let end = count.unwrap_or(u64::MAX).min(by_time);
        Self { rate, next: 0, step: 1, end, duration }
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
        (self.end < u64::MAX).then_some(self.end)
    }

    /// When the next start is meant to be: in the past if it is overdue, `now` without a rate;
    /// `None` when all is started, or time is over.
    #[must_use]
    pub fn next(&self, now: Duration) -> Option<Duration> {
        if self.next >= self.end || self.duration.is_some_and(|end| now >= end) {
            return None;
        }
        Some(self.rate.map_or(now, |rate| at(self.next, rate)))
    }

    /// The next start is made.
    pub fn advance(&mut self) {
        self.next = self.next.saturating_add(self.step);
    }
}

#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 starts")]
fn at(nth: u64, rate: f64) -> Duration {
    Duration::try_from_secs_f64(nth as f64 / rate).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;
