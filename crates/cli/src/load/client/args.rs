//! What is asked for on the command line, and what it means.

use std::{path::PathBuf, thread, time::Duration};

use clap::{Args, ValueEnum};
use portolan_load::{
    ClientOptions, Close, Mode, Share, parse_ports, parse_sources, source_ports::Strategy,
};

use super::targets::{Targets, read};
use crate::load::bytes;

/// For how long it runs where nobody says.
const DURATION: Duration = Duration::from_secs(10);

/// Load targets with connections, requests or datagrams, and say exactly what happened.
///
/// At a --rate, starts are planned in advance and happen whatever comes back (open loop), and a
/// request's time counts from when it was meant to begin; without, the next one begins when there
/// is room. Errors end nothing: they are counted, by kind.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  portolan load client connect 127.0.0.1:9000-9049 --rate 20000 --duration 10s
  portolan load client request 127.0.0.1:9000 --connections 64 --depth 8 --count 1000000 --json
  portolan load client request db.local:9000 --rate 50000 --ramp 10s --warm-up 12s --duration 1m \\
    --csv load.csv --hdr load.hlog --report load.html
  portolan load client hold 127.0.0.1:9000-9009 --connections 200000 --source 127.0.1.0/24
  portolan load client http http://127.0.0.1:8080/ http://127.0.0.1:8080/64 --expect-status 200
  portolan load client udp 127.0.0.1:9000 --rate 5000

Exit codes: 0 done; 1 errors, less than 90 % of the asked rate, or connections that were not held;
2 nothing could be begun, or not written.")]
pub struct ClientArgs {
    /// What to do.
    #[arg(value_enum)]
    mode: Kind,

    /// Whom to load, in turns: hosts with a port or range, separated by commas, or URLs (modes http
    /// and hold). Names are resolved once, before the run.
    #[arg(value_name = "TARGETS", required = true)]
    targets: Vec<String>,

    /// Starts per second: connections in modes connect and hold, else requests [default: all that
    /// go].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    rate: Option<f64>,

    /// For so long the rate grows, linearly, from nothing.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "rate")]
    ramp: Option<Duration>,

    /// Connections or sockets at once [default: 1000 in mode connect at a rate, else 64].
    #[arg(short, long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,

    /// Requests under way at once on each persistent connection.
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: u32,

    /// End after so many starts.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Start no more after this time; in mode hold, keep the connections for so long once all are
    /// open [default: 10s, or none with --count].
    #[arg(short, long, value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,

    /// Leave times and rates of the begin out; counts are of all.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    warm_up: Option<Duration>,

    /// In mode connect, requests of each connection, one after the other; 0 for none.
    #[arg(long, value_name = "N", default_value = "1")]
    requests: u32,

    /// Bytes of a request.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    request: u32,

    /// Bytes of a response; 0 for none.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    response: u32,

    #[command(flatten)]
    http: HttpArgs,

    /// In mode hold, also prove so often that each connection is alive, not only at the end.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    verify_every: Option<Duration>,

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

    /// Source ports of connections, in turns [default: the kernel's range of ephemeral ports, of
    /// which `explicit` leaves a sixteenth to other programs].
    #[arg(long, value_name = "FIRST-LAST")]
    source_ports: Option<String>,

    /// Who chooses source ports.
    #[arg(long, value_name = "STRATEGY", value_enum, default_value = "auto")]
    ports: Ports,

    /// Threads [default: one per core, and at most one per connection].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Processes that share the load [default: as few as the limit of descriptors allows].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) processes: Option<u16>,

    /// Load addresses that are neither private nor loopback: only with their owner's consent.
    #[arg(long)]
    i_own_these_networks: bool,

    #[command(flatten)]
    pub(super) outputs: OutputArgs,

    /// Print JSON: an object for each interval, and one at the end (docs/formats/load.md).
    #[arg(long)]
    pub(super) json: bool,

    /// Do not show on the terminal how far the run is.
    #[arg(long)]
    quiet: bool,

    /// A part of what another process does: options and orders come over standard input.
    #[arg(long, hide = true)]
    part_of_a_load: bool,
}

/// What is asked for over HTTP.
#[derive(Args, Debug)]
pub(super) struct HttpArgs {
    /// In mode http, a new connection for each request.
    #[arg(long)]
    no_keepalive: bool,

