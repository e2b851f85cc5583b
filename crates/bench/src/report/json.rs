//! One JSON object per contestant and size (docs/formats/bench.md).

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use serde::Serialize;

use super::{Summary, baseline, figures, micros, samples, status};
use crate::{Difference, Host, Lane, Results, Sample, SizeResults, Spread};

/// The version of the format.
pub const RECORD_VERSION: u32 = 1;

#[derive(Serialize)]
struct Record<'a> {
    version: u32,
    scenario: &'a str,
    size: u64,
    unit: &'a str,
    contestant: &'a str,
    about: &'a str,
    task: &'a str,
    own: bool,
    status: &'a str,
    reason: Option<&'a str>,
    rounds: u32,
    seed: u64,
    rows: Option<u64>,
    table_reads: Option<u64>,
    table_reads_reason: Option<&'a str>,
    wall_us: Option<Ends>,
    cpu_us: Option<Ends>,
    user_us: Option<Ends>,
    system_us: Option<Ends>,
    peak_kib: Option<Ends>,
    peak_is_bound: Option<bool>,
    baseline: &'a str,
    ratio: Option<f64>,
    figures: BTreeMap<&'a str, FigureEnds>,
    figures_reason: Option<&'a str>,
    differences: BTreeMap<&'a str, Apart>,
    runs: Vec<Run>,
    host: &'a Host,
}

#[derive(Serialize)]
struct Ends {
    median: u64,
    min: u64,
    max: u64,
}

/// A number that only some scenarios have.
#[derive(Serialize)]
struct FigureEnds {
    unit: &'static str,
    median: f64,
    min: f64,
    max: f64,
}

impl From<&figures::Seen> for FigureEnds {
    fn from(figures::Seen { unit, spread, .. }: &figures::Seen) -> Self {
        Self { unit, median: spread.median, min: spread.min, max: spread.max }
    }
}

/// By how much a figure is above the baseline's.
#[derive(Serialize)]
struct Apart {
    unit: &'static str,
    mean: f64,
    lower: Option<f64>,
    upper: Option<f64>,
    rounds: usize,
}

impl From<&Difference> for Apart {
    fn from(&Difference { unit, mean, bounds, rounds, .. }: &Difference) -> Self {
        let (lower, upper) = bounds.unzip();
        Self { unit, mean, lower, upper, rounds }
    }
}

impl From<Spread> for Ends {
    fn from(Spread { median, min, max }: Spread) -> Self {
        Self { median, min, max }
    }
}

#[derive(Serialize)]
struct Run {
    wall_us: u64,
    cpu_us: u64,
    user_us: Option<u64>,
    system_us: Option<u64>,
    peak_kib: u64,
    peak_floor_kib: u64,
    figures: BTreeMap<&'static str, f64>,
    marks: Vec<String>,
}

impl From<&Sample> for Run {
    fn from(sample: &Sample) -> Self {
        Self {
            wall_us: micros(sample.wall),
            cpu_us: micros(sample.cpu),
            user_us: sample.user.map(micros),
            system_us: sample.system.map(micros),
            peak_kib: sample.peak_kib,
            peak_floor_kib: sample.peak_floor_kib,
            figures: sample.figures.iter().map(|figure| (figure.name, figure.value)).collect(),
            marks: sample.marks.clone(),
        }
    }
}

/// Writes all sizes of `results`, an object per line.
///
/// # Errors
/// The writer's.
pub fn write_json(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    results.sizes.iter().try_for_each(|size| write_size(results, size, out))
}

/// The same of the last size alone.
///
/// # Errors
/// The writer's.
pub fn write_json_last(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    results.sizes.last().map_or(Ok(()), |size| write_size(results, size, out))
}

fn write_size(results: &Results, size: &SizeResults, out: &mut dyn Write) -> io::Result<()> {
    for lane in &size.lanes {
        serde_json::to_writer(&mut *out, &record(results, size, lane))?;
        writeln!(out)?;
    }
    Ok(())
}

fn record<'a>(results: &'a Results, size: &'a SizeResults, lane: &'a Lane) -> Record<'a> {
    let summary = Summary::of(lane, baseline(size, lane));
    let (status, reason) = status(&lane.outcome);
    let ends = |spread: fn(&Summary) -> Option<Spread>| summary.as_ref().and_then(spread);
    Record {
        version: RECORD_VERSION,
        scenario: results.scenario,
        size: size.size,
        unit: results.unit,
        contestant: &lane.contestant,
        about: &lane.about,
        task: lane.task,
        own: lane.is_own,
        status,
        reason,
        rounds: results.rounds,
        seed: results.order.seed,
        rows: lane.rows,
        table_reads: lane.reads.as_ref().and_then(|reads| reads.as_ref().ok().copied()),
        table_reads_reason: lane
            .reads
            .as_ref()
            .and_then(|reads| reads.as_ref().err()?.as_str().into()),
        wall_us: ends(|summary| Some(summary.wall_us)).map(Ends::from),
        cpu_us: ends(|summary| Some(summary.cpu_us)).map(Ends::from),
        user_us: ends(|summary| summary.user_us).map(Ends::from),
        system_us: ends(|summary| summary.system_us).map(Ends::from),
        peak_kib: ends(|summary| Some(summary.peak_kib)).map(Ends::from),
        peak_is_bound: summary.map(|summary| summary.peak_is_bound),
        baseline: &lane.baseline,
        ratio: results.ratio(summary.as_ref()),
        figures: figures::of_lane(lane).iter().map(|seen| (seen.name, seen.into())).collect(),
        figures_reason: lane.closer.as_ref().err().map(String::as_str),
        differences: lane.differences.iter().map(|one| (one.name, one.into())).collect(),
        runs: samples(lane).unwrap_or_default().iter().map(Run::from).collect(),
        host: &size.host,
    }
}

#[cfg(test)]
mod tests;
