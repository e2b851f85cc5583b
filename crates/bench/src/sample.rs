//! What one run cost.

use std::time::Duration;

/// One run of one contestant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// From just before the start to just after the end.
    pub wall: Duration,
    /// CPU time, in user mode and in the kernel.
    pub cpu: Duration,
    /// The part of it in user mode, where the two can be told apart.
    pub user: Option<Duration>,
    /// The part of it in the kernel, where the two can be told apart.
    pub system: Option<Duration>,
    /// Peak resident memory, in KiB.
    pub peak_kib: u64,
    /// No smaller peak could have been seen, in KiB: a child process starts out with the peak of
    /// the process that started it.
    pub peak_floor_kib: u64,
    /// The lines or rows that were produced, where they were counted.
    pub rows: Option<u64>,
    /// What else there is to say of it, in the order of the report.
    pub figures: Vec<Figure>,
    /// What a reader has to know before trusting this run, for people; empty if nothing.
    pub marks: Vec<String>,
}

/// A number that only some scenarios have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// How records call it; the table writes spaces for the low lines.
    pub name: &'static str,
    /// What it counts, in the plural, or a unit of the SI: `packets`, `us`.
    pub unit: &'static str,
    /// How much.
    pub value: f64,
}

impl Figure {
    /// So many of something.
    #[must_use]
    pub fn count(name: &'static str, unit: &'static str, count: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        Self { name, unit, value: count as f64 }
    }

    /// So many of something for each of `of`; 0 where there are none.
    #[must_use]
    pub fn per(name: &'static str, unit: &'static str, count: u64, of: u64) -> Self {
        let all = Self::count(name, unit, count);
        let of = Self::count(name, unit, of.max(1)).value;
        Self { value: all.value / of, ..all }
    }
}
