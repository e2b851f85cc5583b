//! The columns of a scenario that shows figures of its own.

use super::{figures, text};
use crate::{Column, Difference, Lane, Value};

/// Of each of `columns` that any of `lanes` has something for, what stands above it and in it.
pub(super) fn of_lanes(columns: &[Column], lanes: &[&Lane]) -> Vec<(&'static str, Vec<String>)> {
    let of = |column: &Column| {
        let cells: Vec<String> = lanes.iter().map(|lane| cell(*column, lane)).collect();
        cells.iter().any(|cell| !cell.is_empty()).then_some((column.heading, cells))
    };
    columns.iter().filter_map(of).collect()
}

fn cell(column: Column, lane: &Lane) -> String {
    match column.value {
        Value::Figure(name) => {
            let seen = figures::of_lane(lane).into_iter().find(|seen| seen.name == name);
            seen.map_or_else(String::new, |figures::Seen { unit, spread, .. }| {
                let ends = column.has_ends.then_some((spread.min, spread.max));
                with_ends(spread.median, ends, |value| text::number(value, unit))
            })
        }
        Value::Difference(name) => difference(lane, name).map_or_else(String::new, |found| {
            with_ends(found.mean, found.bounds.filter(|_| column.has_ends), apart)
        }),
    }
}

fn with_ends(value: f64, ends: Option<(f64, f64)>, number: impl Fn(f64) -> String) -> String {
    match ends {
        Some((lower, upper)) => {
            format!("{} [{} to {}]", number(value), number(lower), number(upper))
        }
        None => number(value),
    }
}

/// A difference, whose unit stands above it.
fn apart(value: f64) -> String {
    if value.abs() < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

/// The difference of this name.
pub(super) fn difference<'a>(lane: &'a Lane, name: &str) -> Option<&'a Difference> {
    lane.differences.iter().find(|found| found.name == name)
}

/// What has to be known of runs, once for each lane and mark, and in how many of them.
pub(super) fn marks(lane: &Lane) -> Vec<String> {
    let samples = super::samples(lane).unwrap_or_default();
    let marked = samples.iter().filter(|sample| !sample.marks.is_empty());
    let Some(first) = marked.clone().next() else { return Vec::new() };
    let (count, all) = (marked.count(), samples.len());
    let said = first.marks.join("; ");
    vec![format!("{}: {count} of {all} runs, the first: {said}", lane.contestant)]
}

#[cfg(test)]
mod tests;
