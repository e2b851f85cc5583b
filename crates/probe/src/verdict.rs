//! What a check concludes, and from what.

use std::{fmt, io, net::SocketAddr, time::Duration};

/// How a check asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodName {
    /// `connect(2)` and `close(2)`: six segments, and the server accepts.
    Connect,
    /// `connect(2)` and a reset (`SO_LINGER` of 0 seconds): four segments, and the server accepts.
    Linger,
    /// `connect(2)` that withholds the last acknowledgement (`TCP_QUICKACK` off), and a reset:
    /// three segments, and the server never accepts. Needs no privilege.
    Quiet,
    /// Own segments from a raw socket: SYN, SYN+ACK, and the reset of this host's kernel. Needs
    /// `CAP_NET_RAW`.
    Syn,
}

impl MethodName {
    /// All of them, the plainest first.
    pub const ALL: [Self; 4] = [Self::Connect, Self::Linger, Self::Quiet, Self::Syn];

    /// How the command line calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Linger => "linger",
            Self::Quiet => "quiet",
            Self::Syn => "syn",
        }
    }
}

/// Whether a port is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Something listens there.
    Open,
    /// The host answered that nothing listens.
    Closed,
    /// Nothing came back until the deadline.
    Filtered,
    /// A router or this host answered that the target cannot be reached.
    Unreachable(Reason),
    /// It could not be asked: `errno` of the system call that failed.
    Error(i32),
}

impl Verdict {
    /// One word for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Filtered => "filtered",
            Self::Unreachable(_) => "unreachable",
            Self::Error(_) => "error",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(reason) => write!(out, "unreachable ({})", reason.name()),
            Self::Error(errno) => write!(out, "error ({})", io::Error::from_raw_os_error(*errno)),
            _ => out.write_str(self.name()),
        }
    }
}

/// Why a target cannot be reached (RFC 792 and RFC 1812 section 5.2.7, RFC 4443 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No route to the network.
    Network,
    /// No route to the host, or nobody has its address.
    Host,
    /// The host does not speak TCP.
    Protocol,
    /// The host's ICMP said that the port is unreachable: a firewall that rejects.
    Port,
    /// Forbidden by a firewall that says so.
    Prohibited,
    /// The hop limit ran out: a routing loop.
    HopLimit,
}

impl Reason {
    /// One word or two, with a hyphen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "no-route",
            Self::Host => "host",
            Self::Protocol => "protocol",
            Self::Port => "port",
            Self::Prohibited => "prohibited",
            Self::HopLimit => "hop-limit",
        }
    }
}

/// What a verdict was concluded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// A SYN+ACK that acknowledges our SYN, or a connection that the kernel made.
    SynAck,
    /// A RST that acknowledges our SYN, or `ECONNREFUSED`.
    Reset,
    /// An ICMP error about our SYN: type and code as on the wire.
    Icmp {
        /// The message's type.
        kind: u8,
        /// The message's code.
        code: u8,
    },
    /// Nothing came.
    Silence,
    /// This host's kernel refused: `errno`.
    Refusal(i32),
}

impl Evidence {
    /// One word for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SynAck => "syn-ack",
            Self::Reset => "reset",
            Self::Icmp { .. } => "icmp",
            Self::Silence => "no-answer",
            Self::Refusal(_) => "refusal",
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was asked about.
    pub target: SocketAddr,
    /// Whether it is open.
    pub verdict: Verdict,
    /// From what that was concluded.
    pub evidence: Evidence,
    /// How it was asked.
    pub method: MethodName,
    /// How often it was asked: 1 if the first answer came.
    pub attempts: u8,
    /// From the first question to the conclusion.
    pub took: Duration,
}
