//! The program itself as a contestant.

use std::time::Duration;

use crate::{
    Contestant, Fault, Program, Purpose, Read, ReadReport, Sample, Stdout, measure,
    peers::LIST_BASELINE,
    program::{RUN_TIME_MAX, succeeded},
    read::refused_or,
    scenario::at_least,
};

/// Readings of a steady poll over which the mean is taken. The map looks for owners again every
/// 15 readings even if nothing changed, so that just one of these does.
pub(super) const READINGS_COUNTED: u32 = 15;

/// A report is a line of a few numbers per reading.
const REPORT_BYTES_MAX: u64 = 64 * 1024;

/// A process of this program that reads as the map does.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) name: String,
    pub(super) about: &'static str,
    pub(super) program: Program,
    /// Where it repeats, the first reading does not count, and the times are those of one
    /// reading.
    pub(super) read: Read,
}

impl Contestant for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn task(&self) -> &'static str {
        super::TASK
    }

    fn baseline(&self) -> &'static str {
        LIST_BASELINE
    }

    fn is_own(&self) -> bool {
        true
    }

    fn absent(&self, _size: u64) -> Option<String> {
        None
    }

    fn run(&mut self, size: u64, _purpose: Purpose) -> Result<Sample, Fault> {
        let program = self.program.clone().with(self.read.to_args());
        let stdout = Stdout::Keep { bytes_max: REPORT_BYTES_MAX };
        let measured = measure(&program, stdout, RUN_TIME_MAX)?;
        succeeded(&measured).map_err(|fault| refused_or(fault, self.read.method))?;
        let report: ReadReport = serde_json::from_slice(&measured.kept)
            .map_err(|error| Fault::Wrong(format!("unreadable report: {error}")))?;
        check(&report, self.read, size)?;
        let sample = Sample { rows: Some(report.rows), ..Sample::from(&measured) };
        Ok(if self.read.repeat > 1 { steady(sample, &report) } else { sample })
    }
}

/// Whether the reading has what the world is known to have.
fn check(report: &ReadReport, read: Read, size: u64) -> Result<(), Fault> {
    at_least("rows", report.rows, size)?;
    at_least("sockets with an owner", report.owned, size)?;
    at_least("connections", report.connections, size / 2)?;
    at_least("edges", report.edges, 1)?;
    let readings = u64::try_from(report.readings.len()).unwrap_or(u64::MAX);
    at_least("readings", readings, u64::from(read.repeat))
}

/// The mean of all readings but the first.
fn steady(sample: Sample, report: &ReadReport) -> Sample {
    let counted = report.readings.get(1..).unwrap_or_default();
    let count = u64::try_from(counted.len()).unwrap_or(u64::MAX).max(1);
    let mean = |sum: u64| Duration::from_micros(sum / count);
    Sample {
        wall: mean(counted.iter().map(|reading| reading.wall_us).sum()),
        cpu: mean(counted.iter().map(|reading| reading.cpu_us).sum()),
        user: None,
        system: None,
        ..sample
    }
}

#[cfg(test)]
mod tests;
