//! One that checks a target again and again.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    ops::RangeInclusive,
    time::Duration,
};

use super::{Count, Published, capture};
use crate::{
    Contestant, Error, Fault, Figure, Program, Purpose, Sample, Stdout, measure,
    program::{RUN_TIME_MAX, ended_with, too_large},
    world::{Served, Stage, link},
};

/// A line of JSON, or one for each check.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Checks that are enough to count packets in a capture.
const CAPTURED_CHECKS_MAX: u64 = 1_000;

/// A check of a silent target takes all of the timeout, so there are fewer: one for so many.
const CHECKS_PER_SILENT: u64 = 10_000;
const SILENT_CHECKS_MAX: u64 = 100;

/// The device behind which nobody answers, our address there, and nobody's.
pub(super) const SILENT_DEVICE: &str = "silent";
pub(super) const SILENT_SOURCE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
pub(super) const SILENT_TARGET: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

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

/// Whom to ask.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// An address of loopback that was not asked before, since the kernel remembers connections
    /// for a minute: who left many behind would slow down the next one.
    Loopback {
        /// The port.
        port: u16,
    },
    /// One that does not answer.
    Silent {
        /// The port.
        port: u16,
    },
}

impl Target {
    fn address(self, turn: u32) -> SocketAddrV4 {
        match self {
            Self::Loopback { port } => {
                let low = |value: u32| u8::try_from(value % 250).unwrap_or(0);
                SocketAddrV4::new(Ipv4Addr::new(127, 10, low(turn / 250), 1 + low(turn)), port)
            }
            Self::Silent { port } => SocketAddrV4::new(SILENT_TARGET, port),
        }
    }

    fn source(self) -> Ipv4Addr {
        match self {
            Self::Loopback { .. } => Ipv4Addr::LOCALHOST,
            Self::Silent { .. } => SILENT_SOURCE,
        }
    }

    fn device(self) -> &'static str {
        match self {
            Self::Loopback { .. } => "lo",
            Self::Silent { .. } => SILENT_DEVICE,
        }
    }

    fn timeout(self) -> Duration {
        match self {
            Self::Loopback { .. } => Duration::from_secs(1),
            Self::Silent { .. } => Duration::from_millis(50),
        }
    }

    /// How many checks a size means.
    fn checks(self, size: u64) -> u64 {
        match self {
            Self::Loopback { .. } => size,
            Self::Silent { .. } => (size / CHECKS_PER_SILENT).clamp(1, SILENT_CHECKS_MAX),
        }
    }
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
    pub(super) stage: Stage,
    pub(super) size_max: Option<u64>,
}

/// Counters of the world before or after a run.
struct Counters {
    served: Served,
    packets: u64,
}

impl Checks {
    fn program(&self, checks: u64) -> Program {
        let target = self.task.target;
        let (address, timeout) = (target.address(self.stage.turn()), target.timeout());
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

    /// After the connections on their way have arrived, so that no packet is missing.
    fn counters(&self) -> Result<Counters, Error> {
        let served = self.stage.served()?;
        Ok(Counters { served, packets: link::packets_sent(self.task.target.device())? })
    }

    fn check(&self, checks: u64) -> Result<Sample, Fault> {
        let program = self.program(checks);
        let before = self.counters()?;
        let stdout = Stdout::Store { bytes_max: OUTPUT_BYTES_MAX };
        let measured = measure(&program, stdout, RUN_TIME_MAX)?;
        let after = self.counters()?;
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
        self.check(self.task.target.checks(size))
    }

    /// The device's counters once more, by another program.
    fn look_closer(&mut self, size: u64) -> Result<Vec<Figure>, String> {
        let checks = self.task.target.checks(size).min(CAPTURED_CHECKS_MAX);
        let (checked, packets) = capture::count(self.task.target.device(), || self.check(checks))?;
        checked.map_err(|fault| format!("under tcpdump it fails: {fault:?}"))?;
        Ok(vec![Figure::per("captured_per_check", "packets", packets, checks)])
    }
}

#[cfg(test)]
mod tests;
