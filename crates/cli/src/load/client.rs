//! `portolan load client`.

use std::{net::SocketAddr, process::ExitCode, time::Duration};

use anyhow::bail;
use clap::{Args, ValueEnum};
use portolan_load::{
    Client, ClientOptions, Close, Mode, parse_addresses, parse_ports, parse_sources,
};
use portolan_probe::space::own_networks;

use super::{bytes, end_by, print_json, print_text, take_signals, text};

/// For how long it runs where nobody says.
const DURATION: Duration = Duration::from_secs(10);

/// Load targets with connections, requests or datagrams, and say exactly what happened.
///
/// At a --rate, starts are planned in advance and happen whatever comes back (open loop); without,
/// the next one begins when there is room. Errors end nothing: they are counted, by kind.
#[derive(Args, Debug)]
pub struct ClientArgs {
    /// What to do.
    #[arg(value_enum)]
    mode: Kind,

    /// Whom to load, in turns: addresses with a port or range, separated by commas.
    #[arg(value_name = "TARGETS", required = true)]
    targets: Vec<String>,

    /// Starts per second: connections in mode connect, else requests [default: all that go].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Connections or sockets at once [default: 1000 in mode connect at a rate, else 64].
    #[arg(short, long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,

    /// End after so many starts.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Start no more after this time [default: 10s, or none with --count].
    #[arg(short, long, value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,

    /// In mode connect, requests of each connection, one after the other; 0 for none.
    #[arg(long, value_name = "N", default_value = "1")]
    requests: u32,

    /// Bytes of a request.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    request: u32,

    /// Bytes of a response; 0 for none.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    response: u32,

    /// For how long a connection, and then a response, is waited for.
    #[arg(long, value_name = "TIME", default_value = "3s")]
    #[arg(value_parser = humantime::parse_duration)]
    timeout: Duration,

    /// Close connections by a reset instead of in order.
    #[arg(long)]
    reset: bool,

    /// In mode udp, do not connect sockets: each datagram goes to the next target.
    #[arg(long)]
    unconnected: bool,

    /// Source addresses, in turns: addresses and networks, separated by commas.
    #[arg(long, value_name = "LIST")]
    source: Option<String>,

    /// Source ports of connections, in turns [default: the kernel's range of ephemeral ports].
    #[arg(long, value_name = "FIRST-LAST")]
    source_ports: Option<String>,

    /// Threads.
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,

    /// Load addresses that are neither private nor loopback: only with their owner's consent.
    #[arg(long)]
    i_own_these_networks: bool,

    /// Print one JSON object at the end (docs/formats/load.md).
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Short-lived connections.
    Connect,
    /// Requests over persistent connections, one at a time on each.
    Request,
    /// Round trips of datagrams, one at a time on each socket.
    Udp,
}

/// Runs the subcommand.
///
/// # Errors
/// When nothing can be begun.
pub fn run(args: &ClientArgs) -> anyhow::Result<ExitCode> {
    let options = options(args)?;
    if !args.i_own_these_networks {
        ensure_owned(&options.targets)?;
    }
    let signals = take_signals()?;
    let client = Client::start(&options)?;
    end_by(signals, client.stop_handle())?;
    let summary = client.wait()?;
    if args.json {
        print_json(&summary)?
    } else {
        print_text(&text::client(&summary))?
    }
    let is_good = summary.has_kept_up() && summary.total.errors() == 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn options(args: &ClientArgs) -> anyhow::Result<ClientOptions> {
    let mut targets = Vec::new();
    for list in &args.targets {
        targets.extend(parse_addresses(list)?);
    }
    let is_open_loop = args.mode == Kind::Connect && args.rate.is_some();
    let default_connections = if is_open_loop { 1_000 } else { 64 };
    let duration = args.duration.or_else(|| args.count.is_none().then_some(DURATION));
    Ok(ClientOptions {
        mode: match args.mode {
            Kind::Connect => Mode::Connect,
            Kind::Request => Mode::Request,
            Kind::Udp => Mode::Udp,
        },
        targets,
        sources: args.source.as_deref().map(parse_sources).transpose()?.unwrap_or_default(),
        source_ports: args.source_ports.as_deref().map(parse_ports).transpose()?,
        rate: args.rate,
        connections: args.connections.unwrap_or(default_connections),
        count: args.count,
        duration,
        requests: args.requests,
        request_bytes: args.request,
        response_bytes: args.response,
        timeout: args.timeout,
        close: if args.reset { Close::Reset } else { Close::Fin },
        unconnected: args.unconnected,
        threads: args.threads.into(),
    })
}

/// Load on somebody else's service is an attack to them.
fn ensure_owned(targets: &[SocketAddr]) -> anyhow::Result<()> {
    let own = own_networks();
    for target in targets {
        let address = target.ip().to_canonical();
        if !own.contains(address) {
            bail!(
                "{address} is outside private networks, where load may be taken for an attack: \
                 with its owner's consent, say --i-own-these-networks"
            );
        }
    }
    Ok(())
}
