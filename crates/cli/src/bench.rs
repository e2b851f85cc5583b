//! `portolan bench`: measure what a claim about speed says, on this host.

mod parts;
mod workloads;

use std::{
    io::{self, IsTerminal, Write},
    num::NonZero,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use portolan_bench::{
    Event, Load, Options, Order, Probe, ProbeOptions, Program, Progress, Results, Scenario,
    Snapshot, SnapshotOptions, Sockets, SocketsOptions, Sweep, SweepOptions, Trace, report,
    run as run_scenario,
};

use parts::Part;
use workloads::WorkloadArg;

/// Measure on this host what a claim about speed says: our methods and other programs, side by
/// side on the same work.
///
/// Without a scenario, lists those that there are.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(override_usage = "portolan bench [OPTIONS] [SCENARIO]")]
#[command(
    after_help = "Exit codes: 0 done; 1 a contestant failed or gave a wrong result; 2 an error."
)]
pub struct BenchArgs {
    /// What to measure.
    #[arg(value_enum)]
    scenario: Option<ScenarioName>,

    /// Sizes, separated by commas [default: the scenario's own].
    #[arg(long, value_name = "N", value_delimiter = ',')]
    sizes: Vec<NonZero<u64>>,

    /// Timed runs of each contestant, after one to warm up [default: 15; of trace 5, and 20 of its
    /// workload latency; of load 7, and 3 of its workload ports].
    #[arg(long, value_name = "N")]
    rounds: Option<NonZero<u32>>,

    /// Where the shuffling starts that decides, each round anew, who runs when.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    /// The contestant that all are compared with [default: one for each task].
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    baseline: Option<String>,

    /// Only contestants whose name contains this, and whom they are compared with; may be given
    /// several times.
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    only: Vec<String>,

    /// Leave out above this size what takes very long there: programs of quadratic cost, and those
    /// that leave thousands of connections behind.
    #[arg(long, value_name = "N", default_value = "20000")]
    slow_peers_max: u64,

    /// Leave out nothing, however long it takes; of trace and load, all workloads and all sizes.
    #[arg(long, conflicts_with = "slow_peers_max")]
    all: bool,

    /// Of trace and load: what is loaded, and how; separated by commas [default: of trace
    /// short,latency, of load http,http-close,connect,ports].
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    workload: Vec<WorkloadArg>,

    /// Of trace and load: how long each run is looked at [default: of trace 3s, of its workload
    /// latency 1s; of load 2s].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    window: Option<Duration>,

    /// Print one JSON object per contestant and size (docs/formats/bench.md).
    #[arg(long)]
    json: bool,

    /// Write a table for spreadsheets to this file; of several workloads, to FILE-NAME.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write results.csv, results.jsonl, the chart results.svg and the page results.html to this
    /// directory; of several workloads, to one in it for each.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    #[command(subcommand)]
    part: Option<Part>,
}

/// The scenarios.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScenarioName {
    /// What one reading of the map costs: sockets, owners, edges.
    Snapshot,
    /// What listing TCP sockets costs, whole processes with their output.
    Sockets,
    /// What it costs to ask one target again and again whether its port is open.
    Probe,
    /// What finding the open ports of a network costs, whole processes with their output.
    Sweep,
    /// What tracing costs: CPU time, and time of those who are traced.
    Trace,
    /// What load generators do: requests and connections per second, source ports.
    Load,
}

/// Runs the subcommand.
pub fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    match (&args.part, args.scenario) {
        (Some(part), _) => parts::run(part),
        (None, None) => list_scenarios(),
        (None, Some(ScenarioName::Trace)) => workloads::trace(args),
        (None, Some(ScenarioName::Load)) => workloads::load(args),
        (None, Some(_)) if !args.workload.is_empty() || args.window.is_some() => {
            bail!("--workload and --window are for the scenarios trace and load")
        }
        (None, Some(name)) => {
            let results = measure(args, scenario(name, args)?.as_ref())?;
            write_files(args, None, &results)?;
            Ok(exit_code(results.has_faults()))
        }
    }
}

