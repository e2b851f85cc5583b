//! Findings as a table, line by line as they come, and what came of it all in a line or two.

use std::{io::Write as _, time::Duration};

use anstyle::{AnsiColor, Style};
use portolan_bench::report::grouped;
use portolan_hub::printable;
use portolan_probe::{Evidence, Noise, Verdict};
use unicode_width::UnicodeWidthStr;

use super::{Found, Summary};

/// An IPv4 address with its port: `255.255.255.255:65535`.
const TARGET_WIDTH_MIN: usize = 21;

/// Longer targets push what follows to the right, in their line only.
const TARGET_WIDTH_MAX: usize = 60;

/// By so much the column of targets gets wider at least.
const TARGET_WIDTH_STEP: usize = 8;

/// `unreachable`.
const STATE_WIDTH: usize = 11;

/// `no-answer`.
const REASON_WIDTH_MIN: usize = 9;

/// As for targets.
const REASON_WIDTH_MAX: usize = 40;

/// `0.21 ms`, `1,234 s`.
const TIME_WIDTH: usize = 7;

/// A table of which the lines are written as findings come: columns get as wide as what came yet.
#[derive(Debug)]
pub struct Table {
    has_colours: bool,
    has_heading: bool,
    target_width: usize,
    reason_width: usize,
    /// Reused for each cell.
    cell: Vec<u8>,
}

impl Table {
    /// An empty table.
    pub fn new(has_colours: bool) -> Self {
        Self {
            has_colours,
            has_heading: false,
            target_width: TARGET_WIDTH_MIN,
            reason_width: REASON_WIDTH_MIN,
            cell: Vec::new(),
        }
    }

    /// Appends the line of a finding, and the heading before the first one.
    pub fn finding(&mut self, found: &Found<'_>, out: &mut Vec<u8>) {
        let finding = &found.finding;
        let mut cell = std::mem::take(&mut self.cell);
        cell.clear();
        target(found, &mut cell);
        let target_width = width(&cell);
        if target_width > self.target_width {
            // In steps, lest a column that gets wider with every line looks like none.
            let width = target_width.next_multiple_of(TARGET_WIDTH_STEP);
            self.target_width = width.min(TARGET_WIDTH_MAX);
        }
        let target_bytes = cell.len();
        reason(found, &mut cell);
        let reason_width = width(&cell[target_bytes..]);
        self.reason_width = self.reason_width.max(reason_width.min(REASON_WIDTH_MAX));
        self.heading(out);

        let start = out.len();
        out.extend_from_slice(&cell[..target_bytes]);
        pad(target_width, self.target_width, out);
        let style = if self.has_colours { style(finding.verdict) } else { Style::new() };
        // Writing to a vector cannot fail, here and below.
        let _ = write!(out, "{style}{}{style:#}", finding.verdict.name());
        pad(finding.verdict.name().len(), STATE_WIDTH, out);
        out.extend_from_slice(&cell[target_bytes..]);
        pad(reason_width, self.reason_width, out);
        let _ = write!(out, "{:>TIME_WIDTH$}  ", time(finding.took));
        out.extend_from_slice(found.service().unwrap_or_default().as_bytes());
        end_line(start, out);
        self.cell = cell;
    }

    fn heading(&mut self, out: &mut Vec<u8>) {
        if self.has_heading {
            return;
        }
        self.has_heading = true;
        let (target, reason) = (self.target_width, self.reason_width);
        let _ = writeln!(
            out,
            "{:target$}  {:STATE_WIDTH$}  {:reason$}  {:>TIME_WIDTH$}  SERVICE",
            "TARGET", "STATE", "REASON", "TIME"
        );
    }
}

