//! What a scenario's reports show: times, or figures of its own.

/// What people see; records have everything.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum View {
    /// A bar for the wall time of each contestant, with what its process cost.
    #[default]
    Times,
    /// Figures, where the wall time of a run says nothing.
    Figures {
        /// The columns of the table; those that nobody has are left out.
        columns: &'static [Column],
        /// The plots; those that nobody has anything for are left out.
        plots: &'static [Plot],
    },
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// What is in it.
    pub value: Value,
    /// What stands above it.
    pub heading: &'static str,
    /// Whether least and most of a figure stand beside its median.
    pub has_ends: bool,
}

/// A number of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The figure of this name: the median.
    Figure(&'static str),
    /// The difference of this name from the baseline.
    Difference(&'static str),
}

/// A value over the sizes, a line for each contestant of a task; of one size, a row for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plot {
    /// What it shows, with its unit.
    pub title: &'static str,
    /// Of whom.
    pub task: &'static str,
    /// What.
    pub value: Value,
}
