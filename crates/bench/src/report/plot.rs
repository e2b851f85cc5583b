//! Figures over sizes, as a file: a line for each contestant; of one size, a row for each.

use std::io;

use portolan_plot::{Axis, Figure, Line as Shape, Point as Place, Row, Rows, STYLE, Series, Sheet};

use super::{columns::difference, figures, status, svg::title};
use crate::{Lane, Plot, Results, Value};

/// Measures in pixels.
const WIDTH: f64 = 900.0;
const HEAD_HEIGHT: f64 = 70.0;

/// Writes all of `plots` that there is something for.
///
/// # Errors
/// The writer's.
pub(super) fn write(results: &Results, plots: &[Plot], out: &mut dyn io::Write) -> io::Result<()> {
    let mut sheet = Sheet::default();
    sheet.label((16.0, 28.0), "title", &title(results));
    let host = results.sizes.last().map(|size| size.host.describe()).unwrap_or_default();
    let how = format!("{} rounds; bars: least to most, or 95 %; {host}", results.rounds);
    sheet.label((16.0, 48.0), "faint", &how);
    let mut height = HEAD_HEIGHT;
    for plot in plots {
        let lines = lines(results, plot);
        if lines.iter().all(|line| line.points.is_empty()) {
            continue;
        }
        height = if results.sizes.len() > 1 {
            over_sizes(plot.title, results.unit, &lines).draw(&mut sheet, height)
        } else {
            rows(plot.title, &lines).draw(&mut sheet, height)
        };
    }
    out.write_all(sheet.svg(&title(results), (WIDTH, height), Some(STYLE)).as_bytes())
}

fn over_sizes(title: &str, unit: &str, lines: &[Line]) -> Figure {
    let mut figure = Figure::new(title, Axis::new(unit), Axis::default());
    figure.series.extend(lines.iter().map(|line| {
        let places = line.points.iter().map(|&Point { size, value, lower, upper }| Place {
            x: whole(size),
            y: value,
            lower,
            upper,
        });
        Series::new(&line.name, Shape::Dotted, places)
    }));
    figure
}

fn rows(title: &str, lines: &[Line]) -> Rows {
    let rows = lines.iter().enumerate().flat_map(|(colour, line)| {
        line.points.iter().map(move |&Point { value, lower, upper, .. }| Row {
            name: line.name.clone(),
            value,
            lower,
            upper,
            colour,
        })
    });
    Rows { title: title.to_owned(), rows: rows.collect() }
}

/// A contestant's values.
#[derive(Debug, PartialEq)]
struct Line {
    name: String,
    points: Vec<Point>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    size: u64,
    value: f64,
    lower: f64,
    upper: f64,
}

/// A line for each contestant of the plot's task, in the order of the report.
fn lines(results: &Results, plot: &Plot) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for size in &results.sizes {
        for lane in size.lanes.iter().filter(|lane| lane.task == plot.task) {
            let at = lines.iter().position(|line| line.name == lane.contestant);
            let at = at.unwrap_or_else(|| {
                lines.push(Line { name: lane.contestant.clone(), points: Vec::new() });
                lines.len() - 1
            });
            lines[at].points.extend(point(lane, size.size, plot.value));
        }
    }
    lines
}

fn point(lane: &Lane, size: u64, value: Value) -> Option<Point> {
    if status(&lane.outcome).0 != "measured" {
        return None;
    }
    match value {
        Value::Figure(name) => {
            let seen = figures::of_lane(lane).into_iter().find(|seen| seen.name == name)?;
            let spread = seen.spread;
            Some(Point { size, value: spread.median, lower: spread.min, upper: spread.max })
        }
        Value::Difference(name) => {
            let found = difference(lane, name)?;
            let (lower, upper) = found.bounds.unwrap_or((found.mean, found.mean));
            Some(Point { size, value: found.mean, lower, upper })
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn whole(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
