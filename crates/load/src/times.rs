//! How long things took: histograms with three digits, of fixed size.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Lengths of time that are recorded without allocation.
#[derive(Clone, Debug)]
pub(crate) struct Times(Histogram<u64>);

/// The longest time that is told from longer ones.
const LONGEST: Duration = Duration::from_secs(3600);

impl Default for Times {
    fn default() -> Self {
        let most = u64::try_from(LONGEST.as_nanos()).unwrap_or(u64::MAX);
        // The bounds are constants that it accepts.
        #[allow(clippy::expect_used, reason = "of constants")]
        Self(Histogram::new_with_bounds(1, most, 3).expect("1 ns to 1 h with 3 digits"))
    }
}

impl Times {
    pub(crate) fn record(&mut self, time: Duration) {
        self.0.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Exact: what both recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        // The bounds are the same, so it fits.
        let _ = self.0.add(&other.0);
    }

    pub(crate) fn summary(&self) -> Latency {
        Latency {
            count: self.0.len(),
            min: if self.0.is_empty() { 0 } else { self.0.min() },
            mean: self.0.mean(),
            p50: self.0.value_at_quantile(0.5),
            p90: self.0.value_at_quantile(0.9),
            p99: self.0.value_at_quantile(0.99),
            p999: self.0.value_at_quantile(0.999),
            max: self.0.max(),
        }
    }
}

/// A distribution of times, in nanoseconds, with three digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// How many there are; all else is 0 where there is none.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// Nine of ten are at most this long.
    pub p90: u64,
    /// 99 of 100 are at most this long.
    pub p99: u64,
    /// 999 of 1,000 are at most this long.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

/// The times of one worker, or of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// From `connect(2)` until the connection is established.
    pub(crate) connect: Times,
    /// From when a request was meant to begin until its response was there.
    pub(crate) request: Times,
    /// From when a request was sent until its response was there.
    pub(crate) service: Times,
    /// From when a start was meant to be until it was.
    pub(crate) lateness: Times,
}

impl Measured {
    pub(crate) fn add(&mut self, other: &Self) {
        self.connect.add(&other.connect);
        self.request.add(&other.request);
        self.service.add(&other.service);
        self.lateness.add(&other.lateness);
    }
}
