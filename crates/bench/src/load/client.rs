//! The clients, and how their users call them.

use std::time::Duration;

use super::{BareLoop, said::Said, server::ADDRESS};
use crate::program::Executable;

/// One that loads a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// `portolan load client http`.
    Http,
    /// `wrk`.
    Wrk,
    /// `h2load --h1`.
    H2load,
    /// `oha`.
    Oha,
    /// `portolan load client connect`, all that go.
    Connect {
        /// Reset instead of closed in order.
        resets: bool,
    },
    /// The same at twice the rate that it reached without one.
    TooMany,
    /// [`super::bare_loop()`].
    Bare {
        /// Reset instead of closed in order.
        resets: bool,
    },
}

/// What a client is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ask {
    pub(super) connections: u64,
    pub(super) threads: usize,
    pub(super) duration: Duration,
    pub(super) keep_alive: bool,
    /// Connections per second, where that is asked for.
    pub(super) rate: Option<f64>,
}

/// How each client that needs it is told to have one connection per request.
const CLOSE: [&str; 2] = ["-H", "Connection: close"];

/// So many requests per second h2load is to send where it has to be told how many in all.
const H2LOAD_PER_SECOND: u64 = 15_000;

impl Client {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "portolan",
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::Connect { resets: false } => "portolan connect",
            Self::Connect { resets: true } => "portolan connect (reset)",
            Self::TooMany => "portolan connect, twice as much asked",
            Self::Bare { resets: false } => "bare loop",
            Self::Bare { resets: true } => "bare loop (reset)",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Http => "portolan load client http: status and length of each response verified",
            Self::Wrk => "wrk",
            Self::H2load => "h2load with HTTP/1.1",
            Self::Oha => "oha",
            Self::Connect { .. } => "portolan load client connect, without a request",
            Self::TooMany => "at twice the rate that it reached without one: it has to say so",
            Self::Bare { .. } => "socket, connect, close, again and again; the kernel's ports",
        }
    }

    /// The bare loop that ends connections alike.
    pub(super) fn bare_baseline(self) -> &'static str {
        let resets = matches!(self, Self::Connect { resets: true } | Self::Bare { resets: true });
        Self::Bare { resets }.name()
    }

    /// Somebody else's program.
    pub(super) fn peer(self) -> Executable {
        let (program, install) = match self {
            Self::H2load => ("h2load", "apt-get install nghttp2-client"),
            Self::Oha => ("oha", "cargo install oha"),
            _ => ("wrk", "apt-get install wrk"),
        };
        Executable::Peer { program, needs: &[], install }
    }

    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Http | Self::Connect { .. } | Self::TooMany)
    }

    pub(super) fn args(self, ask: Ask) -> Vec<String> {
        match self {
            Self::Http | Self::Connect { .. } | Self::TooMany => self.own_args(ask),
            Self::Wrk => wrk(ask),
            Self::H2load => h2load(ask),
            Self::Oha => oha(ask),
            Self::Bare { resets } => {
                let (target, threads, duration) = (ADDRESS, ask.threads, ask.duration);
                BareLoop { target, threads, duration, resets }.to_args()
            }
        }
    }

    fn own_args(self, ask: Ask) -> Vec<String> {
        let (mode, target) = match self {
            Self::Http => ("http", url()),
            _ => ("connect", ADDRESS.to_string()),
        };
        let (duration, threads) =
            (format!("{}ms", ask.duration.as_millis()), ask.threads.to_string());
        let mut all = vec!["client", mode, &target, "--duration", &duration];
        all.extend(["--threads", &threads, "--json"]);
        let (connections, rate) = (ask.connections.to_string(), ask.rate.map(|r| r.to_string()));
        match &rate {
            // As many at once as it takes by itself.
            Some(rate) => all.extend(["--rate", rate]),
            None => all.extend(["--connections", &connections]),
        }
        match self {
            Self::Http if ask.keep_alive => {}
            Self::Http => all.push("--no-keepalive"),
            _ => all.extend(["--requests", "0"]),
        }
        if self == (Self::Connect { resets: true }) {
            all.push("--reset");
        }
        owned(&all)
    }

    /// What it says that it did.
    pub(super) fn read(self, output: &str) -> Result<Said, String> {
        match self {
            Self::Http | Self::Connect { .. } | Self::TooMany => Said::of_portolan(output),
            Self::Wrk => Said::of_wrk(output),
            Self::H2load => Said::of_h2load(output),
            Self::Oha => Said::of_oha(output),
            Self::Bare { .. } => Said::of_bare(output),
        }
    }
}

/// The name of `client` where it loads nginx.
pub(super) fn to_nginx(client: Client) -> &'static str {
    match client {
        Client::H2load => "h2load to nginx",
        Client::Oha => "oha to nginx",
        Client::Wrk => "wrk to nginx",
        _ => "portolan to nginx",
    }
}

fn url() -> String {
    format!("http://{ADDRESS}/")
}

fn wrk(ask: Ask) -> Vec<String> {
    let (threads, connections) = (format!("-t{}", ask.threads), format!("-c{}", ask.connections));
    let (duration, url) = (format!("-d{}s", ask.duration.as_secs()), url());
    let mut all = vec![threads.as_str(), &connections, &duration];
    all.extend(if ask.keep_alive { &[][..] } else { &CLOSE });
    all.push(&url);
    owned(&all)
}

/// Told how long to go on, and to have one connection per request, it does not end (1.52).
fn h2load(ask: Ask) -> Vec<String> {
    let (threads, connections) = (format!("-t{}", ask.threads), format!("-c{}", ask.connections));
    let count = (H2LOAD_PER_SECOND * ask.duration.as_secs()).max(ask.connections);
    let (duration, count) = (format!("-D{}s", ask.duration.as_secs()), format!("-n{count}"));
    let url = url();
    let mut all = vec!["--h1", &threads, &connections];
    if ask.keep_alive {
        all.push(&duration);
    } else {
        all.push(&count);
        all.extend(CLOSE);
    }
    all.push(&url);
    owned(&all)
}

fn oha(ask: Ask) -> Vec<String> {
    let (threads, connections) = (ask.threads.to_string(), ask.connections.to_string());
    let (duration, url) = (format!("{}s", ask.duration.as_secs()), url());
    let mut all = vec!["--no-tui", "--output-format", "json", "--worker-threads", &threads];
    all.extend(["-c", &connections, "-z", &duration]);
    if !ask.keep_alive {
        all.push("--disable-keepalive");
    }
    all.push(&url);
    owned(&all)
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests;
