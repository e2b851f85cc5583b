//! What the client did, for people: first what was reached and what failed, then pictures, then
//! numbers.

use std::time::Duration;

use portolan_load::{Errors, Latency, Limit, Measured, Mode, Summary, Target, TargetCounts, Times};
use portolan_plot::numbers::grouped;

/// So many targets are shown one by one.
const SHOWN_MAX: usize = 20;

/// Columns of the longest bar.
const BAR: u64 = 40;

/// The whole text.
pub(super) fn client(summary: &Summary, measured: &Measured) -> String {
    let mut out = String::new();
    headline(&mut out, summary);
    limits(&mut out, summary);
    counts(&mut out, &summary.total);
    line(&mut out, &effort(summary));
    let picture = match summary.mode {
        Mode::Connect if summary.request_ns.count == 0 => ("connect", &measured.connect),
        Mode::Hold => ("connect", &measured.connect),
        _ => ("request", &measured.request),
    };
    distribution(&mut out, picture.0, picture.1);
    table(&mut out, summary);
    bad_targets(&mut out, summary);
    out.trim_end().to_owned()
}

/// What was reached, and what kept it from more.
pub(super) fn headlines(summary: &Summary) -> String {
    let mut out = String::new();
    headline(&mut out, summary);
    limits(&mut out, summary);
    out.trim_end().to_owned()
}

fn headline(out: &mut String, summary: &Summary) {
    let what = match summary.mode {
        Mode::Connect => "connections",
        Mode::Hold => "connections opened",
        Mode::Request | Mode::Http => "requests",
        Mode::Udp => "round trips",
    };
    let asked =
        summary.asked_per_second.map_or(String::new(), |rate| format!(" of {rate:.0} asked"));
    let warm_up = if summary.warm_up_seconds > 0.0 {
        format!(" (after {:.2} s of warm-up)", summary.warm_up_seconds)
    } else {
        String::new()
    };
    let text = format!(
        "{} {what} in {:.3} s: {:.0}/s{asked}{warm_up}{}{}",
        summary.completed,
        summary.seconds,
        summary.achieved_per_second,
        if summary.has_kept_up() { "" } else { ", NOT KEPT UP" },
        if summary.is_interrupted { ", interrupted" } else { "" },
    );
    line(out, &text);
    if summary.mode == Mode::Hold {
        let all = summary.planned.unwrap_or(summary.started);
        let is_all = summary.verified == all;
        let text = format!(
            "{} held at once, {} of {} proved at the end that they are alive{}",
            grouped(summary.held),
            grouped(summary.verified),
            grouped(all),
            if is_all { "" } else { ": NOT ALL" },
        );
        line(out, &text);
    }
}

/// What kept it from doing more, and what to do about it.
fn limits(out: &mut String, summary: &Summary) {
    let busy = summary.busiest_thread * 100.0;
    let delayed = summary.most_delayed_thread * 100.0;
    let text = match summary.limited_by {
        None => String::new(),
        Some(Limit::Client) => format!(
            "the client is the bottleneck: a thread of it was busy {busy:.0} % of the time; give \
             it more --threads, or cores"
        ),
        Some(Limit::Processors) => format!(
            "the processors are the bottleneck: a thread of the client waited {delayed:.0} % of \
             the time for one; run what is loaded on another host, or ask for less"
        ),
        Some(Limit::Connections) => format!(
            "{} starts had to wait for a free connection: the target is slower than what is asked \
             for, or there are too few --connections",
            grouped(summary.waited)
        ),
    };
    if !text.is_empty() {
        line(out, &text);
    }
    for advice in summary.source_ports.iter().flat_map(|ports| &ports.advice) {
        line(out, &advice.to_string());
    }
}

fn effort(summary: &Summary) -> String {
    let seconds = |us: u64| Duration::from_micros(us).as_secs_f64();
    let processes = if summary.processes > 1 {
        format!(", {} processes with {} threads each", summary.processes, summary.threads)
    } else {
        String::new()
    };
    let ports = summary.source_ports.as_ref().map_or(String::new(), |ports| {
        format!(
            "; source ports: {}, {} skipped",
            ports.strategy.name(),
            summary.source_ports_skipped
        )
    });
    format!(
        "CPU time {:.3} s, {:.3} s waiting for a processor; {} MiB{processes}{ports}\n",
        seconds(summary.cpu_us),
        seconds(summary.cpu_wait_us),
        summary.peak_kib.div_ceil(1_024),
    )
}

/// How often which times were: a bar for each step of 1, 2, 5, 10.
fn distribution(out: &mut String, name: &str, times: &Times) {
    let steps = steps(times);
    let most = steps.iter().map(|&(_, count)| count).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    line(out, &format!("{name} time, how often"));
    for (below, count) in steps {
        let bar = bar(count, most);
        #[allow(clippy::cast_precision_loss, reason = "for people")]
        let percent = count as f64 * 100.0 / times.count() as f64;
        line(out, &format!("  < {:>8} {bar:<40} {percent:>7.3} %", time(below)));
    }
    out.push('\n');
}

