//! What came of the experiment, as programs read it (docs/formats/load.md).

use std::{fmt, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

use super::{Cliff, Series, SeriesPart, Strategy};

/// The version of [`Record`].
pub const VERSION: u32 = 1;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// `connect(2)`.
    Connect,
    /// `bind(2)`.
    Bind,
}

impl Job {
    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Bind => "bind",
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What one strategy did in one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What was measured.
    pub job: Job,
    /// How ports were chosen.
    pub strategy: Strategy,
    /// How many calls were asked for.
    pub asked: u32,
    /// Of each call: making the socket, choosing the port, connecting or binding.
    pub series: Series,
    /// How many different source ports there were, all of the range.
    pub distinct_ports: u64,
    /// Over how many connections a byte went there and back at the end, while all were open.
    pub verified: Option<u64>,
    /// How often a port was taken, and another one was tried.
    pub conflicts: u64,
    /// Of the first half of the calls, how many ports were at an even distance from the range's
    /// first: the kernel takes those first to connect, and the others first to bind.
    pub even_in_first_half: u64,
    /// The same of the second half.
    pub even_in_second_half: u64,
    /// Why there were not more.
    pub failure: Option<String>,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// From which ports.
    pub range: RangeInclusive<u16>,
    /// Whether each strategy had a network namespace of its own.
    pub is_own: bool,
    /// In the order that it happened.
    pub measured: Vec<Measured>,
    /// What could not be measured, and why.
    pub left_out: Vec<(Job, Strategy, String)>,
    /// Somebody asked for the end before it came.
    pub is_interrupted: bool,
}

/// One line of JSON: what one strategy did in one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// [`VERSION`].
    pub version: u32,
    /// `ports`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What was measured.
    pub job: Job,
    /// How ports were chosen.
    pub strategy: Strategy,
    /// From which: first and last.
    pub range: (u16, u16),
    /// Whether it had a network namespace of its own.
    pub own_namespace: bool,
    /// How many calls were asked for.
    pub asked: u32,
    /// How many there were.
    pub count: u64,
    /// What they took together, nanoseconds.
    pub total_ns: u64,
    /// The first sixteenth of the calls; none of fewer than 16.
    pub first: Option<SeriesPart>,
    /// The last sixteenth.
    pub last: Option<SeriesPart>,
    /// Where calls become slow, if they do.
    pub cliff: Option<Cliff>,
    /// As in [`Measured`].
    pub distinct_ports: u64,
    /// As in [`Measured`].
    pub verified: Option<u64>,
    /// As in [`Measured`].
    pub conflicts: u64,
    /// As in [`Measured`].
    pub even_in_first_half: u64,
    /// As in [`Measured`].
    pub even_in_second_half: u64,
    /// As in [`Measured`].
    pub failure: Option<String>,
}

impl Measured {
    /// Whether all that was asked for is there, each from a port of its own, and alive.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let asked = u64::from(self.asked);
        let is_alive = self.verified.is_none_or(|verified| verified == asked);
        self.failure.is_none() && self.distinct_ports == asked && is_alive
    }

    /// Asked for, and there.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::try_from(self.series.times_ns.len()).unwrap_or(u64::MAX)
    }
}

impl Outcome {
    /// Whether everything was measured, and came out whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.is_interrupted && self.measured.iter().all(Measured::is_whole)
    }

    /// A line of JSON for each strategy in each job.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.measured.iter().map(|one| {
            let ends = one.series.ends();
            Record {
                version: VERSION,
                kind: "ports".to_owned(),
                job: one.job,
                strategy: one.strategy,
                range: (*self.range.start(), *self.range.end()),
                own_namespace: self.is_own,
                asked: one.asked,
                count: one.count(),
                total_ns: u64::try_from(one.series.total().as_nanos()).unwrap_or(u64::MAX),
                first: ends.map(|(first, _)| first),
                last: ends.map(|(_, last)| last),
                cliff: one.series.cliff(),
                distinct_ports: one.distinct_ports,
                verified: one.verified,
                conflicts: one.conflicts,
                even_in_first_half: one.even_in_first_half,
                even_in_second_half: one.even_in_second_half,
                failure: one.failure.clone(),
            }
        })
    }

    /// What one strategy did in one job.
    #[must_use]
    pub fn of(&self, job: Job, strategy: Strategy) -> Option<&Measured> {
        self.measured.iter().find(|one| one.job == job && one.strategy == strategy)
    }
}
