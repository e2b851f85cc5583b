//! One target, again and again: how fast is a check here?

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, bail};
use portolan_probe::{Probe, Verdict};
use serde::Serialize;

use super::{CANNOT_WRITE, ProbeArgs, Targets, method, report::Verdicts, stop::Stop};

/// What came of it.
#[derive(Debug, Serialize)]
struct Record {
    version: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    method: &'static str,
    checks: u64,
    #[serde(flatten)]
    verdicts: Verdicts,
    seconds: f64,
    /// Of a check, in microseconds, among those that were timed.
    time_us_median: u64,
    time_us_p99: u64,
    time_us_max: u64,
}

/// Checks the one target `count` times, one after the other.
///
/// # Errors
/// When there are several targets, or nothing can be asked.
pub fn run(args: &ProbeArgs, targets: &Targets, count: u64) -> anyhow::Result<ExitCode> {
    let (1, Some(target)) = (targets.space.len(), targets.space.get(0)) else {
        bail!(
            "--count is for one target and one port, and this is {} checks: write HOST:PORT",
            targets.space.len()
        );
    };
    let stop = Stop::listen().context("cannot listen for signals")?;
    let method = method::open_for(1, 1, args)?;
    let name = method.name();
    let mut probe = Probe::with(method).with_retries(args.retries);
    let mut verdicts = Verdicts::default();
    let mut times = Times::default();
    let started = Instant::now();
    for _ in 0..count {
        if stop.is_asked() {
            break;
        }
        let finding = probe.check(target, args.timeout).context("cannot ask any more")?;
        verdicts.add(finding.verdict);
        times.add(finding.took.as_micros());
        if let Verdict::Error(_) = finding.verdict {
            tell!("portolan: {target}: {}", finding.verdict);
            break;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let record = Record {
        version: 1,
        kind: "count",
        method: name.name(),
        checks: verdicts.total(),
        verdicts,
        seconds,
        time_us_median: times.quantile(0.5),
        time_us_p99: times.quantile(0.99),
        time_us_max: times.quantile(1.0),
    };
    write(&record, args.json).context(CANNOT_WRITE)?;
    let all_open = verdicts.total() == count && verdicts.all_open();
    Ok(if all_open { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn write(record: &Record, json: bool) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(record)?)?;
        return Ok(());
    }
    let Record { checks, verdicts, seconds, method, .. } = record;
    #[allow(clippy::cast_precision_loss, reason = "a rate needs few digits")]
    let rate = *checks as f64 / seconds.max(1e-9);
    writeln!(out, "{checks} checks by {method} in {seconds:.3} s: {rate:.0} a second")?;
    writeln!(out, "{}", found(verdicts))?;
    let Record { time_us_median: median, time_us_p99: p99, time_us_max: max, .. } = record;
    writeln!(out, "one check: median {median} us, 99 % within {p99} us, longest {max} us")?;
    Ok(())
}

/// `100 open, 2 filtered`.
fn found(verdicts: &Verdicts) -> String {
    let Verdicts { open, closed, filtered, unreachable, error } = *verdicts;
    let all = [
        (open, "open"),
        (closed, "closed"),
        (filtered, "filtered"),
        (unreachable, "unreachable"),
        (error, "not asked"),
    ];
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// How long checks took, in microseconds: exact up to a millisecond, in steps of 1/64 beyond.
#[derive(Debug, Default)]
struct Times {
    counts: Vec<u64>,
    total: u64,
}

/// Up to here each microsecond has a place of its own.
const EXACT: u64 = 1024;
/// Beyond, each doubling has so many.
const STEPS: u64 = 64;

impl Times {
    fn add(&mut self, micros: u128) {
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        let place = usize::try_from(place(micros)).unwrap_or(usize::MAX);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.total += 1;
    }

    fn quantile(&self, share: f64) -> u64 {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count is a count"
        )]
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        at.map_or(0, |at| micros(at as u64))
    }
}

fn place(micros: u64) -> u64 {
    if micros < EXACT {
        return micros;
    }
    let doubling = u64::from(micros.ilog2() - EXACT.ilog2());
    let step = (micros >> (doubling + u64::from(EXACT.ilog2() - STEPS.ilog2()))) - STEPS;
    EXACT + doubling * STEPS + step
}

/// The least that falls on a place.
fn micros(place: u64) -> u64 {
    let Some(beyond) = place.checked_sub(EXACT) else { return place };
    let (doubling, step) = (beyond / STEPS, beyond % STEPS);
    (STEPS + step) << (doubling + u64::from(EXACT.ilog2() - STEPS.ilog2()))
}

#[cfg(test)]
mod tests;
