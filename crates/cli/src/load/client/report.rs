//! A page about a run: what was asked for and reached, and when it took how long.

use portolan_load::{Interval, Latency, Measured, Summary, Times};
use portolan_plot::{Axis, Figure, Line, Page, Part, Series, Table, numbers::grouped};

use super::words::{self, time};

/// The whole page.
pub(super) fn page(summary: &Summary, measured: &Measured, intervals: &[Interval]) -> Page {
    let mut parts = vec![Part::Text(words::headlines(summary)), totals(summary).into()];
    if summary.total.errors() > 0 {
        parts.push(errors(summary).into());
    }
    parts.push(rates(intervals).into());
    parts.push(request_times(intervals).into());
    parts.push(quantiles(measured).into());
    // One point is no picture: persistent connections are established all at once.
    if intervals.iter().filter(|interval| interval.connect_ns.count > 0).count() > 1 {
        parts.push(connect_times(intervals).into());
    }
    parts.push(processors(intervals).into());
    parts.push(series(intervals).into());
    Page { title: format!("Load: {}", name(summary)), parts }
}

fn name(summary: &Summary) -> String {
    let first = summary.targets.first();
    let first = first.map_or(String::new(), |target| {
        target.url.clone().unwrap_or_else(|| target.address.to_string())
    });
    let more = summary.targets.len().saturating_sub(1);
    let mode = serde_json::to_value(summary.mode).unwrap_or_default();
    let mode = mode.as_str().unwrap_or_default().to_owned();
    if more == 0 { format!("{mode} {first}") } else { format!("{mode} {first} and {more} more") }
}

fn seconds() -> Axis {
    Axis::new("since the begin").unit("s")
}

/// A series of one value of each interval, at its middle.
fn over_time(
    name: &str,
    intervals: &[Interval],
    value: impl Fn(&Interval) -> Option<f64>,
) -> Series {
    let points = intervals.iter().filter_map(|interval| {
        Some((interval.begin_seconds + interval.seconds / 2.0, value(interval)?))
    });
    Series::new(name, Line::Joined, points)
}

#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn rates(intervals: &[Interval]) -> Figure {
    let mut figure = Figure::new("Rate", seconds(), Axis::new("per second"));
    let per_second = |count: u64, interval: &Interval| {
        (interval.seconds > 0.0).then(|| count as f64 / interval.seconds)
    };
    figure.series = vec![
        over_time("asked", intervals, |it| it.asked_per_second),
        over_time("completed", intervals, |it| per_second(it.completed, it)),
        over_time("errors", intervals, |it| {
            let errors = it.total.errors();
            if errors == 0 { None } else { per_second(errors, it) }
        }),
    ];
    if let Some(first) = intervals.iter().find(|interval| !interval.is_warm_up)
        && first.begin_seconds > 0.0
    {
        figure.notes.push((first.begin_seconds, "warm-up is over".to_owned()));
    }
    figure
}

fn request_times(intervals: &[Interval]) -> Figure {
    let title = "Request time, from when it was meant to begin";
    of_latency(title, intervals, |interval| &interval.request_ns)
}

fn connect_times(intervals: &[Interval]) -> Figure {
    of_latency("Time to connect", intervals, |interval| &interval.connect_ns)
}

/// Its name, and how it is read.
type Quantile = (&'static str, fn(&Latency) -> u64);

#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn of_latency(
    title: &str,
    intervals: &[Interval],
    latency: impl Fn(&Interval) -> &Latency,
) -> Figure {
    let axis = Axis::new("time").unit("µs").logarithmic();
    let mut figure = Figure::new(title, seconds(), axis);
    let quantiles: [Quantile; 5] = [
        ("max", |it| it.max),
        ("p99.9", |it| it.p999),
        ("p99", |it| it.p99),
        ("p90", |it| it.p90),
        ("p50", |it| it.p50),
    ];
    for (name, of) in quantiles {
        figure.series.push(over_time(name, intervals, |interval| {
            let latency = latency(interval);
            (latency.count > 0).then(|| of(latency) as f64 / 1e3)
        }));
    }
    figure
}

