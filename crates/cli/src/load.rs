//! `portolan load`: a server and a client that know exactly what they did.

mod client;
mod ports;
mod server;

pub use server::{interval, text as server_text};

use std::{
    io, process,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::{Args, Subcommand};
use portolan_load::Stop;
use portolan_sys::signals;

/// Exit code of a program that ended by SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

/// Generate load: a server to be loaded, and a client that is not the bottleneck.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  portolan load server --listen 127.0.0.1:9000-9049
  portolan load client connect 127.0.0.1:9000-9049 --rate 20000 --duration 10s
  portolan load client request 127.0.0.1:9000 --connections 64 --count 1000000 --json
  portolan load client hold 127.0.0.1:9000-9009 --connections 100000 --source 127.0.1.0/24
  portolan load client http http://127.0.0.1:8080/ --rate 20000 --report load.html
  portolan load client udp 127.0.0.1:9000-9049 --rate 5000
  portolan load ports --out ports

Exit codes: 0 done; 1 errors, or less than 90 % of the asked rate; 2 an error.")]
pub struct LoadArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    Server(server::ServerArgs),
    Client(Box<client::ClientArgs>),
    Ports(ports::PortsArgs),
}

/// Runs the subcommand.
pub fn run(args: &LoadArgs) -> anyhow::Result<ExitCode> {
    // Fewer connections are possible without; what is missing is said then.
    let _ = portolan_sys::limits::raise_descriptors();
    match &args.end {
        End::Server(args) => server::run(args),
        End::Client(args) => client::run(args),
        End::Ports(args) => ports::run(args),
    }
}

/// Signals within this time are one wish: `timeout` of coreutils tells the program and then its
/// group, which it is in.
const ONE_WISH: Duration = Duration::from_millis(300);

/// The first signal to end asks for an orderly end, the second ends at once.
fn end_by(signals: signals::Signals, stop: Stop) -> anyhow::Result<()> {
    let end = move || {
        signals.wait();
        stop.ask();
        let until = Instant::now() + ONE_WISH;
        while Instant::now() < until {
            signals.wait_timeout(until.saturating_duration_since(Instant::now()));
        }
        signals.wait();
        process::exit(INTERRUPTED);
    };
    let named = thread::Builder::new().name("signals".to_owned());
    named.spawn(end).map(drop).context("cannot listen for signals")
}

fn take_signals() -> anyhow::Result<signals::Signals> {
    signals::take().context("cannot listen for signals")
}

/// Bytes that a message may have.
fn bytes(text: &str) -> Result<u32, String> {
    let bytes: u32 = text.parse().map_err(|_not_one| "not a number".to_owned())?;
    let most = portolan_load::MESSAGE_BYTES_MAX;
    if bytes <= most { Ok(bytes) } else { Err(format!("0 to {most} is possible")) }
}

/// A line of JSON.
pub fn print_json(record: &impl serde::Serialize) -> anyhow::Result<()> {
    let line = serde_json::to_string(record).context("cannot write JSON")?;
    print_text(&line)
}

/// A line, or several.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    use io::Write;
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("cannot write to standard output")
}
