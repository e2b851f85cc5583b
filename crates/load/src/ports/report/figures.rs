//! The curves.

use portolan_plot::{Axis, Figure, Line, Series};

use super::super::{Job, Outcome, Strategy};

/// The figures of one job, each with a name for its file: time in all, and time of each call.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "places in a picture")]
pub fn figures(outcome: &Outcome, job: Job) -> Vec<(String, Figure)> {
    let calls = match job {
        Job::Connect => "connections that are open",
        Job::Bind => "sockets that are bound",
    };
    let mut cumulative = Figure::new(
        format!("{job}: time in all"),
        Axis::new(calls),
        Axis::new("cumulative time").unit("s"),
    );
    let mut each = Figure::new(
        format!("{job}: time of each call"),
        Axis::new(calls),
        Axis::new("median time of a call").unit("µs").logarithmic(),
    );
    for one in outcome.measured.iter().filter(|one| one.job == job) {
        let (mut sum, mut sums, mut medians) = (0.0, vec![(0.0, 0.0)], Vec::new());
        for part in one.series.even_parts() {
            sum += part.total_ns as f64 / 1e9;
            sums.push(((part.from + part.count) as f64, sum));
            medians.push((part.from as f64, part.median_ns as f64 / 1e3));
        }
        let name = one.strategy.name();
        cumulative.series.push(Series::new(name, Line::Joined, sums));
        each.series.push(Series::new(name, Line::Steps, medians));
        if let Some(cliff) = one.series.cliff().filter(|_| one.strategy == Strategy::Kernel) {
            for figure in [&mut cumulative, &mut each] {
                figure.notes.push((cliff.after as f64, format!("cliff of {name}")));
            }
        }
    }
    [("cumulative", cumulative), ("per-call", each)]
        .into_iter()
        .filter(|(_, figure)| !figure.is_empty())
        .map(|(name, figure)| (format!("{job}-{name}"), figure))
        .collect()
}
