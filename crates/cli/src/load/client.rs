//! `portolan load client`.

mod args;
mod csv;
mod hlog;
mod live;
mod outputs;
mod report;
mod targets;
mod words;

use std::{env, io, process::Command, process::ExitCode};

use anyhow::{Context, bail};
use portolan_load::{Client, ClientOptions, Interval, serve_parent, sockets_per_process};

use super::{end_by, print_json, print_text, take_signals};
pub use args::ClientArgs;
use live::Live;
use outputs::Outputs;

/// The most processes, as with `--processes`.
const PROCESSES_MAX: usize = 1024;

/// With which the program starts itself for a part of the load.
const PART: &str = "--part-of-a-load";

/// Runs the subcommand.
///
/// # Errors
/// When nothing can be begun.
pub fn run(args: &ClientArgs) -> anyhow::Result<ExitCode> {
    if args.is_part() {
        return part();
    }
    let options = args.options()?;
    let signals = take_signals()?;
    let mut outputs = Outputs::open(&args.outputs)?;
    let client = start(&options, args.processes)?;
    end_by(signals, client.stop_handle())?;
    let mut live = Live::new(&options, args.is_quiet());
    let mut failed = Failed::default();
    let mut intervals: Vec<Interval> = Vec::new();
    let (summary, measured) = client.wait_with(|interval, measured| {
        live.show(interval);
        let shown = if args.json { live.aside(|| print_json(interval)) } else { Ok(()) };
        failed.note(shown);
        failed.note(outputs.add(interval, measured));
        if args.outputs.report.is_some() {
            intervals.push(interval.clone());
        }
    })?;
    live.clear();
    failed.note(if args.json {
        print_json(&summary)
    } else {
        print_text(&words::client(&summary, &measured))
    });
    failed.note(outputs.finish(&summary, &measured, &intervals));
    failed.0.map_or(Ok(()), Err)?;
    Ok(if summary.is_good() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The first thing that could not be written: it is said at the end, and keeps from nothing else. A
/// reader that closes the pipe early is no error.
#[derive(Default)]
struct Failed(Option<anyhow::Error>);

impl Failed {
    fn note(&mut self, done: anyhow::Result<()>) {
        let is_closed_pipe = |io: &io::Error| io.kind() == io::ErrorKind::BrokenPipe;
        if let Err(error) = done
            && !error.chain().any(|cause| cause.downcast_ref().is_some_and(is_closed_pipe))
        {
            self.0.get_or_insert(error);
        }
    }
}

/// In as many processes as are asked for, or as descriptors make necessary.
fn start(options: &ClientOptions, asked: Option<u16>) -> anyhow::Result<Client> {
    let needed = u64::from(options.connections).div_ceil(sockets_per_process());
    let processes = usize::try_from(asked.map_or(needed, u64::from)).unwrap_or(usize::MAX);
    if processes <= 1 {
        return Ok(Client::start(options)?);
    }
    let program = env::current_exe().context("cannot find this program to start it again")?;
    if processes > PROCESSES_MAX {
        bail!(
            "{} connections would take {processes} processes, as each may have {} sockets: raise \
             the limit of file descriptors (ulimit -n), or ask for fewer",
            options.connections,
            sockets_per_process()
        );
    }
    // Each process has threads of its own; together they are to be about as many as asked for.
    let connections = usize::try_from(options.connections).unwrap_or(usize::MAX);
    let threads = options.threads.div_ceil(processes).min(connections / processes).max(1);
    let options = ClientOptions { threads, ..options.clone() };
    let command = || {
        let mut command = Command::new(&program);
        command.args(["load", "client", PART, "request", "127.0.0.1:1"]);
        command
    };
    Ok(Client::start_processes(&options, command, processes)?)
}

/// A part of the load that another process of this program has asked for.
fn part() -> anyhow::Result<ExitCode> {
    // Those who end the parent from a terminal end its children by way of it.
    let _signals = take_signals()?;
    // The end of the pipe says so too, but not to one that is stopped.
    portolan_sys::process::end_with_parent().context("cannot ask for an end with the parent")?;
    serve_parent(io::stdin(), io::stdout())?;
    Ok(ExitCode::SUCCESS)
}
