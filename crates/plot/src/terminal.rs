//! A figure in characters, for a terminal.

use crate::{Figure, scale::Scale};

/// What stands for a point of each series: told apart without colour.
const SIGNS: [char; 6] = ['●', '×', '+', '○', '□', '▲'];

/// Columns for the numbers at the left.
const NUMBERS: usize = 9;

impl Figure {
    /// The figure in `columns` by `lines` characters (at least 24 by 4), and below it the axis and
    /// the legend. Where two series meet, the later one is in front.
    #[must_use]
    pub fn text(&self, columns: usize, lines: usize) -> String {
        let (width, height) = (columns.max(24) - NUMBERS - 1, lines.max(4));
        let points = || self.shown().flat_map(|series| &series.points);
        let scale = |is_logarithmic, values: &mut dyn Iterator<Item = f64>| {
            if is_logarithmic { Scale::logarithmic(values) } else { Scale::of(values) }
        };
        let x = scale(self.x.is_logarithmic, &mut points().map(|point| point.x));
        let y = scale(self.y.is_logarithmic, &mut points().map(|point| point.y));
        let mut cells = vec![vec![' '; width]; height];
        for (nth, series) in self.shown().enumerate() {
            for point in &series.points {
                if let (Some(across), Some(up)) =
                    (cell(x.at(point.x), width), cell(y.at(point.y), height))
                {
                    cells[height - 1 - up][across] = SIGNS[nth % SIGNS.len()];
                }
            }
        }
        let mut marks = vec![String::new(); height];
        for mark in y.marks() {
            if let Some(up) = cell(y.at(mark), height) {
                marks[height - 1 - up] = y.label(mark);
            }
        }
        let mut text = format!("{}: {}\n", self.title, self.y.label());
        for (mark, row) in marks.iter().zip(&cells) {
            let row: String = row.iter().collect();
            text.push_str(format!("{mark:>NUMBERS$}│{row}").trim_end());
            text.push('\n');
        }
        text.push_str(&format!("{:>NUMBERS$}└{}\n", "", "─".repeat(width)));
        let (low, high) = (x.label(x.low), x.label(x.high));
        let between = width.saturating_sub(low.len() + high.len());
        let name: String = self.x.label().chars().take(between.saturating_sub(2)).collect();
        text.push_str(&format!("{:>NUMBERS$} {low}{name:^between$}{high}\n", ""));
        let keys: Vec<String> = (self.shown().enumerate())
            .map(|(nth, series)| format!("{} {}", SIGNS[nth % SIGNS.len()], series.name))
            .collect();
        text.push_str(&format!("{:>NUMBERS$} {}\n", "", keys.join("   ")));
        text
    }
}

/// Which of `count` cells a place from 0 to 1 falls in.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few hundred cells"
)]
fn cell(place: Option<f64>, count: usize) -> Option<usize> {
    let place = place.filter(|place| (-1e-9..=1.0 + 1e-9).contains(place))?;
    Some(((place.max(0.0) * count as f64) as usize).min(count - 1))
}

#[cfg(test)]
mod tests;
