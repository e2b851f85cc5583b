//! How findings leave the program: a table, JSON, and the two formats of nmap that other programs
//! read (docs/formats/probe.md).

mod calendar;
mod grepable;
mod hosts;
mod json;
mod nmap;
#[cfg(test)]
mod sample;
mod sink;
mod text;
mod xml;

use std::{borrow::Cow, io, net::SocketAddr, time::Duration};

use portolan_flow::{Transport, service_name};
use portolan_probe::{Counts, Finding, MethodName, Noise, Verdict};
use serde::{Deserialize, Serialize};

use hosts::Hosts;
use nmap::Totals;
pub use sink::{Format, Sink};

/// So many checks are few: a line for each of them is no flood.
const FEW_CHECKS_MAX: u64 = 64;

/// Up to so many checks, findings are held until the end for the formats of nmap, so that the ports
/// of a host stand together: 32 MB.
const TOGETHER_CHECKS_MAX: u64 = 1_000_000;

/// Findings of a sweep are handed to the system at least this often, as long as some come.
const FLUSH_INTERVAL_MS: u64 = 200;

/// What is about to be done, for headings.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// The command line, for records.
    pub command_line: &'a str,
    /// When it begins, in milliseconds since 1970.
    pub started_ms: u64,
    /// How it is asked.
    pub method: MethodName,
    /// How many checks there will be.
    pub checks: u64,
    /// How many addresses they are about.
    pub addresses: u128,
    /// The ports that every address is asked for, ascending; with ports of single targets.
    pub ports: &'a [u16],
}

/// A finding, and what is known around it.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The finding.
    pub finding: Finding,
    /// The name that the target was given by, if it was.
    pub name: Option<&'a str>,
    /// When it was concluded, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Found<'_> {
    /// The usual name of what listens on the port.
    fn service(&self) -> Option<&'static str> {
        service_name(Transport::Tcp, self.finding.target.port())
    }

    /// The index of the interface that a link-local target is reached by; 0 for others.
    fn zone(&self) -> u32 {
        match self.finding.target {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(v6) => v6.scope_id(),
        }
    }

    /// What the verdict's name does not say: why it cannot be reached, or which error it was.
    fn detail(&self) -> Option<Cow<'static, str>> {
        match self.finding.verdict {
            Verdict::Open | Verdict::Closed | Verdict::Filtered => None,
            Verdict::Unreachable(reason) => Some(Cow::Borrowed(reason.name())),
            Verdict::Error(errno) => {
                let mut text = io::Error::from_raw_os_error(errno).to_string();
                // Behind it the number, which people do not want, and programs get by itself.
                let end = text.rfind(" (os error").unwrap_or(text.len());
                text.truncate(end);
                Some(Cow::Owned(text))
            }
        }
    }
}

/// What came of it all.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Findings by verdict.
    pub verdicts: Verdicts,
    /// What the batch counted.
    pub counts: Counts,
    /// What came that was no answer, and what there was no room for.
    pub noise: Noise,
    /// From the first check to the last finding.
    pub took: Duration,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// Whether everything was asked; otherwise it was interrupted.
    pub is_complete: bool,
}

/// Findings by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Open.
    pub open: u64,
    /// Closed.
    pub closed: u64,
    /// Filtered.
    pub filtered: u64,
    /// Unreachable.
    pub unreachable: u64,
    /// Errors.
    pub error: u64,
}

impl Verdicts {
    /// Counts one more.
    pub fn add(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Open => &mut self.open,
            Verdict::Closed => &mut self.closed,
            Verdict::Filtered => &mut self.filtered,
            Verdict::Unreachable(_) => &mut self.unreachable,
            Verdict::Error(_) => &mut self.error,
        };
        *count += 1;
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.open + self.closed + self.filtered + self.unreachable + self.error
    }

    /// Whether there is something, and all of it is open.
    #[must_use]
    pub fn all_open(&self) -> bool {
        self.open > 0 && self.open == self.total()
    }
}

/// Which findings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Those that people and programs mostly want: the formats differ, and few checks from sweeps.
    #[default]
    Usual,
    /// Open ports only.
    Open,
    /// All of them.
    Every,
}

