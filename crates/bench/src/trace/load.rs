//! The load: a server and a client, each a process of its own.

use std::time::Duration;

use portolan_load::{ServerSummary, Summary};

use crate::{
    Fault, Program,
    process::{Ended, Process},
};

/// Where the server listens, and at so many ports above, below all ephemeral ports.
pub(super) const FIRST_PORT: u16 = 5_000;

/// As many as there are below the source ports.
pub(super) const SERVICES_MAX: u64 = 5_000;

/// What the client can be asked for.
pub(super) const RATE_MAX: u64 = 1_000_000;

/// Each connection has a descriptor at either end.
pub(super) const AT_ONCE_MAX: u64 = 10_000;

/// Source ports of TCP: so many that none comes again while its last connection's TIME-WAIT may not
/// be reused, which on loopback is a second.
const SOURCE_PORTS: &str = "10000-65535";

/// Connections that are held, or sockets that are used, at once.
const PERSISTENT_CONNECTIONS: u64 = 64;

/// Of short-lived ones at most so many are up at once: more than it takes, unless the server is
/// behind.
const SHORT_CONNECTIONS: u64 = 1_000;

/// Connections per second to all services together.
const FAN_RATE: u64 = 10_000;

/// How long it may take to get ready, or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What goes over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Connect, a request and its response, close.
    Short,
    /// Requests over connections that stay.
    Persistent,
    /// Datagrams, to and fro.
    Udp,
    /// The first, to many ports.
    Fan,
}

/// A load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) flow: Flow,
    /// Starts per second; `None`: one after the other, as fast as they go.
    pub(super) rate: Option<u64>,
    /// Connections at once.
    pub(super) at_once: u64,
    /// Ports of the server.
    pub(super) services: u16,
    /// How long.
    pub(super) duration: Duration,
}

impl Plan {
    /// The load of a `size` at a rate, or for [`Flow::Fan`] with so many services.
    pub(super) fn at_rate(flow: Flow, size: u64, duration: Duration) -> Self {
        let rate = if flow == Flow::Fan { FAN_RATE } else { size };
        let services = if flow == Flow::Fan { u16::try_from(size).unwrap_or(1) } else { 1 };
        let at_once = match flow {
            Flow::Short | Flow::Fan => SHORT_CONNECTIONS,
            Flow::Persistent | Flow::Udp => PERSISTENT_CONNECTIONS,
        };
        Self { flow, rate: Some(rate), at_once, services, duration }
    }

    /// The load without a rate.
    pub(super) fn closed_loop(flow: Flow, at_once: u64, duration: Duration) -> Self {
        Self { flow, rate: None, at_once, services: 1, duration }
    }

    pub(super) fn is_tcp(self) -> bool {
        self.flow != Flow::Udp
    }

    /// `127.0.0.1:5000-5199`.
    fn addresses(self) -> String {
        let last = FIRST_PORT + self.services.max(1) - 1;
        format!("127.0.0.1:{FIRST_PORT}-{last}")
    }

    fn server_args(self) -> Vec<String> {
        let transport = if self.is_tcp() { "tcp" } else { "udp" };
        // It ends by itself if nobody tells it to.
        let limit = self.duration + 3 * PATIENCE;
        args([
            "server",
            "--listen",
            &self.addresses(),
            "--transport",
            transport,
            "--threads",
            "1",
            "--duration",
            &milliseconds(limit),
            "--json",
        ])
    }

    fn client_args(self) -> Vec<String> {
        let mode = match self.flow {
            Flow::Short | Flow::Fan => "connect",
            Flow::Persistent => "request",
            Flow::Udp => "udp",
        };
        let mut all = args([
            mode,
            &self.addresses(),
            "--connections",
            &self.at_once.to_string(),
            "--duration",
            &milliseconds(self.duration),
            "--threads",
            "1",
            "--json",
        ]);
        if let Some(rate) = self.rate {
            all.extend(args(["--rate", &rate.to_string()]));
        }
        if self.is_tcp() {
            all.extend(args(["--source-ports", SOURCE_PORTS]));
        }
        all.insert(0, "client".to_owned());
        all
    }
}

fn args<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn milliseconds(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// A server that listens.
pub(super) struct Server(Process);

impl Server {
    /// Starts it in the calling thread's network namespace, on the calling thread's processors.
    pub(super) fn start(load: &Program, plan: Plan) -> Result<Self, Fault> {
        let program = load.clone().with(plan.server_args());
        let mut process = Process::start(&program)?;
        process.wait_for_output("\"ready\"", PATIENCE).map_err(Fault::Failed)?;
        Ok(Self(process))
    }

    /// Ends it.
    pub(super) fn end(self) -> Result<ServerSummary, Fault> {
        let ended = self.0.end(PATIENCE)?;
        last_line(&ended, "the server")
    }
}

/// A client at work.
pub(super) struct Client(Process);

impl Client {
    /// Starts it like the server.
    pub(super) fn start(load: &Program, plan: Plan) -> Result<Self, Fault> {
        Ok(Self(Process::start(&load.clone().with(plan.client_args()))?))
    }

    /// Waits for its end, after so long at most. Errors of the load are faults: what it then took
    /// is another thing than what was to be measured.
    pub(super) fn wait(self, longest: Duration) -> Result<Summary, Fault> {
        let ended = self.0.wait(longest + PATIENCE)?;
        // 1: less than asked for, which is said of the run.
        if !matches!(ended.usage.code, Some(0 | 1)) {
            return Err(Fault::Failed(format!("the client ended early: {}", ended.complaint())));
        }
        let summary: Summary = last_line(&ended, "the client")?;
        let errors = summary.total.errors();
        if summary.completed == 0 || errors.saturating_mul(ERRORS_OF) > summary.completed {
            let done = summary.completed;
            return Err(Fault::Failed(format!("the client had {errors} errors, {done} done")));
        }
        Ok(summary)
    }
}

/// One error of so many is too much.
const ERRORS_OF: u64 = 1_000;

fn last_line<T: serde::de::DeserializeOwned>(ended: &Ended, who: &str) -> Result<T, Fault> {
    let text = String::from_utf8_lossy(&ended.output);
    let line = text.lines().next_back().unwrap_or_default();
    serde_json::from_str(line)
        .map_err(|error| Fault::Failed(format!("{who} says {error}: {}", ended.complaint())))
}

#[cfg(test)]
mod tests;
