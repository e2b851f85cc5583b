//! Summaries for people.

use std::fmt::Write;

use portolan_load::{
    Errors, Latency, Mode, Port, PortCounts, ServerSummary, Summary, Target, TargetCounts,
};

/// So many targets or ports are shown one by one.
const SHOWN_MAX: usize = 20;

/// What the client did.
pub fn client(summary: &Summary) -> String {
    let mut out = String::new();
    let what = match summary.mode {
        Mode::Connect => "connections",
        Mode::Request => "requests",
        Mode::Udp => "round trips",
    };
    let asked = summary.asked_per_second.map_or(String::new(), |rate| format!(" of {rate} asked"));
    line(
        &mut out,
        format_args!(
            "{} {what} in {:.3} s: {:.0}/s{asked}{}{}",
            summary.completed,
            summary.seconds,
            summary.achieved_per_second,
            if summary.has_kept_up() { "" } else { ", NOT KEPT UP" },
            if summary.is_interrupted { ", interrupted" } else { "" },
        ),
    );
    counts(&mut out, &summary.total);
    line(
        &mut out,
        format_args!(
            "CPU time {:.3} s; {} source ports skipped\n",
            duration_s(summary.cpu_us),
            summary.source_ports_skipped
        ),
    );
    line(
        &mut out,
        format_args!(
            "{:10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "time", "min", "p50", "p90", "p99", "p99.9", "max"
        ),
    );
    for (name, latency) in [
        ("connect", &summary.connect_ns),
        ("service", &summary.service_ns),
        ("request", &summary.request_ns),
        ("lateness", &summary.lateness_ns),
    ] {
        times(&mut out, name, latency);
    }
    if summary.targets.len() > 1 {
        let bad: Vec<&Target> =
            summary.targets.iter().filter(|target| target.counts.errors() > 0).collect();
        if !bad.is_empty() {
            line(&mut out, format_args!("\n{} targets with errors:", bad.len()));
        }
        for target in bad.iter().take(SHOWN_MAX) {
            line(&mut out, format_args!("{}", target.address));
            counts(&mut out, &target.counts);
        }
        more(&mut out, bad.len());
    }
    out.trim_end().to_owned()
}

/// What the server did.
pub fn server(summary: &ServerSummary) -> String {
    let mut out = String::new();
    line(
        &mut out,
        format_args!(
            "{} ports for {:.3} s; CPU time {:.3} s",
            summary.ports.len(),
            summary.seconds,
            duration_s(summary.cpu_us)
        ),
    );
    port(&mut out, "all", &summary.total);
    if summary.ports.len() > 1 {
        let used: Vec<&Port> =
            summary.ports.iter().filter(|one| one.counts != PortCounts::default()).collect();
        for one in used.iter().take(SHOWN_MAX) {
            port(&mut out, &one.address.to_string(), &one.counts);
        }
        more(&mut out, used.len());
    }
    out.trim_end().to_owned()
}

fn counts(out: &mut String, counts: &TargetCounts) {
    line(
        out,
        format_args!(
            "  connections: {} attempted, {} connected, {} closed, {} lost",
            counts.attempted, counts.connected, counts.closed, counts.lost
        ),
    );
    line(
        out,
        format_args!(
            "  requests: {}, responses: {}; bytes: {} sent, {} received",
            counts.requests, counts.responses, counts.bytes_sent, counts.bytes_received
        ),
    );
    if counts.datagrams_sent + counts.datagrams_received > 0 {
        line(
            out,
            format_args!(
                "  datagrams: {} sent, {} received, {} stale",
                counts.datagrams_sent, counts.datagrams_received, counts.datagrams_stale
            ),
        );
    }
    errors(out, "connect errors", &counts.connect_errors);
    errors(out, "request errors", &counts.request_errors);
    let given_up = counts.connects_given_up + counts.requests_given_up;
    if given_up > 0 {
        line(out, format_args!("  given up at the end: {given_up}"));
    }
}

fn errors(out: &mut String, what: &str, errors: &Errors) {
    let some: Vec<String> = (errors.by_kind().iter())
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.replace('_', " ")))
        .collect();
    if !some.is_empty() {
        line(out, format_args!("  {what}: {}", some.join(", ")));
    }
}

fn port(out: &mut String, name: &str, counts: &PortCounts) {
    line(
        out,
        format_args!(
            "{name}: {} accepted, {} closed ({} reset, {} turned away), {} open; {} requests; \
         {} bytes in, {} out; {} datagrams in, {} out; {} errors",
            counts.accepted,
            counts.closed,
            counts.reset,
            counts.turned_away,
            counts.open(),
            counts.requests,
            counts.bytes_received,
            counts.bytes_sent,
            counts.datagrams_received,
            counts.datagrams_sent,
            counts.errors
        ),
    );
}

fn times(out: &mut String, name: &str, latency: &Latency) {
    if latency.count == 0 {
        return;
    }
    let Latency { min, p50, p90, p99, p999, max, .. } = *latency;
    let [min, p50, p90, p99, p999, max] = [min, p50, p90, p99, p999, max].map(time);
    line(
        out,
        format_args!("{name:10} {min:>10} {p50:>10} {p90:>10} {p99:>10} {p999:>10} {max:>10}"),
    );
}

/// A length of time in the unit that fits.
#[allow(clippy::cast_precision_loss, reason = "for people")]
fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        0.0..1e6 => format!("{:.1} us", ns / 1e3),
        1e6..1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn duration_s(us: u64) -> f64 {
    us as f64 / 1e6
}

fn more(out: &mut String, count: usize) {
    if count > SHOWN_MAX {
        line(out, format_args!("and {} more: --json has all", count - SHOWN_MAX));
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
mod tests;
