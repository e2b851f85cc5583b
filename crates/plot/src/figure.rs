//! One figure: series over an axis.

mod draw;
mod thin;

/// What an axis shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// In words.
    pub name: String,
    /// `µs`, for one; empty where the numbers count something.
    pub unit: String,
    /// Whether equal distances are equal factors. What is not above 0 is then not drawn.
    pub is_logarithmic: bool,
}

impl Axis {
    /// A linear one that counts; it always has 0 on it.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with a unit.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// The same in powers of ten.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.is_logarithmic = true;
        self
    }

    /// Name and unit.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.name.as_str(), self.unit.as_str()) {
            (name, "") => name.to_owned(),
            ("", unit) => unit.to_owned(),
            (name, unit) => format!("{name}, {unit}"),
        }
    }
}

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// By straight lines; without dots.
    #[default]
    Joined,
    /// By straight lines; each point is a dot, with a bar from its lower to its upper end.
    Dotted,
    /// Each value holds until the next one.
    Steps,
    /// Not at all.
    Scattered,
}

/// A value and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where on the axis across.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The least that it may be.
    pub lower: f64,
    /// The most.
    pub upper: f64,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, lower: y, upper: y }
    }
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// How they are joined.
    pub line: Line,
    /// The points, in the order of x; what is not finite is left out.
    pub points: Vec<Point>,
}

impl Series {
    /// A series of points.
    pub fn new<P: Into<Point>>(
        name: impl Into<String>,
        line: Line,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        Self { name: name.into(), line, points: points.into_iter().map(Into::into).collect() }
    }
}

/// Series over one axis, with a title, a legend, and notes at places of the axis across.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The axis across.
    pub x: Axis,
    /// The axis upward.
    pub y: Axis,
    /// What is drawn, in the order of the legend. A series without points has no place in it.
    pub series: Vec<Series>,
    /// Places on the axis across, and what is there.
    pub notes: Vec<(f64, String)>,
}

impl Figure {
    /// One without series.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new(), notes: Vec::new() }
    }

    /// Whether there is nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shown().next().is_none()
    }

    /// The series that have points.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| !series.points.is_empty())
    }
}

#[cfg(test)]
mod tests;
