//! `sim`: long runs of the simulator.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod command;

/// Runs the stack in a simulated network that one seed decides.
///
/// Ends with 0 when all was right, 1 when a rule was broken or a file differs, 2 when it could not
/// run.
#[derive(Parser)]
#[command(name = "sim")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs many seeds; a failing one is made smaller and left in a file.
    Run(command::run::Arguments),
    /// Runs one scenario, from a file or of a seed.
    Replay(command::replay::Arguments),
    /// Runs scripts: one stack against a peer that is made by hand.
    Script(command::script::Arguments),
    /// Measures throughput over loss, RTT, bandwidth and congestion control.
    Table(command::table::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Replay(arguments) => command::replay::run(&arguments),
        Command::Script(arguments) => command::script::run(&arguments),
        Command::Table(arguments) => command::table::run(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("sim: {error:#}");
            ExitCode::from(2)
        }
    }
}
