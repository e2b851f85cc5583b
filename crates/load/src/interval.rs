//! What happened from one moment of a run to another: the time series that every view is made from.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Latency, TargetCounts};

/// A part of the run, of all workers together, as programs read it (docs/formats/load.md). The
/// counts of all intervals add up to those of the summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// [`crate::VERSION`].
    pub version: u32,
    /// `interval`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its number, from 0.
    pub nth: u64,
    /// When it began, since the begin of the run.
    pub begin_seconds: f64,
    /// How long it was.
    pub seconds: f64,
    /// Its times and rates are left out of the summary.
    pub is_warm_up: bool,
    /// Starts per second that were asked for, on average; none: as many as possible.
    pub asked_per_second: Option<f64>,
    /// How many there were.
    pub started: u64,
    /// What was completed, as in [`crate::Summary::completed`].
    pub completed: u64,
    /// The same per second.
    pub completed_per_second: f64,
    /// Connections or sockets that were open at its end.
    pub open: u64,
    /// CPU time of the client's threads, microseconds.
    pub cpu_us: u64,
    /// For how long they could have run, but other threads did; microseconds.
    pub cpu_wait_us: u64,
    /// As in [`crate::Summary::connect_ns`].
    pub connect_ns: Latency,
    /// As in [`crate::Summary::first_byte_ns`].
    pub first_byte_ns: Latency,
    /// As in [`crate::Summary::request_ns`].
    pub request_ns: Latency,
    /// As in [`crate::Summary::service_ns`].
    pub service_ns: Latency,
    /// As in [`crate::Summary::lateness_ns`].
    pub lateness_ns: Latency,
    /// What happened at all targets together.
    pub total: TargetCounts,
}

/// Where one interval ends and the next begins, counted from the begin of the run: every so often,
/// and at the end of the warm-up, where they begin anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuts {
    every: Duration,
    warm_up: Duration,
    /// The number of the interval that goes on, and when it began.
    pub(crate) nth: u64,
    pub(crate) since: Duration,
}

impl Cuts {
    pub(crate) fn new(every: Duration, warm_up: Duration) -> Self {
        Self { every, warm_up, nth: 0, since: Duration::ZERO }
    }

    /// When the interval ends.
    pub(crate) fn until(&self) -> Duration {
        let until = self.since + self.every;
        if self.is_warm_up() { until.min(self.warm_up) } else { until }
    }

    pub(crate) fn is_warm_up(&self) -> bool {
        self.since < self.warm_up
    }

    pub(crate) fn advance(&mut self) {
        self.since = self.until();
        self.nth += 1;
    }
}

#[cfg(test)]
mod tests;
