//! Times of calls in their order, and where they become slow.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// So many parts are compared to find a cliff: enough to say where, not too few calls in each.
const PARTS: usize = 200;

/// A part has so many calls at least: a median of fewer is moved by a busy machine.
const PART_MIN: usize = 16;

/// A cliff is where calls take so many times as long from then on as until then.
const CLIFF_FACTOR: f64 = 3.0;

/// What each call took, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Nanoseconds.
    pub times_ns: Vec<u32>,
}

/// Some calls in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How many came before.
    pub from: u64,
    /// How many these are.
    pub count: u64,
    /// What they took together, nanoseconds.
    pub total_ns: u64,
    /// What one of them took in the median, nanoseconds.
    pub median_ns: u64,
}

/// Where calls become slow, and stay so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cliff {
    /// After so many calls, as exactly as the parts have it.
    pub after: u64,
    /// Median time of a call before, nanoseconds.
    pub before_ns: u64,
    /// Median time of a call from then on, nanoseconds.
    pub then_ns: u64,
}

impl Series {
    /// All calls together.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(sum(&self.times_ns))
    }

    /// In parts of `size` calls; the last may have fewer.
    pub fn parts(&self, size: usize) -> impl Iterator<Item = Part> {
        let size = size.max(1);
        (0..).zip(self.times_ns.chunks(size)).map(move |(nth, times)| Part {
            from: number(nth * size),
            count: number(times.len()),
            total_ns: sum(times),
            median_ns: median(times.iter().map(|&it| u64::from(it))),
        })
    }

    /// In as many parts as one can look at.
    pub fn even_parts(&self) -> impl Iterator<Item = Part> {
        self.parts(self.times_ns.len().div_ceil(PARTS).max(PART_MIN))
    }

    /// The first and the last sixteenth: what the experiment is judged by. Both have as many calls.
    #[must_use]
    pub fn ends(&self) -> Option<(Part, Part)> {
        let size = self.times_ns.len() / 16;
        let first = self.parts(size).next().filter(|_| size > 0)?;
        let rest = self.times_ns.len() - size;
        let last = Self { times_ns: self.times_ns[rest..].to_vec() }.parts(size).next()?;
        Some((first, Part { from: number(rest), ..last }))
    }

    /// Where calls become slow: the two levels that fit the medians of the parts best (least
    /// absolute deviation of their logarithms), if one is far above the other.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times, within a nanosecond"
    )]
    pub fn cliff(&self) -> Option<Cliff> {
        let parts: Vec<Part> = self.even_parts().collect();
        let logs: Vec<f64> = parts.iter().map(|part| (part.median_ns.max(1) as f64).ln()).collect();
        let level = |logs: &[f64]| {
            let mut sorted = logs.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted[sorted.len() / 2]
        };
        let misfit = |logs: &[f64]| {
            let level = level(logs);
            logs.iter().map(|log| (log - level).abs()).sum::<f64>()
        };
        let split = (1..logs.len()).min_by(|&one, &other| {
            let [one, other] = [one, other].map(|at| misfit(&logs[..at]) + misfit(&logs[at..]));
            one.total_cmp(&other)
        })?;
        let (before, then) = (level(&logs[..split]), level(&logs[split..]));
        (then - before >= CLIFF_FACTOR.ln()).then(|| Cliff {
            after: parts[split].from,
            before_ns: before.exp().round() as u64,
            then_ns: then.exp().round() as u64,
        })
    }
}

fn sum(times: &[u32]) -> u64 {
    times.iter().map(|&time| u64::from(time)).sum()
}

fn median(times: impl Iterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = times.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
