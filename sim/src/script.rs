//! Scripts: one stack against a peer that is made by hand, segment for segment.
//!
//! A script is a text, a step to a line, in the manner of packetdrill (Cardwell and others, 2013),
//! and smaller. `#` begins a comment. A step is an action, with a time before it if it has one:
//!
//! ```text
//! listen 80                            # what the program does
//! < S 0(0) win 65535 <mss 1460>        # the peer sends this
//! > S. 0(0) ack 1 <mss 1460>           # the stack sends this, now
//! +10ms < . 1(0) ack 1 win 65535       # 10 ms later
//! accept
//! < P. 1(100) ack 1 win 65535
//! +0..500ms > . 1(0) ack 101           # within 500 ms
//! read 100
//! +1s silence                          # and nothing more for a second
//! ```
//!
//! What the stack sends and no step expects is an error. The rest is in [`Step`] (actions), in
//! [`Pattern`] (segments) and in [`When`] (times).

use std::fmt;

mod options;
mod parse;
mod player;
mod segment;

pub use options::{Expected, OptionPattern};
pub use player::{Played, play};
pub use segment::{Number, Pattern};

use crate::host::{Failure, Setup, State};

/// A whole script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// How the stack is set up: lines of `host FIELD VALUE`, the fields of [`Setup`].
    pub setup: Setup,
    /// Whether IPv6 is talked: a line `ipv6`.
    pub ipv6: bool,
    /// The steps, with their lines.
    pub steps: Vec<(usize, When, Step)>,
}

/// When a step is done, or what it expects may come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// The earliest, in microseconds after the step before it.
    pub first_us: u64,
    /// The latest. For what the stack sends, 2 ms are added: timers have a grain.
    pub last_us: u64,
}

/// A step. Actions of the program and segments take the name of a connection and a colon in front
/// (`b: write 10`, `> b: . 1(0) ack 1`) where a script has several; without, it is the connection
/// without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `< SEGMENT`: the peer sends it.
    Sends(Name, Pattern),
    /// `> SEGMENT`: the stack sends it.
    Expects(Name, Pattern),
    /// `silence`: up to this time the stack has sent nothing that was not expected.
    Silence,
    /// `peer port PORT` or `peer isn NUMBER`: the peer's port (5000) and first sequence number
    /// (1000000) from now on; the connection of this name is forgotten.
    Peer(Name, Option<u16>, Option<u32>),
    /// `listen PORT [BACKLOG]`.
    Listen(u16, usize),
    /// `accept`: the stack has told of a new connection.
    Accept(Name),
    /// `connect PORT`: to that port of the peer.
    Connect(Name, u16),
    /// `write BYTES`: the stack takes so many.
    Write(Name, usize),
    /// `read BYTES`: so many are there, and they are right.
    Read(Name, usize),
    /// `read nothing`: there is nothing to read, and the connection goes on.
    ReadNothing(Name),
    /// `read end`: the peer has no more.
    ReadEnd(Name),
    /// `fails reset`, `refused`, `timeout` or `unreachable`: the connection was over before its
    /// time.
    Fails(Name, Failure),
    /// `finish`: no more will be written.
    Finish(Name),
    /// `close`: the handle is given back.
    Close(Name),
    /// `abort`.
    Abort(Name),
    /// `state STATE`, as in RFC 9293: `ESTABLISHED`, `FIN-WAIT-1`.
    State(Name, State),
    /// `connections NUMBER`: so many does the stack hold.
    Connections(usize),
    /// `icmp too-big MTU`, `icmp port-unreachable`, `icmp host-unreachable`, `icmp time-exceeded`,
    /// about the segment that the stack sent last, or with `at NUMBER` about one of this number.
    Icmp(Name, Icmp, Option<Number>),
}

/// The name of a connection in a script.
pub type Name = String;

/// An error of ICMP that reaches the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmp {
    /// The packet is larger than this MTU.
    TooBig(usize),
    /// Nobody listens there.
    PortUnreachable,
    /// The host is not there.
    HostUnreachable,
    /// The TTL reached 0.
    TimeExceeded,
}

/// What is wrong with a script, or with the stack that it was played to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the step.
    pub line: usize,
    /// What was found there.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Mismatch {}

#[cfg(test)]
mod tests;
