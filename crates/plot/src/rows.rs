//! One value for each of several, as rows: a dot, and a bar for how sure it is.

use crate::{
    scale::Scale,
    sheet::{COLOURS, Sheet},
};

const LABEL_LEFT: f64 = 16.0;
const LEFT: f64 = 190.0;
const WIDTH: f64 = 430.0;
const HEAD_HEIGHT: f64 = 36.0;
const ROW_HEIGHT: f64 = 30.0;
const FOOT_HEIGHT: f64 = 40.0;
/// Half the height of the bars' ends.
const CAP: f64 = 4.0;

/// A name and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whose.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The least that it may be.
    pub lower: f64,
    /// The most.
    pub upper: f64,
    /// Which colour, counted from 0: as in other figures of the same.
    pub colour: usize,
}

/// Rows with a title, on one scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// What they show.
    pub title: String,
    /// From top to bottom.
    pub rows: Vec<Row>,
}

impl Rows {
    /// Draws them from `top` on, and says where they end.
    pub fn draw(&self, sheet: &mut Sheet, top: f64) -> f64 {
        sheet.label((LABEL_LEFT, top + 16.0), "size", &self.title);
        let top = top + HEAD_HEIGHT;
        let values = self.rows.iter().flat_map(|row| [row.value, row.lower, row.upper]);
        let scale = Scale::of(values);
        let across = |value: f64| LEFT + scale.at(value).unwrap_or(0.0) * WIDTH;
        #[expect(clippy::cast_precision_loss, reason = "a few rows")]
        let bottom = top + self.rows.len() as f64 * ROW_HEIGHT;
        for mark in scale.marks() {
            sheet.stroke("grid", (across(mark), top), (across(mark), bottom));
            sheet.label((across(mark), bottom + 18.0), "faint middle", &scale.label(mark));
        }
        sheet.stroke("axis", (across(0.0), top), (across(0.0), bottom));
        let mut y = top + ROW_HEIGHT / 2.0;
        for row in &self.rows {
            let class = row.colour % COLOURS;
            let (dot, bar) = (format!("s{class}"), format!("bar s{class}"));
            sheet.label((LABEL_LEFT, y + 4.0), "", &row.name);
            sheet.stroke(&bar, (across(row.lower), y), (across(row.upper), y));
            for end in [row.lower, row.upper] {
                sheet.stroke(&bar, (across(end), y - CAP), (across(end), y + CAP));
            }
            sheet.dot(&dot, (across(row.value), y), 3.5);
            let numbers = format!("{:.2} [{:.2} to {:.2}]", row.value, row.lower, row.upper);
            sheet.label((LEFT + WIDTH + 16.0, y + 4.0), "", &numbers);
            y += ROW_HEIGHT;
        }
        bottom + FOOT_HEIGHT
    }
}

#[cfg(test)]
mod tests;
