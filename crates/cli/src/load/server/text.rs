//! What the server did, for people.

use std::fmt::Write;

use portolan_load::{Port, PortCounts, ServerInterval, ServerSummary};

/// So many ports are shown one by one.
const SHOWN_MAX: usize = 20;

/// From this part of an interval on a thread has no time left.
const BUSY: f64 = 0.95;

/// A line about an interval.
pub fn interval(interval: &ServerInterval) -> String {
    let ServerInterval { seconds, total, .. } = interval;
    let rate = |count: u64| per_second(count, *seconds);
    let busiest = part(interval.busiest_cpu_us, *seconds);
    let mut out = format!(
        "{:6.0} s  {} open  {}/s accepted  {}/s requests  {}/s in  {}/s out  CPU {:.0} %",
        interval.begin_seconds + seconds,
        interval.open,
        rate(total.accepted),
        rate(total.requests),
        size(rate(total.bytes_received)),
        size(rate(total.bytes_sent)),
        part(interval.cpu_us, *seconds) * 100.0,
    );
    if total.datagrams_received > 0 {
        add(&mut out, format_args!("  {}/s datagrams", rate(total.datagrams_received)));
    }
    for (kind, count) in faults(total) {
        add(&mut out, format_args!("  {count} {kind}"));
    }
    if busiest >= BUSY {
        out.push_str("  A THREAD HAS NO TIME LEFT");
    }
    out
}

/// What happened until the end.
pub fn summary(summary: &ServerSummary) -> String {
    let mut out = format!(
        "{} ports for {:.3} s; CPU time {:.3} s of {} threads\n",
        summary.ports.len(),
        summary.seconds,
        seconds(summary.cpu_us),
        summary.threads_cpu_us.len().max(1),
    );
    port(&mut out, "all", &summary.total);
    if summary.ports.len() > 1 {
        let used: Vec<&Port> =
            summary.ports.iter().filter(|one| one.counts != PortCounts::default()).collect();
        for one in used.iter().take(SHOWN_MAX) {
            port(&mut out, &one.address.to_string(), &one.counts);
        }
        if used.len() > SHOWN_MAX {
            add(&mut out, format_args!("and {} more: --json has all", used.len() - SHOWN_MAX));
        }
    }
    out.trim_end().to_owned()
}

fn port(out: &mut String, name: &str, counts: &PortCounts) {
    add(
        out,
        format_args!(
            "{name}: {} accepted, {} closed, {} open; {} requests; {} bytes in, {} out",
            counts.accepted,
            counts.closed,
            counts.open(),
            counts.requests,
            counts.bytes_received,
            counts.bytes_sent,
        ),
    );
    if counts.datagrams_received + counts.datagrams_sent > 0 {
        let (received, sent) = (counts.datagrams_received, counts.datagrams_sent);
        add(out, format_args!("; {received} datagrams in, {sent} out"));
    }
    for (kind, count) in faults(counts) {
        add(out, format_args!("; {count} {kind}"));
    }
    out.push('\n');
}

/// What went otherwise than both wanted, as far as it happened.
fn faults(counts: &PortCounts) -> impl Iterator<Item = (&'static str, u64)> {
    [
        ("reset", counts.reset),
        ("truncated", counts.truncated),
        ("timed out", counts.timed_out),
        ("turned away", counts.turned_away),
        ("not served", counts.not_served),
        ("malformed", counts.malformed),
        ("errors", counts.errors),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "for people"
)]
pub fn per_second(count: u64, seconds: f64) -> u64 {
    if seconds > 0.0 { (count as f64 / seconds).round() as u64 } else { 0 }
}

/// Bytes in the unit that fits.
#[allow(clippy::cast_precision_loss, reason = "for people")]
pub fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        0.0..1e3 => format!("{bytes} B"),
        1e3..1e6 => format!("{:.1} kB", bytes / 1e3),
        1e6..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.2} GB", bytes / 1e9),
    }
}

fn part(us: u64, of_seconds: f64) -> f64 {
    if of_seconds > 0.0 { seconds(us) / of_seconds } else { 0.0 }
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests;
