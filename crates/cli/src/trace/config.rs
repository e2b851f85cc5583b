//! The flags of `portolan trace`, checked once.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use anyhow::bail;
use portolan_flow::Transport;
use portolan_sockets::SnapshotOptions;
use portolan_trace::{MethodName, TraceOptions};

use super::{
    args::{TraceArgs, TraceMethod},
    order::Order,
    pick::{Pick, Scope},
    watch::{self, Wanted, Way},
};
use crate::metrics;

/// Shorter intervals would measure the observer.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Longer ones are a matter for a timer and `--once`.
const INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// What is meant by the flags.
#[derive(Debug)]
pub struct Config {
    pub wanted: Wanted,
    pub scope: Scope,
    pub pick: Pick,
    /// Only edges that have all of them; on the terminal, what the filter begins with.
    pub words: String,
    pub order: Order,
    pub format: Format,
    pub interval: Duration,
    /// So many intervals.
    pub count: Option<u64>,
    /// So long in all.
    pub duration: Option<Duration>,
    pub metrics: Option<metrics::Wanted>,
}

/// How to show what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table on the terminal, refreshed in place.
    Screen,
    /// A table per interval.
    Table,
    /// A line per edge and interval.
    Json,
}

impl Config {
    /// Checks what the parser cannot.
    ///
    /// # Errors
    /// When flags contradict each other.
    pub fn check(args: &TraceArgs) -> anyhow::Result<Self> {
        let attach = args.attach.attach();
        let udp_attach = args.udp_attach.attach();
        if args.method == TraceMethod::Snapshot && (attach.is_some() || udp_attach.is_some()) {
            bail!(
                "--attach and --udp-attach are for the methods that trace, and --method snapshot \
                 does not"
            );
        }
        if args.failed && args.method == TraceMethod::Snapshot {
            bail!(
                "--failed needs a method that traces: --method snapshot sees no connection that \
                 failed"
            );
        }
        let transport = match (args.tcp, args.udp) {
            (true, false) => Some(Transport::Tcp),
            (false, true) => Some(Transport::Udp),
            (false, false) | (true, true) => None,
        };
        let without_udp = args.no_udp || transport == Some(Transport::Tcp);
        if without_udp && udp_attach.is_some() {
            bail!("--udp-attach is for UDP, which --tcp leaves out");
        }
        let scope = Scope {
            own_namespace: args.own_namespace,
            transport: if without_udp { Some(Transport::Tcp) } else { transport },
        };
        let pick = Pick { process: args.process.clone(), port: args.port, failed: args.failed };
        Ok(Self {
            wanted: wanted(args, !without_udp),
            scope,
            pick,
            words: args.filter.join(" "),
            order: args.sort,
            format: format(args),
            interval: args.interval,
            count: if args.once { Some(1) } else { args.count },
            duration: args.duration,
            metrics: args.metrics.check()?,
        })
    }
}

fn wanted(args: &TraceArgs, udp: bool) -> Wanted {
    let way = match args.method {
        TraceMethod::Auto => Way::Best,
        TraceMethod::Bundle => Way::Traced(MethodName::Bundle),
        TraceMethod::Aggregate => Way::Traced(MethodName::Aggregate),
        TraceMethod::Stream => Way::Traced(MethodName::Stream),
        TraceMethod::Snapshot => Way::Polled,
    };
    Wanted {
        way,
        trace: TraceOptions {
            attach: args.attach.attach(),
            edges_max: args.edges_max,
            udp,
            udp_attach: args.udp_attach.attach(),
            ..watch::options()
        },
        snapshot: SnapshotOptions {
            method: None,
            own_namespace_only: args.own_namespace,
            again: true,
        },
    }
}

fn format(args: &TraceArgs) -> Format {
    let is_watched = || io::stdout().is_terminal() && io::stdin().is_terminal();
    match (args.json, args.once) {
        (true, _) => Format::Json,
        (false, false) if is_watched() => Format::Screen,
        (false, _) => Format::Table,
    }
}

/// `--interval`: a duration within reason.
///
/// # Errors
/// When it is none.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        return Ok(interval);
    }
    let [least, most] = [INTERVAL_MIN, INTERVAL_MAX].map(humantime::format_duration);
    Err(format!("between {least} and {most}"))
}

/// `--duration`: any but none at all.
///
/// # Errors
/// When it is none.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.is_zero() { Err("longer than 0s".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests;