/// Writes findings in one or several formats at once.
///
/// Call [`begin`](Self::begin), then [`finding`](Self::finding) for each as it comes, then
/// [`end`](Self::end). While nothing comes for a while, call [`flush`](Self::flush).
#[derive(Debug)]
pub struct Report {
    sinks: Vec<Sink>,
    shown: Shown,
    together_checks_max: u64,
    /// What was held for the formats of nmap; `None` where they are written as findings come.
    hosts: Option<Hosts>,
    is_few: bool,
    checks: u64,
    addresses: u128,
    /// Findings so far.
    found: u64,
    /// Those that the formats of nmap have, where they are not held.
    apart: u64,
    flushed_ms: u64,
}

impl Report {
    /// A report to all of `sinks`, with what is usually shown.
    #[must_use]
    pub fn new(sinks: Vec<Sink>) -> Self {
        Self {
            sinks,
            shown: Shown::default(),
            together_checks_max: TOGETHER_CHECKS_MAX,
            hosts: None,
            is_few: false,
            checks: 0,
            addresses: 0,
            found: 0,
            apart: 0,
            flushed_ms: 0,
        }
    }

    /// Chooses which findings are written.
    #[must_use]
    pub fn show(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }

    /// Holds findings for the formats of nmap up to so many checks, instead of a million.
    #[must_use]
    #[cfg(test)]
    fn together_up_to(mut self, checks: u64) -> Self {
        self.together_checks_max = checks;
        self
    }

    /// Writes what comes first.
    ///
    /// # Errors
    /// When a sink cannot be written.
    pub fn begin(&mut self, start: &Start<'_>) -> io::Result<()> {
        let is_nmap = self.sinks.iter().any(Sink::is_nmap);
        let is_together = is_nmap && start.checks <= self.together_checks_max;
        self.hosts = is_together.then(Hosts::default);
        self.is_few = start.checks <= FEW_CHECKS_MAX;
        self.checks = start.checks;
        self.addresses = start.addresses;
        self.flushed_ms = start.started_ms;
        self.sinks.iter_mut().try_for_each(|sink| sink.begin(start))
    }

    /// Takes in a finding, and writes it where it is shown.
    ///
    /// # Errors
    /// When a sink cannot be written.
    pub fn finding(&mut self, found: &Found<'_>) -> io::Result<()> {
        let is_open = found.finding.verdict == Verdict::Open;
        let in_text = is_open || self.shows_silence();
        let in_json = is_open || self.shown != Shown::Open;
        self.found += 1;
        match &mut self.hosts {
            Some(hosts) => hosts.add(found),
            None => self.apart += u64::from(is_open),
        }
        for sink in &mut self.sinks {
            match sink.format() {
                Format::Text if in_text => sink.finding(found)?,
                Format::Json if in_json => sink.finding(found)?,
                Format::Grepable | Format::Xml if is_open && self.hosts.is_none() => {
                    sink.finding(found)?;
                }
                _ => {}
            }
        }
        if self.is_few || found.at_ms >= self.flushed_ms + FLUSH_INTERVAL_MS {
            self.flushed_ms = found.at_ms;
            self.flush()?;
        }
        Ok(())
    }

    /// Whether findings are held until the end, for a format of nmap.
    pub fn holds(&self) -> bool {
        self.hosts.is_some()
    }

    /// Hands on what was written so far.
    ///
    /// # Errors
    /// When a sink cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sinks.iter_mut().try_for_each(Sink::flush)
    }

    /// Writes what was held and what comes last; beside a table, what came of it all to standard
    /// error.
    ///
    /// # Errors
    /// When a sink cannot be written.
    pub fn end(&mut self, summary: &Summary) -> io::Result<()> {
        let view = nmap::View { shown: self.shown, shows_silent: self.shows_silence() };
        let mut totals = Totals { up: self.apart, down: 0, total: self.addresses };
        if let Some(hosts) = &mut self.hosts {
            let sorted = hosts.sort();
            totals = sorted.totals();
            for sink in self.sinks.iter_mut().filter(|sink| sink.is_nmap()) {
                for host in sorted.hosts().filter(|host| view.shows(host)) {
                    sink.host(&host, view)?;
                }
            }
        }
        for sink in &mut self.sinks {
            sink.end(summary, &totals)?;
            sink.flush()?;
        }
        if self.sinks.iter().any(|sink| sink.format() == Format::Text) {
            for line in text::summary(self.checks, self.found, summary) {
                tell!("{line}");
            }
        }
        Ok(())
    }

    /// Whether text lists ports that are not open, and the formats of nmap hosts that did not
    /// answer.
    fn shows_silence(&self) -> bool {
        match self.shown {
            Shown::Usual => self.is_few,
            Shown::Open => false,
            Shown::Every => true,
        }
    }
}

#[cfg(test)]
mod tests;
