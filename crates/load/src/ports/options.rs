//! What the experiment is to do.

use std::{ffi::OsString, ops::RangeInclusive, path::PathBuf};

use super::Strategy;
use crate::{Error, source_ports::Host};

/// Where nobody says: connections, and as many binds.
const COUNT: u32 = 40_000;

/// From which ports, in a namespace of one's own.
const OWN_RANGE: RangeInclusive<u16> = 20_000..=60_000;

/// On the host itself, others need ports as well: no more than these percent are used.
const HOST_PERCENT: u32 = 90;

/// How a copy of this program is started: it gets one more argument, a [`super::Task`] in JSON, and
/// has to call [`super::run_task`] with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// What comes before the task.
    pub arguments: Vec<OsString>,
}

/// What the experiment is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortsOptions {
    /// How many connections are opened with each strategy; none: 40,000, or what fits.
    pub connections: Option<u32>,
    /// How many sockets are bound with each strategy; none: 40,000, or what fits.
    pub binds: Option<u32>,
    /// From which ports; none: 20000-60000 in a namespace of its own, else the host's range.
    pub range: Option<RangeInclusive<u16>>,
    /// Which strategies, in order. [`Strategy::Auto`] is left out.
    pub strategies: Vec<Strategy>,
    /// On the host itself, although a namespace could be made.
    pub on_host: bool,
    /// Copies of what are started.
    pub program: Program,
}

/// The same, with every gap filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) connections: u32,
    pub(super) binds: u32,
    pub(super) range: RangeInclusive<u16>,
    pub(super) is_own: bool,
}

impl PortsOptions {
    /// Fills the gaps; `is_own` says that there will be namespaces, of which the range is free.
    pub(super) fn plan(&self, is_own: bool, host: &Host) -> Result<Plan, Error> {
        let wrong = |text: String| Err(Error::Options(text));
        if self.strategies.iter().all(|one| *one == Strategy::Auto) {
            return wrong("there is no strategy to measure: name kernel, explicit or range".into());
        }
        let usual = if is_own { OWN_RANGE } else { host.ephemeral.clone() };
        let range = self.range.clone().unwrap_or_else(|| usual.clone());
        if *range.start() < 1024 || range.len() < 16 {
            return wrong("a range has 16 ports at least, none below 1024".into());
        }
        if !is_own && self.range.as_ref().is_some_and(|range| *range != host.ephemeral) {
            return wrong(format!(
                "the kernel chooses from net.ipv4.ip_local_port_range ({}-{}), and another range \
                 needs a network namespace: leave --range out, or run it as root",
                usual.start(),
                usual.end()
            ));
        }
        let ports = u32::try_from(range.len()).unwrap_or(u32::MAX);
        let most = if is_own { ports } else { ports * HOST_PERCENT / 100 };
        for asked in [self.connections, self.binds].into_iter().flatten() {
            if asked > most {
                return wrong(format!(
                    "{asked} sockets are more than the {most} that fit in {ports} ports"
                ));
            }
        }
        let count = |asked: Option<u32>| asked.unwrap_or(COUNT.min(most));
        if count(self.connections) + count(self.binds) == 0 {
            return wrong("there is nothing to measure: ask for connections or binds".into());
        }
        let (connections, binds) = (count(self.connections), count(self.binds));
        Ok(Plan { connections, binds, range, is_own })
    }
}

/// The `nth` of `of` parts of `count` calls and of the ports for them: every part has at least as
/// many ports as calls, and all parts together are all of both.
pub(super) fn share(
    count: u32,
    range: &RangeInclusive<u16>,
    nth: u32,
    of: u32,
) -> (u32, RangeInclusive<u16>) {
    let of = of.max(1);
    let part = |all: u32, nth: u32| {
        let part = u64::from(all) * u64::from(nth) / u64::from(of);
        u32::try_from(part).unwrap_or(u32::MAX)
    };
    let spare = u32::try_from(range.len()).unwrap_or(u32::MAX).saturating_sub(count);
    let at = |nth| u32::from(*range.start()) + part(count, nth) + part(spare, nth);
    let port = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    let count = part(count, nth + 1) - part(count, nth);
    (count, port(at(nth))..=port(at(nth + 1) - 1))
}

#[cfg(test)]
mod tests;
