//! One that checks a target again and again.

use std::{net::SocketAddrV4, ops::RangeInclusive};

use super::{
    Count, Published, capture,
    place::{Counters, Place, Target},
};
use crate::{
    Contestant, Fault, Figure, Program, Purpose, Sample, Stdout, measure,
    program::{RUN_TIME_MAX, ended_with, too_large},
};

/// A line of JSON, or one for each check.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Checks that are enough to count packets in a capture.
const CAPTURED_CHECKS_MAX: u64 = 1_000;

/// The source port that was typed by hand in the published method's example.
const PUBLISHED_SOURCE_PORT: u16 = 54_321;

/// A question with one right answer.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) baseline: &'static str,
    pub(super) target: Target,
    /// How many checks had the right answer.
    pub(super) answer: fn(&Count) -> u64,
}

/// The contestant.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    pub(super) name: String,
    pub(super) about: &'static str,
    pub(super) task: &'static Task,
    pub(super) program: Program,
    /// The method of `portolan probe`; `None` for the published one.
    pub(super) method: Option<&'static str>,
    pub(super) place: Place,
    pub(super) size_max: Option<u64>,
}

impl Checks {
    fn program(&self, checks: u64) -> Program {
        let target = self.task.target;
        let (address, timeout) = (target.address(), target.timeout());
        let program = self.program.clone();
        let Some(method) = self.method else {
            let source = SocketAddrV4::new(target.source(), PUBLISHED_SOURCE_PORT);
            return program
                .with(Published { target: address, source, count: checks, timeout }.to_args());
        };
        program.with([
            &address.to_string(),
            "--count",
            &checks.to_string(),
            "--method",
            method,
            "--timeout",
            &format!("{}ms", timeout.as_millis()),
            "--json",
        ])
    }

    fn check(&self, checks: u64) -> Result<Sample, Fault> {
        let program = self.program(checks);
        let before = self.place.counters(self.task.target)?;
        let stdout = Stdout::Store { bytes_max: OUTPUT_BYTES_MAX };
        let measured = measure(&program, stdout, RUN_TIME_MAX)?;
        let after = self.place.counters(self.task.target)?;
        // 1: not all are open.
        ended_with(&measured, &[0, 1])?;
        let count = Count::read(&measured.kept).map_err(Fault::Wrong)?;
        let right = (self.task.answer)(&count);
        if (right, count.checks) != (checks, checks) {
            let said = count.describe();
            let task = self.task.name;
            return Err(Fault::Wrong(format!("of {checks} {task}: {said}")));
        }
        let sample = Sample { rows: Some(right), ..Sample::from(&measured) };
        let figures = figures(checks, &sample, &before, &after);
        Ok(Sample { figures, ..sample })
    }
}

fn figures(checks: u64, sample: &Sample, before: &Counters, after: &Counters) -> Vec<Figure> {
    let seconds = sample.wall.as_secs_f64().max(f64::MIN_POSITIVE);
    let rate = Figure::count("checks_per_second", "1/s", checks);
    let packets = after.packets.saturating_sub(before.packets);
    let accepted = after.served.accepted.saturating_sub(before.served.accepted);
    let cpu_us = after.served.cpu_us.saturating_sub(before.served.cpu_us);
    vec![
        Figure { value: (rate.value / seconds).round(), ..rate },
        Figure::per("packets_per_check", "packets", packets, checks),
        Figure::count("accepts", "connections", accepted),
        Figure::count("server_cpu_us", "us", cpu_us),
    ]
}

impl Contestant for Checks {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn task(&self) -> &'static str {
        self.task.name
    }

    fn baseline(&self) -> &'static str {
        self.task.baseline
    }

    fn is_own(&self) -> bool {
        self.method.is_some()
    }

    fn absent(&self, size: u64) -> Option<String> {
        too_large(self.task.target.checks(size), self.size_max)
    }

    fn rows_expected(&self, size: u64) -> RangeInclusive<u64> {
        let checks = self.task.target.checks(size);
        checks..=checks
    }

    fn run(&mut self, size: u64, _purpose: Purpose) -> Result<Sample, Fault> {
        self.place.renew()?;
        self.check(self.task.target.checks(size))
    }

    /// The device's counters once more, by another program.
    fn look_closer(&mut self, size: u64) -> Result<Vec<Figure>, String> {
        let checks = self.task.target.checks(size).min(CAPTURED_CHECKS_MAX);
        self.place.renew().map_err(|error| error.to_string())?;
        let (checked, packets) = capture::count(self.task.target.device(), || self.check(checks))?;
        checked.map_err(|fault| format!("under tcpdump it fails: {fault:?}"))?;
        Ok(vec![Figure::per("captured_per_check", "packets", packets, checks)])
    }
}

#[cfg(test)]
mod tests;
