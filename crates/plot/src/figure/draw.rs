//! A figure as SVG.

use super::{Axis, Figure, Line, Point, Series, thin::thin};
use crate::{
    scale::Scale,
    sheet::{COLOURS, STYLE, Sheet},
};

/// Pixels.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const PLOT_WIDTH: f64 = 560.0;
const PLOT_HEIGHT: f64 = 240.0;
const HEAD_HEIGHT: f64 = 36.0;
/// Below the plot: marks, the axis' name, air.
const FOOT_HEIGHT: f64 = 64.0;
const KEY_HEIGHT: f64 = 20.0;

impl Figure {
    /// The whole picture, in a file of its own.
    #[must_use]
    pub fn svg(&self) -> String {
        self.picture(Some(STYLE))
    }

    pub(crate) fn picture(&self, style: Option<&str>) -> String {
        let mut sheet = Sheet::default();
        let height = self.draw(&mut sheet, 0.0);
        sheet.svg(&self.title, (WIDTH, height), style)
    }

    /// Draws it from `top` on, and says where it ends.
    pub fn draw(&self, sheet: &mut Sheet, top: f64) -> f64 {
        sheet.label((16.0, top + 16.0), "size", &self.title);
        let top = top + HEAD_HEIGHT;
        let points = || self.shown().flat_map(|series| &series.points);
        let x = scale(&self.x, points().map(|point| point.x));
        let y = scale(&self.y, points().flat_map(|point| [point.y, point.lower, point.upper]));
        let plot = Plot { x, y, top };
        plot.axes(sheet, self);
        for (at, note) in &self.notes {
            if let Some(across) = plot.across(*at) {
                sheet.stroke("note", (across, top), (across, top + PLOT_HEIGHT));
                sheet.label((across + 4.0, top + 12.0), "faint", note);
            }
        }
        let mut keys = top;
        for (nth, series) in self.shown().enumerate() {
            let (class, again) = (nth % COLOURS, nth >= COLOURS);
            let colour = format!("s{class}{}", if again { " again" } else { "" });
            plot.series(sheet, series, &colour);
            let left = LEFT + PLOT_WIDTH + 24.0;
            sheet.dot(&colour, (left, keys + 6.0), 3.5);
            sheet.label((left + 12.0, keys + 10.0), "", &series.name);
            keys += KEY_HEIGHT;
        }
        (top + PLOT_HEIGHT + FOOT_HEIGHT).max(keys + KEY_HEIGHT)
    }
}

fn scale(axis: &Axis, values: impl Iterator<Item = f64>) -> Scale {
    if axis.is_logarithmic { Scale::logarithmic(values) } else { Scale::of(values) }
}

/// Where the numbers are in the picture.
struct Plot {
    x: Scale,
    y: Scale,
    top: f64,
}

impl Plot {
    fn across(&self, value: f64) -> Option<f64> {
        self.x.at(value).map(|place| LEFT + place * PLOT_WIDTH)
    }

    fn down(&self, value: f64) -> Option<f64> {
        self.y.at(value).map(|place| self.top + (1.0 - place) * PLOT_HEIGHT)
    }

    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.across(x)?, self.down(y)?))
    }

    fn axes(&self, sheet: &mut Sheet, figure: &Figure) {
        let (top, bottom) = (self.top, self.top + PLOT_HEIGHT);
        for mark in self.y.marks() {
            let Some(at) = self.down(mark) else { continue };
            sheet.stroke("grid", (LEFT, at), (LEFT + PLOT_WIDTH, at));
            sheet.label((LEFT - 8.0, at + 4.0), "faint right", &self.y.label(mark));
        }
        sheet.stroke("axis", (LEFT, top), (LEFT, bottom));
        for mark in self.x.marks() {
            let Some(at) = self.across(mark) else { continue };
            sheet.stroke("axis", (at, bottom), (at, bottom + 4.0));
            sheet.label((at, bottom + 20.0), "faint middle", &self.x.label(mark));
        }
        let middle = LEFT + PLOT_WIDTH / 2.0;
        sheet.label((middle, bottom + 40.0), "faint middle", &figure.x.label());
        let name = figure.y.label();
        if !name.is_empty() {
            sheet.label((LEFT, top - 8.0), "faint", &name);
        }
    }

    fn series(&self, sheet: &mut Sheet, series: &Series, colour: &str) {
        let places: Vec<(Point, (f64, f64))> = thin(&series.points, PLOT_WIDTH)
            .into_iter()
            .filter_map(|point| Some((point, self.place(point.x, point.y)?)))
            .collect();
        let class = format!("line {colour}");
        match series.line {
            Line::Joined | Line::Dotted => sheet.path(&class, places.iter().map(|(_, at)| *at)),
            Line::Steps => sheet.path(&class, steps(places.iter().map(|(_, at)| *at))),
            Line::Scattered => {}
        }
        if !matches!(series.line, Line::Dotted | Line::Scattered) {
            return;
        }
        for (point, at) in &places {
            if point.lower < point.upper
                && let (Some(lower), Some(upper)) = (self.down(point.lower), self.down(point.upper))
            {
                sheet.stroke(&format!("bar {colour}"), (at.0, lower), (at.0, upper));
            }
            let radius = if series.line == Line::Dotted { 3.5 } else { 1.5 };
            sheet.dot(colour, *at, radius);
        }
    }
}

/// Corners between the points: each height holds until the next point.
fn steps(points: impl Iterator<Item = (f64, f64)>) -> impl Iterator<Item = (f64, f64)> {
    let mut height = None;
    points.flat_map(move |(x, y)| {
        let corner = height.replace(y).map(|before| (x, before));
        corner.into_iter().chain([(x, y)])
    })
}
