//! When to ask, when to ask again, when to give up.

use std::time::Duration;

/// More questions than this are never asked about one target.
pub const ATTEMPTS_MAX: u8 = 12;

/// How long to wait for a target, and how often to ask it meanwhile.
///
/// The waits double from question to question and together are the timeout, so a deadline holds
/// whatever happens, and the last answer has the longest time to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    timeout: Duration,
    attempts: u8,
    /// The first wait.
    first: Duration,
    /// The wait after the last question, which takes what division left over.
    last: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self::new(Duration::from_secs(1), 2)
    }
}

impl Plan {
    /// Gives up `timeout` after the first question, having asked again `retries` times; both are
    /// brought into their bounds (an hour, and [`ATTEMPTS_MAX`] questions).
    #[must_use]
    pub fn new(timeout: Duration, retries: u8) -> Self {
        let timeout = timeout.min(Duration::from_secs(3600));
        let attempts = retries.saturating_add(1).min(ATTEMPTS_MAX);
        let first = timeout / ((1 << attempts) - 1);
        let last = timeout - first * ((1 << (attempts - 1)) - 1);
        Self { timeout, attempts, first, last }
    }

    /// How many questions are asked of a target that does not answer.
    #[must_use]
    pub fn attempts(&self) -> u8 {
        self.attempts
    }

    /// How long a target that does not answer is waited for.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How long to wait for an answer to question number `attempt` (0 for the first) before the
    /// next step: asking again or, after the last, giving up.
    ///
    /// Questions beyond the plan, which a lossy path asks for, wait as long as the first.
    #[must_use]
    pub fn wait(&self, attempt: u8) -> Duration {
        match attempt {
            last if last == self.attempts - 1 => self.last,
            beyond if beyond >= self.attempts => self.first,
            early => self.first * (1 << early),
        }
    }
}

#[cfg(test)]
mod tests;
