//! What happened, in numbers that add up.
//!
//! Three laws hold for every target at the end of a run, and tests check them:
//! attempted = connected + failed to connect + given up while connecting;
//! connected = closed + lost;
//! requests = responses + failed requests + requests given up.

use std::{
    net::SocketAddr,
    ops::{AddAssign, SubAssign},
};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Refused,
    TimedOut,
    Unreachable,
    Reset,
    ClosedEarly,
    Unexpected,
    Malformed,
    Status,
    Length,
    NoSourcePort,
    Shortage,
    Denied,
    Other,
}

impl ErrorKind {
    pub(crate) fn of(errno: Errno) -> Self {
        match errno {
            Errno::CONNREFUSED => Self::Refused,
            Errno::TIMEDOUT => Self::TimedOut,
            Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => {
                Self::Unreachable
            }
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Self::Reset,
            Errno::ADDRINUSE | Errno::ADDRNOTAVAIL => Self::NoSourcePort,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::AGAIN => {
                Self::Shortage
            }
            Errno::ACCESS | Errno::PERM => Self::Denied,
            _ => Self::Other,
        }
    }
}

/// Errors, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Errors {
    /// Nothing listens there: a reset to the handshake, or ICMP port unreachable.
    pub refused: u64,
    /// No answer within the timeout.
    pub timed_out: u64,
    /// No way there: ICMP or the routing table says so.
    pub unreachable: u64,
    /// The other end reset the connection.
    pub reset: u64,
    /// The other end closed the connection before it had answered.
    pub closed_early: u64,
    /// The other end sent more than was asked for.
    pub unexpected: u64,
    /// What the other end sent is no HTTP.
    pub malformed: u64,
    /// A response with another status than was expected.
    pub status: u64,
    /// A response with another number of bytes than was expected.
    pub length: u64,
    /// No source port was free, in as many as were tried.
    pub no_source_port: u64,
    /// This host lacks descriptors, memory or room in a queue.
    pub shortage: u64,
    /// This host forbids it.
    pub denied: u64,
    /// Whatever else.
    pub other: u64,
}

impl Errors {
    pub(crate) fn add(&mut self, kind: ErrorKind) {
        *match kind {
            ErrorKind::Refused => &mut self.refused,
            ErrorKind::TimedOut => &mut self.timed_out,
            ErrorKind::Unreachable => &mut self.unreachable,
            ErrorKind::Reset => &mut self.reset,
            ErrorKind::ClosedEarly => &mut self.closed_early,
            ErrorKind::Unexpected => &mut self.unexpected,
            ErrorKind::Malformed => &mut self.malformed,
            ErrorKind::Status => &mut self.status,
            ErrorKind::Length => &mut self.length,
            ErrorKind::NoSourcePort => &mut self.no_source_port,
            ErrorKind::Shortage => &mut self.shortage,
            ErrorKind::Denied => &mut self.denied,
            ErrorKind::Other => &mut self.other,
        } += 1;
    }

    /// Each kind with its name, as in JSON.
    #[must_use]
    pub fn by_kind(&self) -> [(&'static str, u64); 13] {
        [
            ("refused", self.refused),
            ("timed_out", self.timed_out),
            ("unreachable", self.unreachable),
            ("reset", self.reset),
            ("closed_early", self.closed_early),
            ("unexpected", self.unexpected),
            ("malformed", self.malformed),
            ("status", self.status),
            ("length", self.length),
            ("no_source_port", self.no_source_port),
            ("shortage", self.shortage),
            ("denied", self.denied),
            ("other", self.other),
        ]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_kind().iter().map(|(_, count)| count).sum()
    }
}

/// Adds and subtracts each of the counts.
macro_rules! counts {
    ($type:ident: $($field:ident)*) => {
        impl AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl SubAssign for $type {
            fn sub_assign(&mut self, other: Self) {
                $(self.$field -= other.$field;)*
            }
        }
    };
}

counts!(Errors: refused timed_out unreachable reset closed_early unexpected malformed status length
    no_source_port shortage denied other);

/// What the client did with one target, or with all. In mode `udp`, sockets stand in the place of
/// connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetCounts {
    /// Connections that were tried.
    pub attempted: u64,
    /// Those that were established.
    pub connected: u64,
    /// Those that the client closed or reset, as planned.
    pub closed: u64,
    /// Established connections that ended otherwise: by the other end, an error, a timeout.
    pub lost: u64,
    /// Those of the lost that had no request under way.
    pub lost_idle: u64,
    /// Connections given up while they were being established, because the run ended.
    pub connects_given_up: u64,
    /// Requests that were begun.
    pub requests: u64,
    /// Responses that came whole (requests that were sent, where no response is wanted).
    pub responses: u64,
    /// Requests given up without response, because the run ended.
    pub requests_given_up: u64,
    /// Payload that the kernel took.
    pub bytes_sent: u64,
    /// Payload that came.
    pub bytes_received: u64,
    /// Datagrams that the kernel took.
    pub datagrams_sent: u64,
    /// Datagrams that came.
    pub datagrams_received: u64,
    /// Those of them that answered no open request: late, repeated or foreign.
    pub datagrams_stale: u64,
    /// Why connections were not established.
    pub connect_errors: Errors,
    /// Why requests failed.
    pub request_errors: Errors,
}

impl TargetCounts {
    /// Everything that failed: to connect, to be answered, and established connections that were
    /// lost without a request under way.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.connect_errors.total() + self.request_errors.total() + self.lost_idle
    }

    /// Connections that are open.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.connected.saturating_sub(self.closed + self.lost)
    }
}

counts!(TargetCounts: attempted connected closed lost lost_idle connects_given_up requests responses
    requests_given_up bytes_sent bytes_received datagrams_sent datagrams_received datagrams_stale
    connect_errors request_errors);

/// A target and what happened there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Where.
    pub address: SocketAddr,
    /// What was asked for there, in HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub counts: TargetCounts,
}

#[cfg(test)]
mod tests;
