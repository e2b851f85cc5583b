//! `portolan load server`.

pub mod text;

use std::{
    io::{self, IsTerminal},
    net::SocketAddr,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use portolan_load::{
    BODY_BYTES_MAX, Server, ServerOptions, Sizes, Transports, parse_addresses, parse_serve,
};
use portolan_sys::signals::Signals;
use serde::Serialize;

use super::{bytes, print_json, print_text, take_signals};

/// Serve requests of a fixed size, HTTP/1.1, echo or sink, over TCP and UDP, and count.
///
/// Says `ready` on standard error once it listens everywhere (with --json, an object on standard
/// output), each second what happens, and at its end, by a signal or --duration, what happened at
/// each port.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Services (for --serve; sizes in bytes are optional):
  rr=64/64:LIST   each 64 bytes that come are a request, 64 bytes answer it; what --listen does
  http=64:LIST    HTTP/1.1, TCP only: / has a body of 64 bytes, /N one of N; GET, HEAD, POST, PUT
  echo:LIST       what comes is sent back
  sink:LIST       what comes is read and thrown away

Examples:
  portolan load server --listen 127.0.0.1:9000-9999
  portolan load server --serve http:8080 --duration 1m
  portolan load server --serve rr=4/64:9100 --transport tcp --threads 1 --json
  portolan load server --serve echo:9000 --serve http:8080 --serve sink:9200-9299

Exit codes: 0 done; 2 an error, such as an address that is taken.")]
pub struct ServerArgs {
    /// Where to answer requests of a fixed size: addresses with a port or range, separated by
    /// commas; a port or range alone is on loopback. May be given several times [default:
    /// 127.0.0.1:9000, if there is no --serve].
    #[arg(long, value_name = "LIST")]
    listen: Vec<String>,

    /// What to serve, and where: echo, http, rr or sink, a colon, and a list as of --listen. May be
    /// given several times.
    #[arg(long, value_name = "SERVICE:LIST")]
    serve: Vec<String>,

    /// Over which protocols. HTTP is over TCP, whatever stands here.
    #[arg(long, value_enum, default_value = "both")]
    transport: Transport,

    /// So many bytes of a connection are a request; over UDP each datagram is one.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    request: u32,

    /// So many bytes answer it; 0 for none.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = bytes)]
    response: u32,

    /// So many bytes are the body of an HTTP response.
    #[arg(long, value_name = "BYTES", default_value = "64")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=BODY_BYTES_MAX))]
    body: u64,

    /// Threads [default: one per core].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Keep each thread on a core of its own.
    #[arg(long)]
    pin: bool,

    /// For how long an HTTP request, or room for more of its response, is waited for.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = humantime::parse_duration)]
    timeout: Duration,

    /// End after this time [default: at SIGINT or SIGTERM].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,

    /// Say so often what happens: on standard error if it is a terminal, or with --json.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,

    /// Print JSON: an object when it listens, one for each interval, and one at the end
    /// (docs/formats/load.md).
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
    let options = args.options()?;
    let signals = take_signals()?;
    let mut server = Server::start(&options)?;
    if args.json {
        let (version, addresses) = (portolan_load::VERSION, server.addresses());
        print_json(&Ready { version, kind: "ready", addresses })?;
    } else {
        tell!("ready");
    }
    args.watch(&mut server, &signals)?;
    server.settle()?;
    args.tell(&mut server)?;
    let summary = server.stop()?;
    if args.json {
        print_json(&summary)?
    } else {
        print_text(&text::summary(&summary))?
    }
    Ok(ExitCode::SUCCESS)
}

impl ServerArgs {
    fn options(&self) -> anyhow::Result<ServerOptions> {
        let mut listen = Vec::new();
        for list in &self.listen {
            listen.extend(parse_addresses(list)?);
        }
        let sizes = Sizes {
            request_bytes: self.request,
            response_bytes: self.response,
            body_bytes: self.body,
        };
        let mut serve = Vec::new();
        for text in &self.serve {
            serve.extend(parse_serve(text, sizes)?);
        }
        if listen.is_empty() && serve.is_empty() {
            listen = parse_addresses("127.0.0.1:9000")?;
        }
        Ok(ServerOptions {
            listen,
            serve,
            request_bytes: self.request,
            response_bytes: self.response,
            transports: match self.transport {
                Transport::Tcp => Transports::Tcp,
                Transport::Udp => Transports::Udp,
                Transport::Both => Transports::Both,
            },
            threads: self.threads.map_or(0, usize::from),
            is_pinned: self.pin,
            timeout: self.timeout,
        })
    }

    /// Waits for the end, and says meanwhile what happens.
    fn watch(&self, server: &mut Server, signals: &Signals) -> anyhow::Result<()> {
        let begun = Instant::now();
        let end = self.duration.and_then(|duration| begun.checked_add(duration));
        let mut next = self.is_shown().then_some(begun + self.interval);
        loop {
            let Some(at) = next.into_iter().chain(end).min() else {
                signals.wait();
                return Ok(());
            };
            if signals.wait_timeout(at.saturating_duration_since(Instant::now())) {
                return Ok(());
            }
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                return Ok(());
            }
            if let Some(due) = next.filter(|due| now >= *due) {
                self.tell(server)?;
                // After a stop there are no intervals to make up for.
                next = Some((due + self.interval).max(now));
            }
        }
    }

    fn is_shown(&self) -> bool {
        self.json || io::stderr().is_terminal()
    }

    fn tell(&self, server: &mut Server) -> anyhow::Result<()> {
        if self.json {
            print_json(&server.interval())?;
        } else if self.is_shown() {
            tell!("{}", text::interval(&server.interval()));
        }
        Ok(())
    }
}

/// A time between two lines.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let possible = Duration::from_millis(10)..=Duration::from_secs(3600);
    if possible.contains(&interval) { Ok(interval) } else { Err("10ms to 1h is possible".into()) }
}
