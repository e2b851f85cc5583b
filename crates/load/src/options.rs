//! What is to be done: checked once, before anything happens.

use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{Error, HttpRequest, schedule::Schedule, source_ports::Strategy};

/// The most bytes that a request or response may have.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 20;

/// The most bytes of a request or response that is one datagram (over IPv4).
pub const DATAGRAM_BYTES_MAX: u32 = 65_507;

/// The most pairs of a source address and a target: for each there is a place in the ports.
const PAIRS_MAX: usize = 1 << 20;

/// The most requests that are under way on one connection.
const DEPTH_MAX: u32 = 1024;

/// The most requests that are under way at once, whose places are made before the run.
const UNDER_WAY_MAX: u64 = 1 << 24;

/// The shortest interval: each costs a few hundred microseconds.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// The longest interval, warm-up or timeout.
const LONGEST: Duration = Duration::from_secs(3600);

/// The longest run: whoever asks for more has mistaken the unit.
const RUN_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// What the client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Short-lived connections: each is established, has its requests, and is closed.
    Connect,
    /// Persistent connections: each has [`ClientOptions::depth`] requests under way at a time.
    Request,
    /// Connections that are opened and kept, and prove by a round trip at the end, and in between
    /// if asked for, that they are alive.
    Hold,
    /// HTTP/1.1 requests: over persistent connections, or over a new one each.
    Http,
    /// Datagrams: each socket has one round trip under way at a time.
    Udp,
}

/// How the client ends its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Close {
    /// In order, with FIN; the client is then in TIME-WAIT.
    #[default]
    Fin,
    /// By a reset (`SO_LINGER` of 0): neither end waits.
    Reset,
}

/// Which part of a load that several processes share is this one's: source ports are divided so
/// that no two processes use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The number of this process, from 0.
    pub nth: usize,
    /// How many processes there are.
    pub of: usize,
}

impl Default for Share {
    fn default() -> Self {
        Self { nth: 0, of: 1 }
    }
}

/// Whom the client loads, with what, how fast and how long.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientOptions {
    /// What it does.
    pub mode: Mode,
    /// Where, in turns.
    pub targets: Vec<SocketAddr>,
    /// From which addresses, in turns; those of the other IP version than a target are left out.
    /// None: from the address that the routing table says.
    pub sources: Vec<IpAddr>,
    /// From which ports, in turns; none: the kernel's range of ephemeral ports. Of TCP only.
    pub source_ports: Option<RangeInclusive<u16>>,
    /// Who chooses source ports. Of TCP only.
    pub ports: Strategy,
    /// Starts per second (connections in modes `connect` and `hold`, else requests), whatever comes
    /// back. None: the next one as soon as there is room for it.
    pub rate: Option<f64>,
    /// For so long the rate grows, linearly, from nothing to [`ClientOptions::rate`].
    pub ramp: Duration,
    /// Connections or sockets at once, by all threads together.
    pub connections: u32,
    /// Requests that each persistent connection has under way at once, at most.
    pub depth: u32,
    /// How many starts there are. In mode `hold` there are as many as connections.
    pub count: Option<u64>,
    /// For how long it starts; in mode `hold`, how long the connections are kept once all are open.
    pub duration: Option<Duration>,
    /// What happens so long after the begin counts, but times and rates of it do not.
    pub warm_up: Duration,
    /// How long an interval is ([`crate::Interval`]).
    pub interval: Duration,
    /// In mode `hold`, how often each connection proves that it is alive, besides at the end.
    pub verify_every: Option<Duration>,
    /// In mode `connect`, requests of each connection, one after the other.
    pub requests: u32,
    /// Bytes of a request.
    pub request_bytes: u32,
    /// Bytes of a response; 0 for none: a request is then done when the kernel took it.
    pub response_bytes: u32,
    /// In mode `http`, and for the round trips of mode `hold`: what is asked of the target in the
    /// same place of [`ClientOptions::targets`]. Empty: messages of fixed size.
    pub http: Vec<HttpRequest>,
    /// In mode `http`: requests share connections.
    pub keep_alive: bool,
    /// For how long a connection, and then a response, is waited for.
    pub timeout: Duration,
    /// How connections end.
    pub close: Close,
    /// In mode `udp`, sockets are not connected: each datagram goes to the next target.
    pub unconnected: bool,
    /// Threads.
    pub threads: usize,
    /// The part of this process, where several share a load.
    pub share: Share,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Connect,
            targets: Vec::new(),
            sources: Vec::new(),
            source_ports: None,
            ports: Strategy::Auto,
            rate: None,
            ramp: Duration::ZERO,
            connections: 64,
            depth: 1,
            count: None,
            duration: None,
            warm_up: Duration::ZERO,
            interval: Duration::from_secs(1),
            verify_every: None,
            requests: 1,
            request_bytes: 64,
            response_bytes: 64,
            http: Vec::new(),
            keep_alive: true,
            timeout: Duration::from_secs(3),
            close: Close::Fin,
            unconnected: false,
            threads: 1,
            share: Share::default(),
        }
    }
}

