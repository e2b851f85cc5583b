//! One line per contestant and size, for spreadsheets (RFC 4180).

use std::io::{self, Write};

use super::{Summary, baseline, columns::difference, figures, status};
use crate::{Difference, Lane, Results, SizeResults};

const COLUMNS: [&str; 21] = [
    "scenario",
    "size",
    "unit",
    "contestant",
    "status",
    "reason",
    "rounds",
    "rows",
    "wall_us_median",
    "wall_us_min",
    "wall_us_max",
    "cpu_us_median",
    "user_us_median",
    "system_us_median",
    "peak_kib_median",
    "baseline",
    "ratio",
    "kernel",
    "date",
    "task",
    "table_reads",
];

/// Writes all sizes of `results` under a line with the names of the columns.
///
/// # Errors
/// The writer's.
pub fn write_csv(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let names = figures::names(results.sizes.iter().flat_map(|size| &size.lanes));
    let apart = differences(results);
    let mut columns: Vec<String> =
        COLUMNS.iter().chain(&names).map(|&name| name.to_owned()).collect();
    for name in &apart {
        columns.extend(["", "_lower", "_upper"].map(|end| format!("{name}{end}")));
    }
    write_line(&columns, out)?;
    for size in &results.sizes {
        for lane in &size.lanes {
            let mut fields = fields(results, size, lane).to_vec();
            let seen = figures::of_lane(lane);
            let median = |name: &&str| {
                let seen = seen.iter().find(|seen| seen.name == *name);
                seen.map_or_else(String::new, |seen| seen.spread.median.to_string())
            };
            fields.extend(names.iter().map(median));
            fields.extend(apart.iter().flat_map(|name| ends(difference(lane, name))));
            write_line(&fields, out)?;
        }
    }
    Ok(())
}

/// The names of all differences, in order of their first appearance.
fn differences(results: &Results) -> Vec<&'static str> {
    let mut names = Vec::new();
    let lanes = results.sizes.iter().flat_map(|size| &size.lanes);
    for difference in lanes.flat_map(|lane| &lane.differences) {
        if !names.contains(&difference.name) {
            names.push(difference.name);
        }
    }
    names
}

/// The mean and the bounds.
fn ends(difference: Option<&Difference>) -> [String; 3] {
    let bounds = difference.and_then(|one| one.bounds);
    let numbers =
        [difference.map(|one| one.mean), bounds.map(|ends| ends.0), bounds.map(|ends| ends.1)];
    numbers.map(|number| number.map_or_else(String::new, |number| number.to_string()))
}

fn fields(results: &Results, size: &SizeResults, lane: &Lane) -> [String; 21] {
    let summary = Summary::of(lane, baseline(size, lane));
    let (status, reason) = status(&lane.outcome);
    let number = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
    let of = |value: fn(&Summary) -> Option<u64>| number(summary.as_ref().and_then(value));
    [
        results.scenario.to_owned(),
        size.size.to_string(),
        results.unit.to_owned(),
        lane.contestant.clone(),
        status.to_owned(),
        reason.unwrap_or_default().to_owned(),
        results.rounds.to_string(),
        number(lane.rows),
        of(|summary| Some(summary.wall_us.median)),
        of(|summary| Some(summary.wall_us.min)),
        of(|summary| Some(summary.wall_us.max)),
        of(|summary| Some(summary.cpu_us.median)),
        of(|summary| summary.user_us.map(|user| user.median)),
        of(|summary| summary.system_us.map(|system| system.median)),
        of(|summary| Some(summary.peak_kib.median)),
        lane.baseline.clone(),
        results.ratio(summary.as_ref()).map_or_else(String::new, |ratio| format!("{ratio:.4}")),
        size.host.kernel.clone(),
        size.host.date.clone(),
        lane.task.to_owned(),
        number(lane.reads.as_ref().and_then(|reads| reads.as_ref().ok().copied())),
    ]
}

/// RFC 4180 section 2: fields with commas, quotes or line ends are quoted, quotes doubled.
fn write_line(fields: &[String], out: &mut dyn Write) -> io::Result<()> {
    let quoted = fields.iter().map(|field| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    });
    write!(out, "{}\r\n", quoted.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests;
