//! A rule that was broken.

use std::fmt;

use portolan_stack::Instant;

/// What was found, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: &'static str,
    /// What was found.
    pub what: String,
    /// When, on the virtual clock.
    pub at: Option<Instant>,
}

impl Violation {
    /// This rule was broken, in this way.
    #[must_use]
    pub fn new(rule: &'static str, what: impl Into<String>) -> Self {
        Self { rule, what: what.into(), at: None }
    }

    /// The same, with the moment if it has none yet.
    #[must_use]
    pub fn at(mut self, now: Instant) -> Self {
        self.at.get_or_insert(now);
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.rule, self.what)?;
        match self.at {
            Some(at) => write!(formatter, " (clock: {} us)", at.as_micros()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Violation {}
