//! What a copy of the program does for the experiment.

use std::{
    io::{self, BufRead, Write},
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
};

use serde::{Deserialize, Serialize};

use super::{Strategy, open, serve};

/// What one process does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Accepts connections and holds them.
    Serve {
        /// Where.
        address: SocketAddr,
        /// Accepts only once it is asked for what came: until then the backlog holds all, and
        /// nobody competes for the processor with whoever is timed.
        is_late: bool,
    },
    /// Opens connections, or binds sockets, and holds them.
    Open(Opening),
}

/// What is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// To where; none: sockets are bound only.
    pub target: Option<SocketAddr>,
    /// From where.
    pub source: IpAddr,
    /// How ports are chosen.
    pub strategy: Strategy,
    /// From which.
    pub ports: RangeInclusive<u16>,
    /// How many.
    pub count: u32,
}

/// What a process says when all is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opened {
    /// Of each call, in order: making the socket, choosing the port, connecting or binding.
    pub(super) times_ns: Vec<u32>,
    /// The source ports, in the same order.
    pub(super) ports: Vec<u16>,
    /// How often a port was taken.
    pub(super) conflicts: u64,
    /// Why there are not more.
    pub(super) failure: Option<String>,
}

/// Lines from one process to another: what is asked, and what is answered.
pub(super) mod word {
    /// A server listens.
    pub(crate) const READY: &str = "ready";
    /// So many are open so far.
    pub(crate) const PROGRESS: &str = "progress";
    /// A client is to send a byte over each connection; the answer is how many it did.
    pub(crate) const SEND: &str = "send";
    /// A server is to send back what came; the answer is over how many connections it did.
    pub(crate) const ECHO: &str = "echo";
    /// A client is to receive it; the answer is over how many connections it did.
    pub(crate) const RECEIVE: &str = "receive";
}

/// Does what `task` says, until `asked` ends.
///
/// # Errors
/// When it cannot be done, or nobody listens any more.
pub fn run_task(task: &Task, asked: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<()> {
    // Fewer sockets are possible without; what is missing is said then.
    let _ = portolan_sys::limits::raise_descriptors();
    match task {
        Task::Serve { address, is_late } => serve::serve(*address, *is_late, asked, out),
        Task::Open(opening) => open::open(opening, asked, out),
    }
}
