//! When to read, and when to stop.

use std::time::{Duration, Instant};

use super::config::Config;

/// The live view does not wait for its first interval to pass.
const FIRST: Duration = Duration::from_millis(300);

/// Readings at a steady pace, until there are enough.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval: Duration,
    next: Instant,
    end: Option<Instant>,
    left: Option<u64>,
}

impl Pace {
    /// Begins now.
    pub fn new(config: &Config) -> Self {
        Self::at(config, Instant::now())
    }

    /// Begins now, with a short interval.
    pub fn live(config: &Config) -> Self {
        let now = Instant::now();
        Self { next: now + config.interval.min(FIRST), ..Self::at(config, now) }
    }

    fn at(config: &Config, now: Instant) -> Self {
        Self {
            interval: config.interval,
            next: now + config.interval,
            // One that is too far to be told is never.
            end: config.duration.and_then(|duration| now.checked_add(duration)),
            left: config.count,
        }
    }

    /// When to read next.
    pub fn due(&self) -> Instant {
        self.end.map_or(self.next, |end| end.min(self.next))
    }

    /// A reading was taken at this time. Returns whether there will be another one.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        // A reading that took longer than the interval is not made up for.
        self.next = (self.next + self.interval).max(now);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.left != Some(0) && self.end.is_none_or(|end| now < end)
    }
}

#[cfg(test)]
mod tests;
