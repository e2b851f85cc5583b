//! One JSON object per line.

use std::{borrow::Cow, net::IpAddr, time::Duration};

use portolan_probe::Evidence;
use serde::Serialize;

use super::{Found, Summary};

/// The version of both records.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct FindingRecord<'a> {
    version: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    address: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<u32>,
    port: u16,
    name: Option<&'a str>,
    service: Option<&'static str>,
    state: &'static str,
    reason: &'static str,
    detail: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errno: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp: Option<Icmp>,
    method: &'static str,
    attempts: u8,
    time_us: u64,
    at_ms: u64,
}

#[derive(Serialize)]
struct Icmp {
    #[serde(rename = "type")]
    kind: u8,
    code: u8,
}

#[derive(Serialize)]
struct SummaryRecord {
    version: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    checks: u64,
    open: u64,
    closed: u64,
    filtered: u64,
    unreachable: u64,
    error: u64,
    asked: u64,
    answered: u64,
    duplicates: u64,
    loss: f64,
    forged: u64,
    overflowed: u64,
    seconds: f64,
    ended_ms: u64,
    complete: bool,
}

/// Appends the record of a finding.
pub fn finding(found: &Found<'_>, out: &mut Vec<u8>) {
    let finding = &found.finding;
    let record = FindingRecord {
        version: VERSION,
        kind: "finding",
        address: finding.target.ip(),
        zone: Some(found.zone()).filter(|&zone| zone != 0),
        port: finding.target.port(),
        name: found.name,
        service: found.service(),
        state: finding.verdict.name(),
        reason: finding.evidence.name(),
        detail: found.detail(),
        errno: match finding.evidence {
            Evidence::Refusal(errno) => Some(errno),
            _ => None,
        },
        icmp: match finding.evidence {
            Evidence::Icmp { kind, code } => Some(Icmp { kind, code }),
            _ => None,
        },
        method: finding.method.name(),
        attempts: finding.attempts,
        time_us: microseconds(finding.took),
        at_ms: found.at_ms,
    };
    line(&record, out);
}

/// Appends the record of what came of it all.
pub fn summary(summary: &Summary, out: &mut Vec<u8>) {
    let (verdicts, counts) = (&summary.verdicts, &summary.counts);
    let record = SummaryRecord {
        version: VERSION,
        kind: "summary",
        checks: verdicts.total(),
        open: verdicts.open,
        closed: verdicts.closed,
        filtered: verdicts.filtered,
        unreachable: verdicts.unreachable,
        error: verdicts.error,
        asked: counts.asked,
        answered: counts.answered,
        duplicates: counts.duplicates,
        // More digits would only say how it was computed.
        loss: (counts.loss() * 1e6).round() / 1e6,
        forged: summary.noise.forged,
        overflowed: summary.noise.overflowed,
        seconds: (summary.took.as_secs_f64() * 1e6).round() / 1e6,
        ended_ms: summary.ended_ms,
        complete: summary.is_complete,
    };
    line(&record, out);
}

fn line(record: &impl Serialize, out: &mut Vec<u8>) {
    // Neither a record nor a vector can refuse.
    let _ = serde_json::to_writer(&mut *out, record);
    out.push(b'\n');
}

fn microseconds(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
