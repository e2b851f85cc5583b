//! What one run cost.

use std::time::Duration;

/// One run of one contestant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}