/// How many times are below each step, and not below the one before; from the first to the last
/// that has any.
fn steps(times: &Times) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    let mut below = 1_000;
    let mut turn = 0;
    for (value, count) in times.recorded() {
        while value >= below {
            if !all.is_empty() {
                all.push((below, 0));
            }
            below = if turn == 1 { below / 2 * 5 } else { below * 2 };
            turn = (turn + 1) % 3;
        }
        match all.last_mut() {
            Some((last, sum)) if *last == below => *sum += count,
            _ => all.push((below, count)),
        }
    }
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(all.len());
    for (below, count) in all {
        match merged.last_mut() {
            Some((last, sum)) if *last == below => *sum += count,
            _ => merged.push((below, count)),
        }
    }
    merged
}

/// A bar in eighths of a column; what is there at all is seen.
fn bar(count: u64, most: u64) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (count * BAR * 8).div_ceil(most.max(1));
    let whole = usize::try_from(eighths / 8).unwrap_or(0);
    let part = usize::try_from(eighths % 8).unwrap_or(0);
    let mut bar = "█".repeat(whole);
    if part > 0 {
        bar.push(EIGHTHS[part]);
    }
    bar
}

fn table(out: &mut String, summary: &Summary) {
    let text = format!(
        "{:10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "time", "min", "mean", "p50", "p90", "p99", "p99.9", "max"
    );
    line(out, &text);
    for (name, latency) in [
        ("connect", &summary.connect_ns),
        ("first byte", &summary.first_byte_ns),
        ("service", &summary.service_ns),
        ("request", &summary.request_ns),
        ("lateness", &summary.lateness_ns),
    ] {
        times(out, name, latency);
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people")]
fn times(out: &mut String, name: &str, latency: &Latency) {
    if latency.count == 0 {
        return;
    }
    let Latency { min, mean, p50, p90, p99, p999, max, .. } = *latency;
    let [min, mean, p50, p90, p99, p999, max] =
        [min, mean as u64, p50, p90, p99, p999, max].map(time);
    let text = format!(
        "{name:10} {min:>10} {mean:>10} {p50:>10} {p90:>10} {p99:>10} {p999:>10} {max:>10}"
    );
    line(out, &text);
}

fn counts(out: &mut String, counts: &TargetCounts) {
    let text = format!(
        "  connections: {} attempted, {} connected, {} closed, {} lost",
        counts.attempted, counts.connected, counts.closed, counts.lost
    );
    line(out, &text);
    let text = format!(
        "  requests: {}, responses: {}; bytes: {} sent, {} received",
        counts.requests, counts.responses, counts.bytes_sent, counts.bytes_received
    );
    line(out, &text);
    if counts.datagrams_sent + counts.datagrams_received > 0 {
        let text = format!(
            "  datagrams: {} sent, {} received, {} stale",
            counts.datagrams_sent, counts.datagrams_received, counts.datagrams_stale
        );
        line(out, &text);
    }
    errors(out, "connect errors", &counts.connect_errors);
    errors(out, "request errors", &counts.request_errors);
    if counts.lost_idle > 0 {
        line(out, &format!("  lost without a request: {}", counts.lost_idle));
    }
    let given_up = counts.connects_given_up + counts.requests_given_up;
    if given_up > 0 {
        line(out, &format!("  given up at the end: {given_up}"));
    }
}

fn errors(out: &mut String, what: &str, errors: &Errors) {
    let some: Vec<String> = (errors.by_kind().iter())
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.replace('_', " ")))
        .collect();
    if !some.is_empty() {
        line(out, &format!("  {what}: {}", some.join(", ")));
    }
}

fn bad_targets(out: &mut String, summary: &Summary) {
    if summary.targets.len() < 2 {
        return;
    }
    let has_errors = |target: &&Target| target.counts.errors() > 0;
    let bad: Vec<&Target> = summary.targets.iter().filter(has_errors).collect();
    if !bad.is_empty() {
        line(out, &format!("\ntargets with errors: {}", bad.len()));
    }
    for target in bad.iter().take(SHOWN_MAX) {
        let name = target.url.clone().unwrap_or_else(|| target.address.to_string());
        line(out, &name);
        counts(out, &target.counts);
    }
    if bad.len() > SHOWN_MAX {
        line(out, &format!("and {} more: --json has all", bad.len() - SHOWN_MAX));
    }
}

/// A length of time in the unit that fits.
#[allow(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        0.0..1e6 => format!("{:.1} us", ns / 1e3),
        1e6..1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

#[cfg(test)]
mod tests;
