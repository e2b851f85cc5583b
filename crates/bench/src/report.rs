//! Results for people and for programs.
//!
//! People look at the picture first, then at the numbers: the table has a bar per contestant, the
//! chart is the same picture as a file, and the page has both. Programs get every run, in JSON.

mod columns;
mod csv;
mod figures;
mod html;
mod json;
mod plot;
mod svg;
mod table;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use portolan_plot::numbers as text;

use crate::{Error, Lane, Outcome, Results, Sample, SizeResults, Spread, View, statistics::ratio};

pub use csv::write_csv;
pub use html::write_html;
pub use json::{RECORD_VERSION, write_json, write_json_last};
pub use portolan_plot::numbers::grouped;
pub use svg::write_svg;
pub use table::write_table;

/// What the runs of one contestant come to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Summary {
    wall_us: Spread,
    cpu_us: Spread,
    user_us: Option<Spread>,
    system_us: Option<Spread>,
    peak_kib: Spread,
    /// The peak was not above the least that could have been seen.
    peak_is_bound: bool,
    /// Median wall time as a multiple of the baseline's.
    ratio: Option<f64>,
}

impl Summary {
    /// `None` unless `lane` was measured.
    fn of(lane: &Lane, baseline: Option<&Lane>) -> Option<Self> {
        let samples = samples(lane)?;
        let wall_us = wall_us(lane)?;
        let baseline_us = baseline.and_then(self::wall_us);
        Some(Self {
            wall_us,
            cpu_us: Spread::of(samples.iter().map(|sample| micros(sample.cpu)))?,
            user_us: Spread::of(samples.iter().filter_map(|sample| sample.user.map(micros))),
            system_us: Spread::of(samples.iter().filter_map(|sample| sample.system.map(micros))),
            peak_kib: Spread::of(samples.iter().map(|sample| sample.peak_kib))?,
            peak_is_bound: samples.iter().any(|sample| sample.peak_kib <= sample.peak_floor_kib),
            ratio: baseline_us.and_then(|base| ratio(wall_us.median, base.median)),
        })
    }
}

impl Results {
    /// Median wall time as a multiple of the baseline's, where that says anything.
    fn ratio(&self, summary: Option<&Summary>) -> Option<f64> {
        summary.filter(|_| self.view == View::Times)?.ratio
    }
}

fn samples(lane: &Lane) -> Option<&[Sample]> {
    match &lane.outcome {
        Outcome::Measured(samples) => Some(samples),
        Outcome::Absent(_) | Outcome::Failed(_) | Outcome::Wrong(_) => None,
    }
}

fn wall_us(lane: &Lane) -> Option<Spread> {
    Spread::of(samples(lane)?.iter().map(|sample| micros(sample.wall)))
}

/// The lane that `lane` is compared with.
fn baseline<'a>(size: &'a SizeResults, lane: &Lane) -> Option<&'a Lane> {
    size.lanes.iter().find(|other| other.contestant == lane.baseline)
}

/// Contestants that do the same and are compared with the same one.
struct Group<'a> {
    task: &'static str,
    baseline: &'a str,
    lanes: Vec<(&'a Lane, Option<Summary>)>,
    /// The slowest median, for the scale of bars; 1 where nobody has one.
    longest_us: u64,
}

/// The lanes of a size in groups, in order.
fn groups(size: &SizeResults, view: View) -> Vec<Group<'_>> {
    // Only times are shown as a multiple of the one baseline that is named beside them.
    let has_one_baseline = view == View::Times;
    let is_same = |one: &Lane, next: &Lane| {
        one.task == next.task && (!has_one_baseline || one.baseline == next.baseline)
    };
    let groups = size.lanes.chunk_by(is_same).map(|lanes| {
        let lanes: Vec<_> =
            lanes.iter().map(|lane| (lane, Summary::of(lane, baseline(size, lane)))).collect();
        let medians =
            lanes.iter().filter_map(|(_, summary)| Some(summary.as_ref()?.wall_us.median));
        let (task, baseline) = (lanes[0].0.task, lanes[0].0.baseline.as_str());
        Group { task, baseline, longest_us: medians.max().unwrap_or(1), lanes }
    });
    groups.collect()
}

/// The calls that were counted, for people; empty where nobody asked.
fn reads_text(lane: &Lane) -> String {
    match &lane.reads {
        None => String::new(),
        Some(Ok(reads)) => grouped(*reads),
        Some(Err(_)) => "not measured".to_owned(),
    }
}

/// Why there is something that was not measured, once for each reason.
fn unmeasured(size: &SizeResults) -> Vec<String> {
    let reads = size.lanes.iter().filter_map(|lane| lane.reads.as_ref()?.as_ref().err());
    let closer = size.lanes.iter().filter_map(|lane| lane.closer.as_ref().err());
    let mut reasons: Vec<String> = reads.map(|why| format!("reads not measured: {why}")).collect();
    reasons.extend(closer.map(|why| format!("not looked at closely: {why}")));
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// The word and the reason, for a contestant without times.
fn status(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Measured(_) => ("measured", None),
        Outcome::Absent(why) => ("absent", Some(why)),
        Outcome::Failed(why) => ("failed", Some(why)),
        Outcome::Wrong(why) => ("wrong", Some(why)),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A way to write results.
pub type Writer = fn(&Results, &mut dyn io::Write) -> io::Result<()>;

/// Writes one report into `file`.
///
/// # Errors
/// With the file's name, when it cannot be written.
pub fn write_file(file: &Path, writer: Writer, results: &Results) -> Result<(), Error> {
    let mut bytes = Vec::new();
    writer(results, &mut bytes)
        .and_then(|()| fs::write(file, &bytes))
        .map_err(Error::system(format!("write {}", file.display())))
}

/// Writes `results.csv`, `results.jsonl`, `results.svg` and `results.html` into `directory`, which
/// is made if it is not there, and returns their names.
///
/// # Errors
/// With the name of what cannot be written.
pub fn write_directory(directory: &Path, results: &Results) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(directory)
        .map_err(Error::system(format!("make the directory {}", directory.display())))?;
    let reports: [(&str, Writer); 4] = [
        ("results.csv", write_csv),
        ("results.jsonl", write_json),
        ("results.svg", write_svg),
        ("results.html", write_html),
    ];
    let mut files = Vec::with_capacity(reports.len());
    for (name, writer) in reports {
        let file = directory.join(name);
        write_file(&file, writer, results)?;
        files.push(file);
    }
    Ok(files)
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
