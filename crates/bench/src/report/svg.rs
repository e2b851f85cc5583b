//! The chart as a file: a bar per contestant, a panel per size and task.
//!
//! It has no background and takes its colours from the reader's preference, so that it can be
//! read in a light page and in a dark one.

use std::{fmt::Write as _, io};

use portolan_plot::Sheet;

use super::{Group, Summary, groups, plot, status, text};
use crate::{Results, View};

/// Measures in pixels.
const WIDTH: u64 = 900;
const MARGIN: u64 = 16;
const LABEL_WIDTH: u64 = 270;
const BAR_WIDTH_MAX: u64 = 310;
const LINE_WIDTH_MAX: u64 = 370;
const LANE_HEIGHT: u64 = 24;
const BAR_HEIGHT: u64 = 14;
const HEAD_HEIGHT: u64 = 70;
const PANEL_HEAD_HEIGHT: u64 = 40;

/// Besides the style of all figures.
const STYLE: &str = "\
.fault{fill:#b3261e}.number{font-variant-numeric:tabular-nums}\
.own{fill:#0b6e99}.peer{fill:#8c959f}.spread{stroke:#1b1f24;stroke-width:1.5}\
@media(prefers-color-scheme:dark){.fault{fill:#ff8a80}\
.own{fill:#4fb3d9}.peer{fill:#6e7681}.spread{stroke:#e6edf3}}";

/// Writes all sizes of `results`.
///
/// # Errors
/// The writer's.
pub fn write_svg(results: &Results, out: &mut dyn io::Write) -> io::Result<()> {
    if let View::Figures { plots, .. } = results.view {
        return plot::write(results, plots, out);
    }
    let mut chart = Chart { sheet: Sheet::default(), y: 0 };
    chart.draw(results);
    let size = (pixels(WIDTH), pixels(chart.y + MARGIN));
    let style = format!("{}{STYLE}", portolan_plot::STYLE);
    out.write_all(chart.sheet.svg(&title(results), size, Some(&style)).as_bytes())
}

pub(super) fn title(results: &Results) -> String {
    format!("{}: {}", results.scenario, results.about)
}

/// The elements so far, and how far down they reach.
struct Chart {
    sheet: Sheet,
    y: u64,
}

impl Chart {
    fn draw(&mut self, results: &Results) {
        self.label(MARGIN, 28, "title", &title(results));
        let how = format!("wall time, median of {} runs, line from least to most", results.rounds);
        self.label(MARGIN, 48, "faint", &how);
        self.y = HEAD_HEIGHT;
        for size in &results.sizes {
            let name = format!("{} {}", text::grouped(size.size), results.unit);
            if let Some(why) = &size.left_out {
                self.head(&name);
                self.label(MARGIN, self.y + BAR_HEIGHT - 2, "faint", &format!("left out: {why}"));
                self.y += LANE_HEIGHT;
                continue;
            }
            for group in groups(size, results.view) {
                self.panel(&name, &group);
            }
        }
        if let Some(size) = results.sizes.last() {
            self.y += LANE_HEIGHT;
            self.label(MARGIN, self.y, "faint", &size.host.describe());
        }
    }

    fn head(&mut self, text: &str) {
        self.label(MARGIN, self.y + 20, "size", text);
        self.y += PANEL_HEAD_HEIGHT;
    }

    /// Each panel has a scale of its own: from 0 to the slowest median. One disturbed run does not
    /// shrink the bars; its line is cut off and its time is written out.
    fn panel(&mut self, size: &str, group: &Group<'_>) {
        self.head(&format!("{size}: {}, factor vs {}", group.task, group.baseline));
        for (lane, summary) in &group.lanes {
            let base = self.y + BAR_HEIGHT - 2;
            self.label(MARGIN, base, "name", &lane.contestant);
            match summary {
                Some(summary) => self.bar(summary, group.longest_us, lane.is_own),
                None => {
                    let (status, why) = status(&lane.outcome);
                    let class = if status == "absent" { "faint" } else { "fault" };
                    let text = format!("{status}: {}", why.unwrap_or_default());
                    self.label(MARGIN + LABEL_WIDTH, base, class, &text);
                }
            }
            self.y += LANE_HEIGHT;
        }
    }

    fn bar(&mut self, summary: &Summary, longest: u64, is_own: bool) {
        let wall = summary.wall_us;
        let length = |micros: u64| {
            (micros.saturating_mul(BAR_WIDTH_MAX) / longest.max(1)).min(LINE_WIDTH_MAX)
        };
        let (left, top) = (MARGIN + LABEL_WIDTH, self.y);
        let class = if is_own { "own" } else { "peer" };
        let width = length(wall.median).max(1);
        let middle = top + BAR_HEIGHT / 2;
        self.sheet.rectangle(class, (pixels(left), pixels(top)), pixels(width), pixels(BAR_HEIGHT));
        let end = |micros| (pixels(left + length(micros)), pixels(middle));
        self.sheet.stroke("spread", end(wall.min), end(wall.max));
        let mut numbers = text::time(wall.median);
        if let Some(ratio) = summary.ratio {
            let _ = write!(numbers, ", {}", text::factor(ratio));
        }
        if length(wall.max) == LINE_WIDTH_MAX {
            let _ = write!(numbers, ", up to {}", text::time(wall.max));
        }
        let right = left + length(wall.max).max(width) + 8;
        self.label(right, top + BAR_HEIGHT - 2, "number", &numbers);
    }

    fn label(&mut self, x: u64, y: u64, class: &str, text: &str) {
        self.sheet.label((pixels(x), pixels(y)), class, text);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn pixels(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
