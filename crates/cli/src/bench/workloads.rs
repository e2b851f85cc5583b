//! Scenarios that have several workloads, each with sizes and a report of its own.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use portolan_bench::{
    Load, LoadOptions, LoadWorkload, Program, Scenario, Trace, TraceOptions, Workload,
};

use super::{BenchArgs, exit_code, measure, write_files};

/// What is loaded, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WorkloadArg {
    /// Of trace: short-lived TCP connections; a size is how many per second.
    Short,
    /// Of trace: requests over 64 persistent TCP connections; a size is how many per second.
    Persistent,
    /// Of trace: round trips of UDP; a size is how many per second.
    Udp,
    /// Of trace: 10,000 short-lived connections per second; a size is to how many ports.
    Fan,
    /// Of trace: short, persistent and udp, one round trip after the other, without a rate; a size
    /// is how many at once.
    Latency,
    /// Of load: HTTP requests over persistent connections; a size is how many of those.
    Http,
    /// Of load: HTTP requests over a new connection each; a size is how many at once.
    HttpClose,
    /// Of load: new connections, with nothing on them; a size is how many at once.
    Connect,
    /// Of load: the search for source ports; a size is how many are taken.
    Ports,
}

impl WorkloadArg {
    fn of_trace(self) -> Option<Workload> {
        Workload::ALL.into_iter().find(|workload| workload.name() == self.name())
    }

    fn of_load(self) -> Option<LoadWorkload> {
        LoadWorkload::ALL.into_iter().find(|workload| workload.name() == self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Persistent => "persistent",
            Self::Udp => "udp",
            Self::Fan => "fan",
            Self::Latency => "latency",
            Self::Http => "http",
            Self::HttpClose => "http-close",
            Self::Connect => "connect",
            Self::Ports => "ports",
        }
    }
}

/// Measures what tracing costs.
///
/// # Errors
/// When nothing can be measured, or written.
pub(super) fn trace(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let usual: &[Workload] = if args.all { &Workload::ALL } else { &Workload::USUAL };
    let workloads = asked(args, Trace::NAME, usual, WorkloadArg::of_trace)?;
    each(args, &workloads, |workload, own| {
        let (trace, load) = (Program::new(own, ["trace"]), Program::new(own, ["load"]));
        let options = TraceOptions { workload, trace, load, window: args.window, all: args.all };
        (workload.name(), Trace::new(options))
    })
}

/// Measures load generators.
///
/// # Errors
/// When nothing can be measured, or written.
pub(super) fn load(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let workloads = asked(args, Load::NAME, &LoadWorkload::ALL, WorkloadArg::of_load)?;
    each(args, &workloads, |workload, own| {
        let (load, bare) = (Program::new(own, ["load"]), Program::new(own, ["bench", "bare"]));
        let options = LoadOptions { workload, load, bare, window: args.window, all: args.all };
        (workload.name(), Load::new(options))
    })
}

/// Those that are asked for, or else the usual ones.
fn asked<T: Copy>(
    args: &BenchArgs,
    scenario: &str,
    usual: &[T],
    of: impl Fn(WorkloadArg) -> Option<T>,
) -> anyhow::Result<Vec<T>> {
    let mut workloads = Vec::new();
    for &asked in &args.workload {
        let Some(workload) = of(asked) else {
            bail!("the scenario {scenario} has no workload {}: see --help", asked.name());
        };
        workloads.push(workload);
    }
    if workloads.is_empty() {
        workloads.extend(usual);
    }
    if workloads.len() > 1 && !args.sizes.is_empty() {
        bail!("a size means something else in each workload: say one --workload with --sizes");
    }
    Ok(workloads)
}

/// Measures one after the other.
fn each<T: Copy, S: Scenario>(
    args: &BenchArgs,
    workloads: &[T],
    scenario: impl Fn(T, &std::path::Path) -> (&'static str, S),
) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut has_faults = false;
    for &workload in workloads {
        let (name, scenario) = scenario(workload, &own);
        let results = measure(args, &scenario)?;
        write_files(args, (workloads.len() > 1).then_some(name), &results)?;
        has_faults |= results.has_faults();
    }
    Ok(exit_code(has_faults))
}
