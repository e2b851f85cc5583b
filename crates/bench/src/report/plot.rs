//! Figures over sizes, as a file: a line for each contestant; of one size, a row for each.
//!
//! Colours and background follow the reader's preference, as in the chart of times.

use std::{
    fmt::{self, Write as _},
    io,
};

use super::{
    columns::difference,
    figures, status,
    svg::{escape, title},
    text,
};
use crate::{Lane, Plot, Results, Value};

/// Measures in pixels.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const PLOT_WIDTH: f64 = 560.0;
const PLOT_HEIGHT: f64 = 240.0;
const PANEL_HEIGHT: f64 = 340.0;
const HEAD_HEIGHT: f64 = 70.0;
const ROW_HEIGHT: f64 = 30.0;
const ROW_LABEL: f64 = 190.0;
const ROW_WIDTH: f64 = 430.0;
const CAP: f64 = 4.0;

/// A scale has so many steps at most.
const STEPS_MAX: f64 = 6.0;

/// Colours that are told apart on white and on near black, also by those who see few of them.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1b1f24}\
.title{font-size:17px;font-weight:600}.size{font-size:14px;font-weight:600}\
.faint{fill:#59636e}.right{text-anchor:end}.middle{text-anchor:middle}\
.axis{stroke:#8c959f;stroke-width:1}.grid{stroke:#8c959f;stroke-opacity:.3}\
.line{fill:none;stroke-width:2}.bar{stroke-width:1.5}\
.s0{stroke:#59636e;fill:#59636e}.s1{stroke:#b35900;fill:#b35900}.s2{stroke:#b3261e;fill:#b3261e}\
.s3{stroke:#7a4fb0;fill:#7a4fb0}.s4{stroke:#0b6e99;fill:#0b6e99}.line{fill:none}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9aa4ae}\
.s0{stroke:#9aa4ae;fill:#9aa4ae}.s1{stroke:#f0a35e;fill:#f0a35e}.s2{stroke:#ff8a80;fill:#ff8a80}\
.s3{stroke:#c3a5ee;fill:#c3a5ee}.s4{stroke:#4fb3d9;fill:#4fb3d9}.line{fill:none}}";

const COLOURS: usize = 5;

/// Writes all of `plots` that there is something for.
///
/// # Errors
/// The writer's.
pub(super) fn write(results: &Results, plots: &[Plot], out: &mut dyn io::Write) -> io::Result<()> {
    let mut sheet = Sheet { text: String::new(), y: HEAD_HEIGHT };
    for plot in plots {
        let lines = lines(results, plot);
        if lines.iter().all(|line| line.points.is_empty()) {
            continue;
        }
        let drawn = if results.sizes.len() > 1 {
            sheet.over_sizes(plot.title, results.unit, &lines)
        } else {
            sheet.rows(plot.title, &lines)
        };
        drawn.map_err(io::Error::other)?;
    }
    let height = sheet.y;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">"
    )?;
    writeln!(out, "<title>{}</title>\n<style>{STYLE}</style>", escape(&title(results)))?;
    writeln!(out, "<text class=\"title\" x=\"16\" y=\"28\">{}</text>", escape(&title(results)))?;
    let host = results.sizes.last().map(|size| size.host.describe()).unwrap_or_default();
    let how = format!("{} rounds; bars: least to most, or 95 %; {host}", results.rounds);
    writeln!(out, "<text class=\"faint\" x=\"16\" y=\"48\">{}</text>", escape(&how))?;
    write!(out, "{}", sheet.text)?;
    writeln!(out, "</svg>")
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

/// From where to where a scale goes, in steps that are easy to read.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    /// One that has 0 and all of `values` on it.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) =
            values.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let span = if high > low { high - low } else { 1.0 };
        let rough = span / STEPS_MAX;
        let power = 10.0_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|times| times * power)
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        let low = (low / step).floor() * step;
        let high = (high / step).ceil() * step;
        Self { low, high: if high > low { high } else { low + step }, step }
    }

    /// Where `value` is, from 0 to 1.
    fn at(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// The values that stand beside it.
    fn marks(self) -> impl Iterator<Item = f64> {
        let mut value = self.low;
        std::iter::from_fn(move || {
            let mark = value;
            value += self.step;
            (mark <= self.high + self.step / 2.0).then_some(mark)
        })
    }
}

/// The elements so far, and how far down they reach.
struct Sheet {
    text: String,
    y: f64,
}

impl Sheet {
    fn over_sizes(&mut self, title: &str, unit: &str, lines: &[Line]) -> fmt::Result {
        let top = self.head(title)?;
        let points = || lines.iter().flat_map(|line| &line.points);
        let scale = Scale::of(points().flat_map(|point| [point.value, point.lower, point.upper]));
        let sizes = Scale::of(points().map(|point| whole(point.size)));
        let x = |size: u64| LEFT + sizes.at(whole(size)) * PLOT_WIDTH;
        let y = |value: f64| top + (1.0 - scale.at(value)) * PLOT_HEIGHT;
        for mark in scale.marks() {
            let at = y(mark);
            self.stroke("grid", (LEFT, at), (LEFT + PLOT_WIDTH, at))?;
            self.label(LEFT - 8.0, at + 4.0, "faint right", &plain(mark, scale.step))?;
        }
        let bottom = top + PLOT_HEIGHT;
        self.stroke("axis", (LEFT, top), (LEFT, bottom))?;
        for mark in sizes.marks() {
            let at = LEFT + sizes.at(mark) * PLOT_WIDTH;
            self.stroke("axis", (at, bottom), (at, bottom + 4.0))?;
            self.label(at, bottom + 20.0, "faint middle", &plain(mark, sizes.step))?;
        }
        self.label(LEFT + PLOT_WIDTH / 2.0, bottom + 40.0, "faint middle", unit)?;
        for (nth, line) in lines.iter().filter(|line| !line.points.is_empty()).enumerate() {
            let class = nth % COLOURS;
            let path: Vec<String> = (line.points.iter())
                .map(|point| format!("{:.1},{:.1}", x(point.size), y(point.value)))
                .collect();
            writeln!(
                self.text,
                "<polyline class=\"line s{class}\" points=\"{}\"/>",
                path.join(" ")
            )?;
            for point in &line.points {
                let (at, bar) = (x(point.size), format!("bar s{class}"));
                self.stroke(&bar, (at, y(point.lower)), (at, y(point.upper)))?;
                self.dot(class, at, y(point.value))?;
            }
            let key = top + 10.0 + whole_of(nth) * 20.0;
            self.dot(class, LEFT + PLOT_WIDTH + 24.0, key - 4.0)?;
            self.label(LEFT + PLOT_WIDTH + 36.0, key, "", &line.name)?;
        }
        self.y += PANEL_HEIGHT;
        Ok(())
    }

    fn rows(&mut self, title: &str, lines: &[Line]) -> fmt::Result {
        let top = self.head(title)?;
        let points = lines.iter().flat_map(|line| &line.points);
        let scale = Scale::of(points.flat_map(|point| [point.value, point.lower, point.upper]));
        let x = |value: f64| ROW_LABEL + scale.at(value) * ROW_WIDTH;
        let shown = lines.iter().filter(|line| !line.points.is_empty()).count();
        let bottom = top + whole_of(shown) * ROW_HEIGHT;
        for mark in scale.marks() {
            self.stroke("grid", (x(mark), top), (x(mark), bottom))?;
            self.label(x(mark), bottom + 18.0, "faint middle", &plain(mark, scale.step))?;
        }
        self.stroke("axis", (x(0.0), top), (x(0.0), bottom))?;
        let mut y = top + ROW_HEIGHT / 2.0;
        for (nth, line) in lines.iter().enumerate() {
            for point in &line.points {
                let (class, bar) = (nth % COLOURS, format!("bar s{}", nth % COLOURS));
                self.label(16.0, y + 4.0, "", &line.name)?;
                self.stroke(&bar, (x(point.lower), y), (x(point.upper), y))?;
                for end in [point.lower, point.upper] {
                    self.stroke(&bar, (x(end), y - CAP), (x(end), y + CAP))?;
                }
                self.dot(class, x(point.value), y)?;
                let [value, lower, upper] =
                    [point.value, point.lower, point.upper].map(|value| format!("{value:.2}"));
                let numbers = format!("{value} [{lower} to {upper}]");
                self.label(ROW_LABEL + ROW_WIDTH + 16.0, y + 4.0, "", &numbers)?;
                y += ROW_HEIGHT;
            }
        }
        self.y = bottom + 40.0;
        Ok(())
    }

    /// Writes the heading, and says where the panel begins below it.
    fn head(&mut self, title: &str) -> Result<f64, fmt::Error> {
        self.label(16.0, self.y + 16.0, "size", title)?;
        Ok(self.y + 36.0)
    }

    fn stroke(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) -> fmt::Result {
        let ((x1, y1), (x2, y2)) = (from, to);
        writeln!(
            self.text,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        )
    }

    fn dot(&mut self, class: usize, x: f64, y: f64) -> fmt::Result {
        writeln!(self.text, "<circle class=\"s{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>")
    }

    fn label(&mut self, x: f64, y: f64, class: &str, text: &str) -> fmt::Result {
        let text = escape(text);
        writeln!(self.text, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>")
    }
}

/// A number on a scale of such steps.
fn plain(value: f64, step: f64) -> String {
    // Adding up steps leaves something very small where there should be 0.
    let value = if value.abs() < step / 1e6 { 0.0 } else { value };
    match step {
        1.0.. if value >= 0.0 => text::number(value.round(), ""),
        1.0.. => format!("{value:.0}"),
        0.1.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn whole(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "a few lines")]
fn whole_of(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
