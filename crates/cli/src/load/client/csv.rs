//! Intervals as comma-separated values (RFC 4180): a column for each number of [`Interval`].

use std::fmt::Write;

use portolan_load::{Interval, Latency};

/// Names of columns, like those of JSON with the levels joined.
const COLUMNS: [&str; 26] = [
    "nth",
    "begin_seconds",
    "seconds",
    "is_warm_up",
    "asked_per_second",
    "started",
    "completed",
    "completed_per_second",
    "open",
    "cpu_us",
    "cpu_wait_us",
    "attempted",
    "connected",
    "closed",
    "lost",
    "lost_idle",
    "connects_given_up",
    "requests",
    "responses",
    "requests_given_up",
    "bytes_sent",
    "bytes_received",
    "datagrams_sent",
    "datagrams_received",
    "datagrams_stale",
    "errors",
];

const TIMES: [&str; 5] = ["connect_ns", "first_byte_ns", "request_ns", "service_ns", "lateness_ns"];

const QUANTILES: [&str; 8] = ["count", "min", "mean", "p50", "p90", "p99", "p999", "max"];

/// The first line.
pub(super) fn head() -> String {
    let times =
        TIMES.iter().flat_map(|time| QUANTILES.iter().map(move |of| format!("{time}_{of}")));
    let errors = portolan_load::Errors::default().by_kind().map(|(kind, _)| kind);
    let errors = ["connect_errors", "request_errors"]
        .into_iter()
        .flat_map(|of| errors.map(move |kind| format!("{of}_{kind}")));
    let all: Vec<String> =
        COLUMNS.into_iter().map(str::to_owned).chain(times).chain(errors).collect();
    all.join(",") + "\n"
}

/// A line.
pub(super) fn row(interval: &Interval) -> String {
    let mut out = String::new();
    let total = &interval.total;
    let asked = interval.asked_per_second.map(|asked| asked.to_string()).unwrap_or_default();
    let numbers = [
        interval.nth.to_string(),
        interval.begin_seconds.to_string(),
        interval.seconds.to_string(),
        interval.is_warm_up.to_string(),
        asked,
        interval.started.to_string(),
        interval.completed.to_string(),
        interval.completed_per_second.to_string(),
        interval.open.to_string(),
        interval.cpu_us.to_string(),
        interval.cpu_wait_us.to_string(),
    ];
    let counts = [
        total.attempted,
        total.connected,
        total.closed,
        total.lost,
        total.lost_idle,
        total.connects_given_up,
        total.requests,
        total.responses,
        total.requests_given_up,
        total.bytes_sent,
        total.bytes_received,
        total.datagrams_sent,
        total.datagrams_received,
        total.datagrams_stale,
        total.errors(),
    ];
    out.push_str(&numbers.join(","));
    for count in counts {
        let _ = write!(out, ",{count}");
    }
    let times = [
        &interval.connect_ns,
        &interval.first_byte_ns,
        &interval.request_ns,
        &interval.service_ns,
        &interval.lateness_ns,
    ];
    for Latency { count, min, mean, p50, p90, p99, p999, max } in times {
        let _ = write!(out, ",{count},{min},{mean},{p50},{p90},{p99},{p999},{max}");
    }
    for errors in [&total.connect_errors, &total.request_errors] {
        for (_, count) in errors.by_kind() {
            let _ = write!(out, ",{count}");
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests;