/// What came of `checks` that were asked for and `found` that came to an end, for standard error.
/// Of a single check its own line says everything but the unusual.
pub fn summary(checks: u64, found: u64, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    if summary.verdicts.total() != 1 {
        lines.push(totals(found, summary));
    }
    let mut notes = Vec::new();
    if !summary.is_complete {
        let missing = counted(checks.saturating_sub(found), "check");
        notes.push(format!("interrupted, {missing} short of the end"));
    }
    match summary.counts.loss() * 100.0 {
        ..=0.0 => {}
        ..0.1 => notes.push("under 0.1 % of questions were lost and asked again".to_owned()),
        loss => notes.push(format!("{loss:.1} % of questions were lost and asked again")),
    }
    let Noise { forged, overflowed, .. } = summary.noise;
    if overflowed > 0 {
        notes.push(format!("{} found no room here", counted(overflowed, "packet")));
    }
    if forged > 0 {
        notes.push(format!("{} ignored", counted(forged, "forged answer")));
    }
    if !notes.is_empty() {
        lines.push(notes.join("; "));
    }
    lines
}

/// `65,536 checks in 1.24 s (52,851/s): 12 open, 65,524 filtered`.
fn totals(found: u64, summary: &Summary) -> String {
    let verdicts = &summary.verdicts;
    let mut line = counted(verdicts.total(), "check");
    // After an interruption the verdicts are those of all runs, the time is that of the last.
    if verdicts.total() != found {
        line.push_str(&format!(", {} of them now,", grouped(found)));
    }
    line.push_str(&format!(" in {}", time(summary.took)));
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let rate = found as f64 / summary.took.as_secs_f64();
    if rate.is_finite() && rate >= 1.0 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people")]
        let rate = rate as u64;
        line.push_str(&format!(" ({}/s)", grouped(rate)));
    }
    line.push_str(&format!(": {} open", grouped(verdicts.open)));
    for (count, name) in [
        (verdicts.closed, "closed"),
        (verdicts.filtered, "filtered"),
        (verdicts.unreachable, "unreachable"),
        (verdicts.error, "could not be asked"),
    ] {
        if count > 0 {
            line.push_str(&format!(", {} {name}", grouped(count)));
        }
    }
    line
}

/// `1 check`, `1,024 checks`.
fn counted(count: u64, name: &str) -> String {
    format!("{} {name}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A time, with three digits or so.
fn time(took: Duration) -> String {
    let ms = took.as_secs_f64() * 1e3;
    match ms {
        ..9.995 => format!("{ms:.2} ms"),
        ..99.95 => format!("{ms:.1} ms"),
        ..999.5 => format!("{ms:.0} ms"),
        ..9_995.0 => format!("{:.2} s", ms / 1e3),
        ..99_950.0 => format!("{:.1} s", ms / 1e3),
        _ => format!("{} s", grouped((took + Duration::from_millis(500)).as_secs())),
    }
}

/// Appends the target as it was given.
fn target(found: &Found<'_>, out: &mut Vec<u8>) {
    let target = found.finding.target;
    let _ = match found.name {
        None => write!(out, "{target}"),
        Some(name) => write!(out, "{}:{} ({})", printable(name), target.port(), target.ip()),
    };
}

/// Appends what the verdict was concluded from.
fn reason(found: &Found<'_>, out: &mut Vec<u8>) {
    let evidence = found.finding.evidence;
    match found.detail() {
        None => out.extend_from_slice(evidence.name().as_bytes()),
        Some(detail) => out.extend_from_slice(detail.as_bytes()),
    }
    if let Evidence::Icmp { kind, code } = evidence {
        let _ = write!(out, " (icmp {kind}/{code})");
    }
}

fn style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Open => AnsiColor::Green,
        Verdict::Closed => AnsiColor::Red,
        Verdict::Filtered | Verdict::Unreachable(_) => AnsiColor::Yellow,
        Verdict::Error(_) => AnsiColor::Magenta,
    };
    colour.on_default()
}

/// How many columns of a terminal the text takes.
fn width(text: &[u8]) -> usize {
    str::from_utf8(text).map_or(text.len(), UnicodeWidthStr::width)
}

/// Fills up to a column's width, and appends the gap behind it.
fn pad(used: usize, width: usize, out: &mut Vec<u8>) {
    let blanks = width.saturating_sub(used) + 2;
    out.resize(out.len() + blanks, b' ');
}

/// Ends the line that begins at `start`, without blanks at its end.
fn end_line(start: usize, out: &mut Vec<u8>) {
    let length = out[start..].iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    out.truncate(start + length);
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