impl ClientOptions {
    /// Whether connections outlive their requests.
    pub(crate) fn is_persistent(&self) -> bool {
        match self.mode {
            Mode::Connect | Mode::Udp => false,
            Mode::Request | Mode::Hold => true,
            Mode::Http => self.keep_alive,
        }
    }

    /// All starts of all threads.
    pub(crate) fn schedule(&self) -> Schedule {
        let schedule = match self.mode {
            Mode::Hold => Schedule::new(self.rate, Some(self.connections.into()), None),
            _ => Schedule::new(self.rate, self.count, self.duration),
        };
        schedule.ramp(self.ramp)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Options(text.to_owned()));
        let rates = 0.001..=100_000_000.0;
        if self.targets.is_empty() {
            return wrong("there is no target: name an address and a port");
        }
        if self.targets.iter().any(|target| target.port() == 0) {
            return wrong("a target has a port from 1 to 65535");
        }
        if self.rate.is_some_and(|rate| !rates.contains(&rate)) {
            return wrong("a rate is 0.001 to 100000000 per second");
        }
        if self.threads == 0 || self.threads > 1024 {
            return wrong("there are 1 to 1024 threads");
        }
        // A worker without one would wait for it for ever.
        let workers = self.threads.saturating_mul(self.share.of);
        if usize::try_from(self.connections).is_ok_and(|all| all < workers) {
            return wrong(
                "each thread of each process needs a connection: ask for more, or for fewer \
                 threads or processes",
            );
        }
        let is_hold = self.mode == Mode::Hold;
        if self.count.is_none() && self.duration.is_none() && !is_hold {
            return wrong("say when to end: by a duration or by a count");
        }
        let is_ipv6 = self.targets[0].is_ipv6();
        if self.unconnected && self.targets.iter().any(|target| target.is_ipv6() != is_ipv6) {
            return wrong("unconnected sockets send to targets of one IP version only");
        }
        if self.targets.len().saturating_mul(self.sources.len()) > PAIRS_MAX {
            return wrong("1048576 pairs of a source address and a target are the most");
        }
        let bytes_max = if self.mode == Mode::Udp { DATAGRAM_BYTES_MAX } else { MESSAGE_BYTES_MAX };
        if self.request_bytes == 0 || self.request_bytes.max(self.response_bytes) > bytes_max {
            let text = format!("a request has 1 to {bytes_max} bytes, a response at most as many");
            return Err(Error::Options(text));
        }
        if self.timeout.is_zero() || self.timeout > LONGEST {
            return wrong("a timeout is above zero and an hour at most");
        }
        self.check_times()?;
        self.check_mode()
    }

    fn check_times(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Options(text.to_owned()));
        if !self.ramp.is_zero() && self.rate.is_none() {
            return wrong("a ramp leads to a rate: say which");
        }
        if self.interval < INTERVAL_MIN || self.interval > LONGEST {
            return wrong("an interval is 10 milliseconds to an hour");
        }
        // Connections may be held no longer than it takes to prove that they are.
        let may_be_over = self.mode != Mode::Hold || !self.warm_up.is_zero();
        let is_over = self.duration.is_some_and(|all| all <= self.warm_up) && may_be_over;
        if self.warm_up > LONGEST || is_over {
            return wrong("a duration is longer than zero and than the warm-up, an hour at most");
        }
        let times = [self.duration.unwrap_or_default(), self.ramp];
        if times.into_iter().chain(self.verify_every).any(|time| time > RUN_MAX) {
            return wrong("a run is a year at most");
        }
        if self.verify_every.is_some_and(|every| every < INTERVAL_MIN) {
            return wrong("connections are verified every 10 milliseconds at most");
        }
        Ok(())
    }

    fn check_mode(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Options(text.to_owned()));
        if self.depth == 0 || self.depth > DEPTH_MAX {
            return wrong("1 to 1024 requests may be under way on a connection");
        }
        if u64::from(self.connections) * u64::from(self.depth) > UNDER_WAY_MAX {
            return wrong("16777216 requests under way, over all connections, are the most");
        }
        if self.depth > 1 && !(self.is_persistent() && self.mode != Mode::Hold) {
            return wrong("several requests at once need persistent connections");
        }
        if !self.http.is_empty() && self.http.len() != self.targets.len() {
            return wrong("each target needs a request");
        }
        if self.mode == Mode::Http && self.http.is_empty() {
            return wrong("in mode http, targets are URLs: http://127.0.0.1:8080/");
        }
        if matches!(self.mode, Mode::Connect | Mode::Request | Mode::Udp) && !self.http.is_empty() {
            return wrong("URLs are for the modes http and hold");
        }
        if self.mode == Mode::Hold && self.http.is_empty() && self.response_bytes == 0 {
            return wrong("only a response proves that a connection is alive: give it a byte");
        }
        if self.share.of == 0 || self.share.nth >= self.share.of {
            return wrong("the number of a process is less than that of all");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
