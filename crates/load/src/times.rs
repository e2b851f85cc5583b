//! How long things took: histograms with three digits, of fixed size.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Lengths of time that are recorded without allocation, and merged without loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Times(Histogram<u64>);

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
    /// Records one.
    #[inline]
    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds what the other recorded: exact.
    pub fn add(&mut self, other: &Self) {
        // The bounds are the same, so it fits.
        let _ = self.0.add(&other.0);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// How many are longer than this, of which three digits count.
    #[must_use]
    pub fn longer_than(&self, time: Duration) -> u64 {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.recorded().filter(|&(value, _)| value > ns).map(|(_, count)| count).sum()
    }

    /// Every value that was recorded, in nanoseconds with three digits, and how often; ascending.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value()))
    }

    /// The value, in nanoseconds, that this part of all does not exceed: 0.5 for the median.
    #[must_use]
    pub fn quantile(&self, part: f64) -> u64 {
        self.0.value_at_quantile(part)
    }

    /// The distribution in a few numbers.
    #[must_use]
    pub fn latency(&self) -> Latency {
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

    pub(crate) fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    fn sparse(&self) -> Sparse {
        Sparse(self.recorded().collect())
    }

    fn add_sparse(&mut self, other: &Sparse) {
        for &(value, count) in &other.0 {
            // The value stands for its bucket, which is the same here.
            self.0.saturating_record_n(value, count);
        }
    }
}

/// Values and how often they were recorded: as long as there are different ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Sparse(Vec<(u64, u64)>);

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

/// What was measured, by one worker or by all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// From `connect(2)` until the connection is established.
    pub connect: Times,
    /// From when a request was sent until the first byte of its response was there.
    pub first_byte: Times,
    /// From when a request was meant to begin until its response was there.
    pub request: Times,
    /// From when a request was sent until its response was there.
    pub service: Times,
    /// From when a start was meant to be until it was.
    pub lateness: Times,
}

/// The same as it goes through a pipe or a channel: short, and exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SparseMeasured {
    connect: Sparse,
    first_byte: Sparse,
    request: Sparse,
    service: Sparse,
    lateness: Sparse,
}

impl Measured {
    /// Adds what the other measured: exact.
    pub fn add(&mut self, other: &Self) {
        self.connect.add(&other.connect);
        self.first_byte.add(&other.first_byte);
        self.request.add(&other.request);
        self.service.add(&other.service);
        self.lateness.add(&other.lateness);
    }

    /// Each with its name, as in JSON but for the unit.
    #[must_use]
    pub fn by_name(&self) -> [(&'static str, &Times); 5] {
        [
            ("connect", &self.connect),
            ("first_byte", &self.first_byte),
            ("request", &self.request),
            ("service", &self.service),
            ("lateness", &self.lateness),
        ]
    }

    pub(crate) fn clear(&mut self) {
        self.connect.clear();
        self.first_byte.clear();
        self.request.clear();
        self.service.clear();
        self.lateness.clear();
    }

    pub(crate) fn sparse(&self) -> SparseMeasured {
        SparseMeasured {
            connect: self.connect.sparse(),
            first_byte: self.first_byte.sparse(),
            request: self.request.sparse(),
            service: self.service.sparse(),
            lateness: self.lateness.sparse(),
        }
    }

    pub(crate) fn add_sparse(&mut self, other: &SparseMeasured) {
        self.connect.add_sparse(&other.connect);
        self.first_byte.add_sparse(&other.first_byte);
        self.request.add_sparse(&other.request);
        self.service.add_sparse(&other.service);
        self.lateness.add_sparse(&other.lateness);
    }
}

#[cfg(test)]
mod tests;