fn list_scenarios() -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    for (name, about, sizes) in [
        (Snapshot::NAME, Snapshot::ABOUT, Snapshot::SIZES.as_slice()),
        (Sockets::NAME, Sockets::ABOUT, &Sockets::SIZES),
        (Probe::NAME, Probe::ABOUT, &Probe::SIZES),
        (Sweep::NAME, Sweep::ABOUT, &Sweep::SIZES),
        (Trace::NAME, Trace::ABOUT, &Trace::SIZES),
        (Load::NAME, Load::ABOUT, &Load::SIZES),
    ] {
        let sizes = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        writeln!(out, "{name:10} {about} (sizes: {sizes})")?;
    }
    writeln!(out, "\nportolan bench SCENARIO runs one; --help has the options.")?;
    Ok(ExitCode::SUCCESS)
}

fn scenario(name: ScenarioName, args: &BenchArgs) -> anyhow::Result<Box<dyn Scenario>> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let part = |name| Program::new(&own, ["bench", name]);
    let hold = part("hold");
    let slow_peers_max = (!args.all).then_some(args.slow_peers_max);
    Ok(match name {
        ScenarioName::Snapshot => {
            let read = part("read");
            Box::new(Snapshot::new(SnapshotOptions { hold, read, slow_peers_max }))
        }
        ScenarioName::Sockets => {
            let list = Program::new(&own, ["sockets"]);
            Box::new(Sockets::new(SocketsOptions { hold, list, slow_peers_max }))
        }
        ScenarioName::Probe => {
            let (listen, published) = (part("listen"), part("published"));
            let probe = Program::new(&own, ["probe"]);
            Box::new(Probe::new(ProbeOptions { listen, published, probe, slow_peers_max }))
        }
        ScenarioName::Sweep => {
            let (listen, probe) = (part("listen"), Program::new(&own, ["probe"]));
            Box::new(Sweep::new(SweepOptions { listen, probe, slow_peers_max }))
        }
        ScenarioName::Trace | ScenarioName::Load => bail!("this scenario has several workloads"),
    })
}

fn exit_code(has_faults: bool) -> ExitCode {
    if has_faults { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

fn measure(args: &BenchArgs, scenario: &dyn Scenario) -> anyhow::Result<Results> {
    let options = Options {
        sizes: args.sizes.iter().map(|size| size.get()).collect(),
        rounds: args.rounds.map(NonZero::get),
        order: Order { seed: args.seed },
        baseline: args.baseline.clone(),
        only: args.only.clone(),
    };
    let (mut stdout, mut stderr) = (io::stdout(), io::stderr());
    let is_terminal = stderr.is_terminal();
    let mut progress = Progress::new(&mut stderr, is_terminal);
    let write = if args.json { report::write_json_last } else { report::write_table };
    Ok(run_scenario(scenario, &options, &mut |event| {
        progress.tell(event);
        match event {
            Event::Finished(results) => write(results, &mut stdout).and_then(|()| stdout.flush()),
            Event::Preparing { .. } | Event::Running { .. } | Event::Counting { .. } => Ok(()),
        }
    })?)
}

/// Writes the files that are wanted; of one `part` of several, files of its own.
fn write_files(args: &BenchArgs, part: Option<&str>, results: &Results) -> anyhow::Result<()> {
    let mut written = Vec::new();
    if let Some(file) = &args.csv {
        let file = part.map_or_else(|| file.clone(), |part| of_part(file, part));
        report::write_file(&file, report::write_csv, results)?;
        written.push(file);
    }
    if let Some(directory) = &args.output {
        let directory = part.map_or_else(|| directory.clone(), |part| directory.join(part));
        written.extend(report::write_directory(&directory, results)?);
    }
    for file in written {
        tell!("wrote {}", file.display());
    }
    Ok(())
}

/// `results-short.csv` of `results.csv`.
fn of_part(file: &Path, part: &str) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push("-");
    name.push(part);
    if let Some(extension) = file.extension() {
        name.push(".");
        name.push(extension);
    }
    file.with_file_name(name)
}