/// Every quantile that the number of values can tell, at a scale that shows the rare ones.
fn quantiles(measured: &Measured) -> Figure {
    let across = Axis::new("one of so many took longer").logarithmic();
    let up = Axis::new("time").unit("µs").logarithmic();
    let mut figure = Figure::new("Times of the whole run", across, up);
    for (name, times) in measured.by_name() {
        if name == "lateness" && times.quantile(1.0) == 0 {
            continue;
        }
        figure.series.push(Series::new(name.replace('_', " "), Line::Steps, tail(times)));
    }
    figure
}

/// Nothing is shown as shorter: a logarithm of next to nothing takes all of the room.
const LEAST_NS: u64 = 100;

#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn tail(times: &Times) -> Vec<(f64, f64)> {
    let count = times.count() as f64;
    let mut points = Vec::new();
    let mut one_of = 1.0;
    while one_of < count {
        let ns = times.quantile(1.0 - 1.0 / one_of);
        points.push((one_of, ns.max(LEAST_NS) as f64 / 1e3));
        one_of *= 1.1;
    }
    if count > 0.0 {
        points.push((count, times.quantile(1.0).max(LEAST_NS) as f64 / 1e3));
    }
    points
}

#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn processors(intervals: &[Interval]) -> Figure {
    let mut figure = Figure::new("The client's own effort", seconds(), Axis::new("processors"));
    let cores = |us: u64, interval: &Interval| {
        (interval.seconds > 0.0).then(|| us as f64 / 1e6 / interval.seconds)
    };
    figure.series = vec![
        over_time("in use", intervals, |it| cores(it.cpu_us, it)),
        over_time("wanted but not had", intervals, |it| cores(it.cpu_wait_us, it)),
    ];
    figure
}

fn totals(summary: &Summary) -> Table {
    let headings = ["time", "count", "min", "mean", "p50", "p90", "p99", "p99.9", "max"];
    let mut table = Table::new("Times", &headings);
    for (name, latency) in [
        ("connect", &summary.connect_ns),
        ("first byte", &summary.first_byte_ns),
        ("service", &summary.service_ns),
        ("request", &summary.request_ns),
        ("lateness", &summary.lateness_ns),
    ] {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people")]
        let mean = latency.mean as u64;
        let Latency { count, min, p50, p90, p99, p999, max, .. } = *latency;
        let times = [min, mean, p50, p90, p99, p999, max].map(time);
        table.row([name.to_owned(), grouped(count)].into_iter().chain(times));
    }
    table
}

fn errors(summary: &Summary) -> Table {
    let mut table = Table::new("Errors", &["kind", "while connecting", "of requests"]);
    let (connect, request) = (summary.total.connect_errors, summary.total.request_errors);
    for ((kind, connect), (_, request)) in connect.by_kind().into_iter().zip(request.by_kind()) {
        if connect + request > 0 {
            table.row([kind.replace('_', " "), grouped(connect), grouped(request)]);
        }
    }
    if summary.total.lost_idle > 0 {
        let lost = grouped(summary.total.lost_idle);
        table.row(["connections lost without a request".to_owned(), lost, String::new()]);
    }
    table
}

/// So many intervals have a row each.
const ROWS_MAX: usize = 600;

fn series(intervals: &[Interval]) -> Table {
    let headings =
        ["from (s)", "completed/s", "open", "errors", "p50", "p99", "p99.9", "max", "CPU (ms)"];
    let mut table = Table::new("Intervals", &headings);
    for interval in intervals.iter().take(ROWS_MAX) {
        let latency = &interval.request_ns;
        table.row([
            format!("{:.1}", interval.begin_seconds),
            format!("{:.0}", interval.completed_per_second),
            grouped(interval.open),
            grouped(interval.total.errors()),
            time(latency.p50),
            time(latency.p99),
            time(latency.p999),
            time(latency.max),
            format!("{}", interval.cpu_us / 1_000),
        ]);
    }
    table
}

#[cfg(test)]
mod tests;
