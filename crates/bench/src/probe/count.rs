//! What came of sequential checks, as `portolan probe --count N --json` says it at its end.

use serde::{Deserialize, Serialize};

/// How many checks had which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// How many there were.
    pub checks: u64,
    /// Somebody listens.
    pub open: u64,
    /// Nobody does, and the target said so.
    pub closed: u64,
    /// There was no answer.
    pub filtered: u64,
    /// Somebody on the way said that there is no way.
    #[serde(default)]
    pub unreachable: u64,
    /// There was no check, for a reason on this host.
    #[serde(default)]
    pub error: u64,
    /// How long they took.
    #[serde(default)]
    pub seconds: f64,
}

impl Count {
    /// The object that ends `output`, a JSON object per line.
    pub(super) fn read(output: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(output);
        let last = text.lines().next_back().unwrap_or_default();
        serde_json::from_str(last).map_err(|error| format!("unreadable count: {error}"))
    }

    /// The line that ends the output of such a program.
    ///
    /// # Errors
    /// As of any serialization; none is known.
    pub fn to_line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// For people.
    pub(super) fn describe(&self) -> String {
        let Self { open, closed, filtered, unreachable, error, .. } = self;
        format!(
            "{open} open, {closed} closed, {filtered} filtered, {unreachable} unreachable, {error} \
             errors"
        )
    }
}

#[cfg(test)]
mod tests;
