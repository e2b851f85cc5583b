//! `portolan load server`.

use std::{net::SocketAddr, process::ExitCode, time::Duration};

use clap::{Args, ValueEnum};
use portolan_load::{Server, ServerOptions, Transports, parse_addresses};
use serde::Serialize;

use super::{bytes, print_json, print_text, take_signals, text};

/// Answer each request of a fixed size with a response of a fixed size, over TCP and UDP.
///
/// Says `ready` on standard error once it listens everywhere (with --json, an object on standard
/// output), and at its end, by a signal or --duration, what happened at each port.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// Where to listen: addresses with a port or range, separated by commas; a port or range alone
    /// is on loopback. May be given several times.
    #[arg(long, value_name = "LIST", default_value = "127.0.0.1:9000")]
    listen: Vec<String>,

    /// Over which protocols.
    #[arg(long, value_enum, default_value = "both")]
    transport: Transport,

    /// So many bytes of a connection are a request; over UDP each datagram is one.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    request: u32,

    /// So many bytes answer it; 0 for none.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    response: u32,

    /// Threads [default: one per core].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// End after this time [default: at SIGINT or SIGTERM].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,

    /// Print JSON: an object when it listens, and one at the end (docs/formats/load.md).
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Transport {
    /// Only TCP.
    Tcp,
    /// Only UDP.
    Udp,
    /// Both, at each address.
    Both,
}

/// What is said once it listens.
#[derive(Serialize)]
struct Ready<'a> {
    version: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    addresses: &'a [SocketAddr],
}

/// Runs the subcommand.
///
/// # Errors
/// Where it cannot listen.
pub fn run(args: &ServerArgs) -> anyhow::Result<ExitCode> {
    let mut listen = Vec::new();
    for list in &args.listen {
        listen.extend(parse_addresses(list)?);
    }
    let transports = match args.transport {
        Transport::Tcp => Transports::Tcp,
        Transport::Udp => Transports::Udp,
        Transport::Both => Transports::Both,
    };
    let signals = take_signals()?;
    let server = Server::start(&ServerOptions {
        listen,
        transports,
        request_bytes: args.request,
        response_bytes: args.response,
        threads: args.threads.map_or(0, usize::from),
    })?;
    if args.json {
        let (version, addresses) = (portolan_load::VERSION, server.addresses());
        print_json(&Ready { version, kind: "ready", addresses })?;
    } else {
        anstream::eprintln!("ready");
    }
    match args.duration {
        Some(duration) => signals.wait_timeout(duration),
        None => signals.wait(),
    }
    let summary = server.stop()?;
    if args.json {
        print_json(&summary)?
    } else {
        print_text(&text::server(&summary))?
    }
    Ok(ExitCode::SUCCESS)
}
