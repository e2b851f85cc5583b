//! The program `portolan`: one file per subcommand.
//!
//! Exit codes: 0 done; 1 the answer is no (nothing of that name, a job that cannot be done here);
//! 2 an error. A reader that closes the pipe early is no error.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

// First, since all others tell things by its macro.
#[macro_use]
mod print;

mod bench;
mod doctor;
mod host;
mod listing;
mod load;
mod map;
mod metrics;
mod probe;
mod sockets;
mod trace;

/// TCP on Linux: who talks to whom, which sockets exist, is a port open, what the kernel allows.
#[derive(Debug, Parser)]
#[command(name = "portolan", version, max_term_width = 100, subcommand_required = true)]
#[command(after_help = "Exit codes: 0 done; 1 the answer is no; 2 an error.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Map(map::MapArgs),
    Trace(trace::TraceArgs),
    Sockets(sockets::SocketsArgs),
    Probe(probe::ProbeArgs),
    Load(load::LoadArgs),
    Host(Box<host::HostArgs>),
    Doctor(doctor::DoctorArgs),
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse_from(probe::spelled_like_nmap(std::env::args_os()));
    let done = match &arguments.command {
        Command::Map(args) => map::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Sockets(args) => sockets::run(args),
        Command::Probe(args) => probe::run(args),
        Command::Load(args) => load::run(args),
        Command::Host(args) => host::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(args) => bench::run(args),
    };
    done.unwrap_or_else(|error| print::ending(&error))
}