    /// The method of HTTP requests.
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    pub(super) method: String,

    /// A header of HTTP requests. May be given several times.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(super) headers: Vec<String>,

    /// What is sent with each HTTP request.
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub(super) body: Option<String>,

    /// The same, from a file.
    #[arg(long, value_name = "FILE")]
    pub(super) body_file: Option<PathBuf>,

    /// The status that HTTP responses have to have [default: any from 200 to 399].
    #[arg(long, value_name = "STATUS")]
    #[arg(value_parser = clap::value_parser!(u16).range(100..=999))]
    pub(super) expect_status: Option<u16>,

    /// The bytes that the body of HTTP responses has to have [default: those it says itself].
    #[arg(long, value_name = "BYTES")]
    pub(super) expect_bytes: Option<u64>,
}

impl HttpArgs {
    pub(super) fn keeps_alive(&self) -> bool {
        !self.no_keepalive
    }
}

/// Where the run is written to, besides standard output.
#[derive(Args, Debug)]
pub(super) struct OutputArgs {
    /// How long the intervals are, of which every view is made.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    #[arg(value_parser = humantime::parse_duration)]
    pub(super) interval: Duration,

    /// Write a line for each interval.
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,

    /// Write the histograms of each interval, in the log format of HdrHistogram.
    #[arg(long, value_name = "FILE")]
    pub(super) hdr: Option<PathBuf>,

    /// Write a page with plots.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Short-lived connections.
    Connect,
    /// Connections that are opened and kept, and prove at the end that they are alive.
    Hold,
    /// Requests over persistent connections.
    Request,
    /// HTTP/1.1 requests.
    Http,
    /// Round trips of datagrams, one at a time on each socket.
    Udp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ports {
    /// What is best on this host.
    Auto,
    /// The kernel, as with most programs.
    Kernel,
    /// This program: one bind to each.
    Explicit,
    /// The kernel, from a part of the range for each thread.
    Range,
}

impl ClientArgs {
    pub(super) fn is_part(&self) -> bool {
        self.part_of_a_load
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// All that the library is to know.
    pub(super) fn options(&self) -> anyhow::Result<ClientOptions> {
        let takes_urls = matches!(self.mode, Kind::Http | Kind::Hold);
        let Targets { addresses, http } = read(&self.targets, takes_urls, &self.http)?;
        if !self.i_own_these_networks {
            super::targets::ensure_owned(&addresses)?;
        }
        let is_open_loop = self.mode == Kind::Connect && self.rate.is_some();
        let default_connections = if is_open_loop { 1_000 } else { 64 };
        let connections = self.connections.unwrap_or(default_connections);
        let has_end = self.count.is_some() && self.mode != Kind::Hold;
        Ok(ClientOptions {
            mode: match self.mode {
                Kind::Connect => Mode::Connect,
                Kind::Hold => Mode::Hold,
                Kind::Request => Mode::Request,
                Kind::Http => Mode::Http,
                Kind::Udp => Mode::Udp,
            },
            targets: addresses,
            sources: self.source.as_deref().map(parse_sources).transpose()?.unwrap_or_default(),
            source_ports: self.source_ports.as_deref().map(parse_ports).transpose()?,
            ports: match self.ports {
                Ports::Auto => Strategy::Auto,
                Ports::Kernel => Strategy::Kernel,
                Ports::Explicit => Strategy::Explicit,
                Ports::Range => Strategy::Range,
            },
            rate: self.rate,
            ramp: self.ramp.unwrap_or_default(),
            connections,
            depth: self.depth,
            count: self.count,
            duration: self.duration.or_else(|| (!has_end).then_some(DURATION)),
            warm_up: self.warm_up.unwrap_or_default(),
            interval: self.outputs.interval,
            verify_every: self.verify_every,
            requests: self.requests,
            request_bytes: self.request,
            response_bytes: self.response,
            http,
            keep_alive: self.http.keeps_alive(),
            timeout: self.timeout,
            close: if self.reset { Close::Reset } else { Close::Fin },
            unconnected: self.unconnected,
            threads: self.threads.map_or_else(|| threads_for(connections), usize::from),
            share: Share::default(),
        })
    }
}

/// One per core, as far as each has a connection.
fn threads_for(connections: u32) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    cores.min(usize::try_from(connections).unwrap_or(usize::MAX))
}
