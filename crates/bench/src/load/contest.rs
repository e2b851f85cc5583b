//! A client that loads a server.

use std::{
    fs,
    ops::RangeInclusive,
    thread,
    time::{Duration, Instant},
};

use portolan_load::Limit;
use portolan_sys::usage::Usage;

use super::{
    client::{Ask, Client},
    said::Said,
    server::Server,
};
use crate::{
    Contestant, Fault, Figure, Measured, Program, Purpose, Sample, Stdout, measure,
    process::{Processor, on_processor},
    program::{Executable, ended_with},
    world::{self, link},
};

/// Each connection has a descriptor at either end; the queues of nginx are as long.
pub(super) const SIZE_MAX: u64 = 4_000;

/// The load begins so long after the run: the kernel cleans up what the run before left behind
/// meanwhile, and would do it in the time of whoever began sooner.
const LEAD: Duration = Duration::from_millis(500);

/// How much longer than asked for a client may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What clients say is not much, but an interval each.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Source ports: so many that few come again while their last connection's TIME-WAIT may not be
/// reused, which on loopback is a second.
const EPHEMERAL_PORTS: &str = "10000 65535";

/// One error of so many is too much, of a program that does not run out of ports.
const ERRORS_OF: u64 = 1_000;

/// Twice what is possible.
const TOO_MANY: f64 = 2.0;

/// The contestant.
#[derive(Clone, Debug)]
pub(super) struct Contest {
    pub(super) name: String,
    pub(super) baseline: &'static str,
    pub(super) task: &'static str,
    pub(super) server: Server,
    pub(super) client: Client,
    /// The client's.
    pub(super) file: Executable,
    /// This program, for the server.
    pub(super) own: Program,
    pub(super) keep_alive: bool,
    /// Of the client, and of a server of ours.
    pub(super) threads: usize,
    pub(super) window: Duration,
    /// What it reached per second when nothing was asked for, of [`Client::TooMany`].
    pub(super) possible: Option<f64>,
}

/// What happened in a run.
struct Ran {
    said: Said,
    client: Measured,
    server: Usage,
}

impl Contest {
    fn load(&self, size: u64, client: Client, rate: Option<f64>) -> Result<Ran, Fault> {
        // Nobody meets what another one left behind: connections in TIME-WAIT, most of all.
        world::enter_fresh().map_err(|error| Fault::Refused(error.to_string()))?;
        let begun = Instant::now();
        link::widen_backlog();
        // Where /proc/sys may not be written, there are fewer ports for everyone.
        let _ = fs::write("/proc/sys/net/ipv4/ip_local_port_range", EPHEMERAL_PORTS);
        let server =
            self.placed(Processor::BeforeLast, || self.server.start(&self.own, self.threads))?;
        thread::sleep(LEAD.saturating_sub(begun.elapsed()));
        let ask = Ask {
            connections: size,
            threads: self.threads,
            duration: self.window,
            keep_alive: self.keep_alive,
            rate,
        };
        let program = self.file.program()?.with(client.args(ask));
        let stdout = Stdout::Store { bytes_max: OUTPUT_BYTES_MAX };
        let limit = self.window + PATIENCE;
        let measured = self.placed(Processor::Last, || measure(&program, stdout, limit))?;
        let server = server.end()?;
        // 1 of our own: errors, or less than was asked for, which is said of the run.
        ended_with(&measured, if client.is_own() { &[0, 1] } else { &[0] })?;
        let said = client.read(&String::from_utf8_lossy(&measured.kept)).map_err(Fault::Wrong)?;
        Ok(Ran { said, client: measured, server })
    }

    /// With one thread each, client and server have a processor of their own.
    fn placed<T>(&self, processor: Processor, work: impl FnOnce() -> T) -> T {
        if self.threads == 1 { on_processor(processor, work) } else { work() }
    }

    /// The rate to ask for, and what was possible without one; that is looked for once.
    fn rate(&mut self, size: u64) -> Result<Option<f64>, Fault> {
        if self.client != Client::TooMany {
            return Ok(None);
        }
        let possible = match self.possible {
            Some(possible) => possible,
            None => self.load(size, Client::Connect { resets: false }, None)?.said.per_second,
        };
        self.possible = Some(possible);
        Ok(Some((possible * TOO_MANY).ceil().max(1.0)))
    }

    /// Whether what it says can be right, and what has to be known of it.
    fn marks(&self, said: &Said) -> Result<Vec<String>, Fault> {
        let Said { done, errors, .. } = *said;
        let is_bare = matches!(self.client, Client::Bare { .. });
        if done == 0 || !said.per_second.is_finite() || said.per_second <= 0.0 {
            return Err(Fault::Wrong(format!("nothing done, {errors} errors")));
        }
        if !is_bare && errors.saturating_mul(ERRORS_OF) > done {
            return Err(Fault::Wrong(format!("{errors} errors, {done} done")));
        }
        let mut marks = Vec::new();
        if errors > 0 {
            marks.push(format!("{errors} errors"));
        }
        if let Some(asked) = said.asked_per_second {
            marks.push(format!(
                "{:.0} per second of {asked:.0} that were asked for; it says: {}",
                said.per_second,
                verdict(said)
            ));
        }
        Ok(marks)
    }
}

/// What our client says of a rate.
fn verdict(said: &Said) -> &'static str {
    match (said.has_kept_up, said.limited_by) {
        (true, _) => "kept up",
        (false, None) => "not kept up",
        (false, Some(Limit::Client)) => "not kept up, the client is the bottleneck",
        (false, Some(Limit::Processors)) => "not kept up, the processors are the bottleneck",
        (false, Some(Limit::Connections)) => "not kept up, too few connections were free",
    }
}

impl Contestant for Contest {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.client.about()
    }

    fn task(&self) -> &'static str {
        self.task
    }

    fn baseline(&self) -> &'static str {
        self.baseline
    }

    fn is_own(&self) -> bool {
        self.client.is_own()
    }

    fn absent(&self, _size: u64) -> Option<String> {
        self.file.missing().or_else(|| self.server.missing())
    }

    fn rows_expected(&self, _size: u64) -> RangeInclusive<u64> {
        0..=u64::MAX
    }

    fn run(&mut self, size: u64, _purpose: Purpose) -> Result<Sample, Fault> {
        let rate = self.rate(size)?;
        let ran = self.load(size, self.client, rate)?;
        let marks = self.marks(&ran.said)?;
        let Ran { said, client, server } = ran;
        let each = |name, usage: &Usage| {
            let ns = (usage.user + usage.system).as_nanos();
            Figure::per(name, "ns", u64::try_from(ns).unwrap_or(u64::MAX), said.done)
        };
        let per_second = |name, value: f64| Figure { name, unit: "1/s", value: value.round() };
        let mut figures = vec![per_second("achieved_per_second", said.per_second)];
        figures.extend(said.asked_per_second.map(|asked| per_second("asked_per_second", asked)));
        figures.push(each("client_ns_per_operation", &client.usage));
        figures.push(each("server_ns_per_operation", &server));
        figures.push(Figure::count("errors", "errors", said.errors));
        Ok(Sample { figures, marks, ..Sample::from(&client) })
    }
}

#[cfg(test)]
mod tests;
