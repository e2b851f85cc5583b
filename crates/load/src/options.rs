//! What is to be done: checked once, before anything happens.

use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::Error;

/// The most bytes that a request or response may have.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 20;

/// The most bytes of a request or response that is one datagram (over IPv4).
pub const DATAGRAM_BYTES_MAX: u32 = 65_507;

/// The most pairs of a source address and a target: for each there is a place in the ports.
const PAIRS_MAX: usize = 1 << 20;

/// Which protocols the server speaks at each of its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transports {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Both.
    #[default]
    Both,
}

/// What the server does.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens; port 0 lets the kernel choose one (for UDP the same as for TCP).
    pub listen: Vec<SocketAddr>,
    /// With which protocols.
    pub transports: Transports,
    /// So many bytes of a connection are a request. Over UDP each datagram is one.
    pub request_bytes: u32,
    /// So many bytes answer it; 0 for none.
    pub response_bytes: u32,
    /// Threads, each with listening sockets of its own; 0 for one per core.
    pub threads: usize,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            transports: Transports::Both,
            request_bytes: 64,
            response_bytes: 64,
            threads: 0,
        }
    }
}

impl ServerOptions {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Options(text.to_owned()));
        let has_udp = self.transports != Transports::Tcp;
        if self.listen.is_empty() {
            return wrong("there is nowhere to listen: name an address and a port");
        }
        if self.request_bytes == 0 {
            return wrong("a request has at least one byte");
        }
        if self.request_bytes.max(self.response_bytes) > MESSAGE_BYTES_MAX {
            return wrong("a request or response has 1048576 bytes at most");
        }
        if has_udp && self.response_bytes > DATAGRAM_BYTES_MAX {
            return wrong("a datagram has 65507 bytes at most: choose a shorter response, or TCP");
        }
        Ok(())
    }
}

/// What the client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Short-lived connections: each is established, has its requests, and is closed.
    Connect,
    /// Persistent connections: each has one request under way at a time.
    Request,
    /// Datagrams: each socket has one round trip under way at a time.
    Udp,
}

/// How the client ends its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Close {
    /// In order, with FIN; the client is then in TIME-WAIT.
    #[default]
    Fin,
    /// By a reset (`SO_LINGER` of 0): neither end waits.
    Reset,
}

/// Whom the client loads, with what, how fast and how long.
#[derive(Clone, Debug)]
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
    /// Starts per second (connections in mode `connect`, else requests), whatever comes back. None:
    /// the next one as soon as there is room for it.
    pub rate: Option<f64>,
    /// Connections or sockets at once, by all threads together.
    pub connections: u32,
    /// How many starts there are.
    pub count: Option<u64>,
    /// For how long it starts.
    pub duration: Option<Duration>,
    /// In mode `connect`, requests of each connection, one after the other.
    pub requests: u32,
    /// Bytes of a request.
    pub request_bytes: u32,
    /// Bytes of a response; 0 for none: a request is then done when the kernel took it.
    pub response_bytes: u32,
    /// For how long a connection, and then a response, is waited for.
    pub timeout: Duration,
    /// How connections end.
    pub close: Close,
    /// In mode `udp`, sockets are not connected: each datagram goes to the next target.
    pub unconnected: bool,
    /// Threads.
    pub threads: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Connect,
            targets: Vec::new(),
            sources: Vec::new(),
            source_ports: None,
            rate: None,
            connections: 64,
            count: None,
            duration: None,
            requests: 1,
            request_bytes: 64,
            response_bytes: 64,
            timeout: Duration::from_secs(3),
            close: Close::Fin,
            unconnected: false,
            threads: 1,
        }
    }
}

impl ClientOptions {
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
        if usize::try_from(self.connections).is_ok_and(|all| all < self.threads) {
            return wrong("each thread needs a connection: ask for more, or for fewer threads");
        }
        if self.count.is_none() && self.duration.is_none() {
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
        if self.timeout.is_zero() || self.timeout > Duration::from_secs(3600) {
            return wrong("a timeout is above zero and an hour at most");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
