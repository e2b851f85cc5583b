//! What the server did, in numbers that add up, as programs read it (docs/formats/load.md).

use std::{
    net::SocketAddr,
    ops::{AddAssign, Sub},
};

use serde::{Deserialize, Serialize};

/// What the server did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSummary {
    /// [`crate::VERSION`].
    pub version: u32,
    /// `server`.
    #[serde(rename = "type")]
    pub kind: String,
    /// From when it listened until it was asked to end.
    pub seconds: f64,
    /// CPU time of the server's threads, microseconds.
    pub cpu_us: u64,
    /// The same of each.
    #[serde(default)]
    pub threads_cpu_us: Vec<u64>,
    /// Of all ports together.
    pub total: PortCounts,
    /// Of each, in the order they were given.
    pub ports: Vec<Port>,
}

/// What the server did since the last time that it was asked. All intervals add up to the summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerInterval {
    /// [`crate::VERSION`].
    pub version: u32,
    /// `server_interval`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its number, from 0.
    pub nth: u64,
    /// When it began, after the server began to listen.
    pub begin_seconds: f64,
    /// How long it was.
    pub seconds: f64,
    /// Connections that are open at its end.
    pub open: u64,
    /// CPU time of the server's threads within it, microseconds; up to 50 ms of each thread may be
    /// told an interval later.
    pub cpu_us: u64,
    /// That of the thread that used most. As long as the interval: the server is the bottleneck.
    pub busiest_cpu_us: u64,
    /// What happened within it, at all ports together.
    pub total: PortCounts,
}

/// What the server did at one address, or at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PortCounts {
    /// Connections that were accepted.
    pub accepted: u64,
    /// Those that have ended.
    pub closed: u64,
    /// Those of the ended that the other end reset.
    pub reset: u64,
    /// Those of the ended that the other end ended, in order or by a reset, within a request.
    pub truncated: u64,
    /// Those of the ended whose request did not come, or whose response was not taken, in time.
    pub timed_out: u64,
    /// Those of the ended that were closed at once, for want of descriptors, or of memory for what
    /// they did not read.
    pub turned_away: u64,
    /// Requests that came whole over connections.
    pub requests: u64,
    /// Those of them that were answered with 404 or 405.
    pub not_served: u64,
    /// Requests that were none: answered with 400, 414, 431, 501 or 505, and not in `requests`.
    pub malformed: u64,
    /// Payload that came.
    pub bytes_received: u64,
    /// Payload that the kernel took.
    pub bytes_sent: u64,
    /// Datagrams that came.
    pub datagrams_received: u64,
    /// Datagrams that the kernel took.
    pub datagrams_sent: u64,
    /// Other errors of the kernel.
    pub errors: u64,
}

impl PortCounts {
    /// Connections that are open.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.accepted.saturating_sub(self.closed)
    }

    /// Each count with the same of the other.
    fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            accepted: join(self.accepted, other.accepted),
            closed: join(self.closed, other.closed),
            reset: join(self.reset, other.reset),
            truncated: join(self.truncated, other.truncated),
            timed_out: join(self.timed_out, other.timed_out),
            turned_away: join(self.turned_away, other.turned_away),
            requests: join(self.requests, other.requests),
            not_served: join(self.not_served, other.not_served),
            malformed: join(self.malformed, other.malformed),
            bytes_received: join(self.bytes_received, other.bytes_received),
            bytes_sent: join(self.bytes_sent, other.bytes_sent),
            datagrams_received: join(self.datagrams_received, other.datagrams_received),
            datagrams_sent: join(self.datagrams_sent, other.datagrams_sent),
            errors: join(self.errors, other.errors),
        }
    }
}

impl AddAssign for PortCounts {
    fn add_assign(&mut self, other: Self) {
        *self = self.with(other, |mine, theirs| mine + theirs);
    }
}

impl Sub for PortCounts {
    type Output = Self;

    /// What came to an earlier reading.
    fn sub(self, earlier: Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }
}

/// A place where the server listens and what happened there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Where, for TCP, UDP or both.
    pub address: SocketAddr,
    /// What happened.
    #[serde(flatten)]
    pub counts: PortCounts,
}

#[cfg(test)]
mod tests;
