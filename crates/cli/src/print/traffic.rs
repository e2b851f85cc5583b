//! What went over an edge, in few words. The sums are those of `Edge::traffic`.

use portolan_flow::Traffic;

use super::amount::{short, size, time};

/// `120/s new`, `1.2 MB/s`, `rtt 0.4 ms`, and what went wrong.
pub fn parts(sum: &Traffic) -> Vec<String> {
    let mut parts = Vec::new();
    if sum.opened() > 0 {
        parts.push(format!("{}/s new", short(sum.per_second(sum.opened()))));
    }
    if bytes(sum) > 0 {
        parts.push(format!("{}/s", size(sum.per_second(bytes(sum)))));
    }
    parts.extend(sum.rtt_us().map(|us| format!("rtt {}", time(us))));
    parts.extend(troubles(sum));
    parts
}

/// New connections per second, bytes per second, and the round-trip time, for a table.
pub fn cells(sum: &Traffic) -> [String; 3] {
    let opened = short(sum.per_second(sum.opened()));
    let bytes = size(sum.per_second(bytes(sum)));
    [opened, bytes, sum.rtt_us().map(time).unwrap_or_default()]
}

/// `3 retransmits`, `5 refused`: how often in the span that was counted.
pub fn troubles(sum: &Traffic) -> Vec<String> {
    let retransmits = if sum.retransmits() == 1 { "retransmit" } else { "retransmits" };
    let mut parts = counts(&[(sum.retransmits(), retransmits)]);
    parts.extend(failures(sum));
    parts
}

/// How handshakes failed, in words: `5 refused`, `1 timed out`.
pub fn failures(sum: &Traffic) -> Vec<String> {
    let end = &sum.active;
    counts(&[
        (end.refused, "refused"),
        (end.timed_out, "timed out"),
        (end.unreachable, "unreachable"),
        (end.abandoned, "abandoned"),
    ])
}

fn counts(counts: &[(u64, &str)]) -> Vec<String> {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect()
}

/// Payload in both directions.
fn bytes(sum: &Traffic) -> u64 {
    sum.bytes_to_server().saturating_add(sum.bytes_to_client())
}

#[cfg(test)]
mod tests;
