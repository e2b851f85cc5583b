//! Why something does not work.

use core::net::{IpAddr, SocketAddr};

use thiserror::Error;

/// Why a verb was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The handle was given back, or never was one.
    #[error("there is no such connection or listener: its handle was given back")]
    NoSuchHandle,
    /// Another listener has the port.
    #[error("port {0} is listened on already: choose another port, or close the other listener")]
    PortInUse(u16),
    /// Port 0 is none, and nobody can say to which port to connect instead.
    #[error("port 0 cannot be listened on: name the port")]
    NoPort,
    /// The two ends have a connection, or had one less than the TIME-WAIT delay ago.
    #[error("there is a connection to {0} from that port already: choose another port")]
    ConnectionInUse(SocketAddr),
    /// All ports of the range have a connection to this destination.
    #[error("no free port for a connection to {0}: add an address, or widen the range of ports")]
    NoFreePort(SocketAddr),
    /// The limit of connections is reached.
    #[error("the limit of {0} connections is reached: close some, or raise `connections_max`")]
    TooManyConnections(usize),
    /// A broadcast, multicast or unspecified address, or port 0 (RFC 9293, MUST-46).
    #[error("{0} is nothing to connect to: an address of one host and a port are wanted")]
    NotADestination(SocketAddr),
    /// There is no way to the address.
    #[error("no route to {0}: add one, or a gateway")]
    NoRoute(IpAddr),
    /// The connection is not established yet.
    #[error("the connection is not established yet: wait for its event")]
    NotConnected,
    /// The program has said that it sends nothing more.
    #[error("nothing can be sent after the end of the data was announced")]
    Finished,
    /// The connection has ended before its time.
    #[error("{0}")]
    Ended(#[from] Reason),
}

/// What is wrong with a connection at present. It may pass, and the connection goes on: the soft
/// errors of RFC 9293, section 3.9.1.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// What was sent was repeated, and is not acknowledged: R1 of RFC 9293, section 3.8.3.
    #[error("no answer from the other end so far: what was sent is repeated")]
    Silent,
    /// A router says that the way is broken: RFC 9293, section 3.9.2.2.
    #[error("a router says that the other end cannot be reached at present")]
    Unreachable,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// Nobody listens on the port of the other end.
    #[error("connection refused: nothing listens on the port of the other end")]
    Refused,
    /// The other end does not know the connection (any more), or its program gave it up.
    #[error("connection reset by the other end")]
    Reset,
    /// The program gave it up.
    #[error("connection given up by the program")]
    Aborted,
    /// Nothing was acknowledged for too long.
    #[error("connection timed out: no answer from the other end")]
    TimedOut,
    /// A router said that the other end cannot be reached.
    #[error("the other end cannot be reached")]
    Unreachable,
}
