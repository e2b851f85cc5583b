//! The ways to list sockets, behind one interface.

use std::{fmt, sync::Arc};

use portolan_flow::Transport;

use crate::{Error, Filter, Place, Row, States, diag::Diag, procfs::Procfs};

/// What to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The transport protocol.
    pub transport: Transport,
    /// The states wanted.
    pub states: States,
    /// Whether rows carry [`crate::TcpInfo`]; makes a reply three times as long.
    pub tcp_info: bool,
    /// Which of these sockets are wanted; all where there is no filter.
    pub filter: Option<Arc<Filter>>,
}

impl Query {
    /// All sockets of a transport, without measurements and filter.
    #[must_use]
    pub fn all(transport: Transport) -> Self {
        Self { transport, states: States::ALL, tcp_info: false, filter: None }
    }

    /// The states of the query that the filter wants too.
    pub(crate) fn wanted_states(&self) -> States {
        match &self.filter {
            None => self.states,
            Some(filter) => self.states.intersection(filter.states()),
        }
    }
}

/// How complete a listing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Rows delivered.
    pub rows: u64,
    /// Lines or messages that could not be understood and were left out.
    pub skipped: u64,
    /// The table changed while it was read, so that a row may be missing or doubled.
    pub torn: bool,
}

impl Coverage {
    /// Adds another part of the same listing.
    pub fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.skipped += other.skipped;
        self.torn |= other.torn;
    }
}

/// A way to list the sockets of one network namespace, IPv4 and IPv6.
pub trait Method: Send {
    /// Which one it is.
    fn name(&self) -> MethodName;

    /// Hands every socket that `query` asks for to `each`, in constant memory.
    ///
    /// # Errors
    /// When the table cannot be read; rows delivered until then are valid.
    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error>;
}

/// The name of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MethodName {
    /// Netlink sock_diag.
    Diag,
    /// The files under `/proc/net`.
    Procfs,
}

impl MethodName {
    /// All methods, the fastest first.
    pub const ALL: [Self; 2] = [Self::Diag, Self::Procfs];

    /// As `--method` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Diag => "diag",
            Self::Procfs => "procfs",
        }
    }

    /// For people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Diag => "netlink sock_diag",
            Self::Procfs => "/proc/net",
        }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The method that will be used, and why the faster ones will not.
#[derive(Debug)]
pub struct Choice {
    /// The method.
    pub method: MethodName,
    /// What stood against each faster one.
    pub refused: Vec<(MethodName, Error)>,
}

/// Finds the fastest method that works on this host.
///
/// # Errors
/// The last method's error, when none works.
pub fn choose() -> Result<Choice, Error> {
    let mut refused = Vec::new();
    for method in MethodName::ALL {
        match trial(method) {
            Ok(()) => return Ok(Choice { method, refused }),
            Err(error) => refused.push((method, error)),
        }
    }
    match refused.pop() {
        Some((_, error)) => Err(error),
        None => unreachable!("there is at least one method"),
    }
}

/// Lists nothing, to see whether the kernel answers.
fn trial(method: MethodName) -> Result<(), Error> {
    let mut method = open(method, &Place::here())?;
    for transport in [Transport::Tcp, Transport::Udp] {
        let query = Query { states: States::NONE, ..Query::all(transport) };
        method.read(&query, &mut |_| {})?;
    }
    Ok(())
}

/// Opens a method for the namespace at `place`.
///
/// # Errors
/// When the namespace cannot be entered or the kernel refuses.
pub fn open(method: MethodName, place: &Place) -> Result<Box<dyn Method>, Error> {
    Ok(match method {
        MethodName::Diag => Box::new(Diag::open(place)?),
        MethodName::Procfs => Box::new(Procfs::open(place)?),
    })
}

#[cfg(test)]
mod tests;
