//! The flow record: one edge of the dependency graph as one reading saw it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{End, Traffic};

/// The transport protocol. Serialised as OpenTelemetry's `network.transport`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
}

impl Transport {
    /// The lower-case name: `tcp` or `udp`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many sockets one end of an edge contributes, by phase. Each socket counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counters {
    /// Connections that are up (established or half-closed).
    pub connections: u64,
    /// Handshakes under way (SYN-SENT, SYN-RECEIVED).
    pub opening: u64,
    /// Connections that ended within the last minute or so (TIME-WAIT).
    pub time_wait: u64,
}

impl Counters {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: Self) {
        self.connections += other.connections;
        self.opening += other.opening;
        self.time_wait += other.time_wait;
    }

    /// Whether nothing was counted: this end was not observed.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// One edge: `client` uses the service that `server` offers on `server_port`.
///
/// `active` and `passive` count the sockets that were seen on the client's and on the server's
/// end. A host sees both only of connections that stay on it, so the number of connections is the
/// larger of the two, never their sum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The transport protocol.
    pub transport: Transport,
    /// The listening port, in host byte order.
    pub server_port: u16,
    /// The end that opened the connection.
    pub client: End,
    /// The end that listens.
    pub server: End,
    /// Sockets seen on the client's end.
    pub active: Counters,
    /// Sockets seen on the server's end.
    pub passive: Counters,
    /// What went over it, where the method counts that.
    pub traffic: Option<Box<Traffic>>,
    /// No listener proves the direction; it was concluded from the port numbers. Not said of the
    /// everyday client of another host: an ephemeral port here, another kind of port there.
    pub guessed: bool,
}

impl Flow {
    /// Connections that are up now, each counted once.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.active.connections.max(self.passive.connections)
    }

    /// Handshakes under way, each counted once.
    #[must_use]
    pub fn opening(&self) -> u64 {
        self.active.opening.max(self.passive.opening)
    }

    /// Connections in TIME-WAIT. Only the end that closed first keeps one, so this is a sum.
    #[must_use]
    pub fn time_wait(&self) -> u64 {
        self.active.time_wait + self.passive.time_wait
    }

    /// Which ends were observed: `both`, `active`, `passive`, or `none` for a record from history.
    #[must_use]
    pub fn side(&self) -> &'static str {
        let traffic = self.traffic.as_deref().copied().unwrap_or_default();
        let active = self.active.is_zero() && traffic.active.is_zero();
        let passive = self.passive.is_zero() && traffic.passive.is_zero();
        match (active, passive) {
            (false, false) => "both",
            (false, true) => "active",
            (true, false) => "passive",
            (true, true) => "none",
        }
    }

    /// Whether neither end counted anything: a record from history.
    #[must_use]
    pub fn counts_nothing(&self) -> bool {
        self.active.is_zero()
            && self.passive.is_zero()
            && self.traffic.as_ref().is_none_or(|traffic| traffic.is_zero())
    }

    /// Whether two records are about the same edge, whatever they counted.
    #[must_use]
    pub fn same_edge(&self, other: &Self) -> bool {
        self.transport == other.transport
            && self.server_port == other.server_port
            && self.client.same_party(&other.client)
            && self.server.same_party(&other.server)
    }

    /// Adds what `other` counted for the same edge.
    pub fn absorb(&mut self, other: Self) {
        self.active.add(other.active);
        self.passive.add(other.passive);
        match (&mut self.traffic, other.traffic) {
            (Some(sum), Some(more)) => sum.add(&more),
            (none @ None, more) => *none = more,
            (Some(_), None) => {}
        }
        self.client.pids.merge(&other.client.pids);
        self.server.pids.merge(&other.server.pids);
        // One proof of the direction is enough.
        self.guessed &= other.guessed;
    }
}

#[cfg(test)]
mod tests;
