//! What can go wrong around a measurement. What goes wrong inside one is a
//! [`crate::Fault`], a line of the report.

use std::{io, time::Duration};

/// A measurement that could not be set up, or a report that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no right to make a network namespace.
    #[error(
        "cannot make a network namespace for the sockets to be measured: {source}; run as root \
         (sudo portolan bench …), or grant CAP_SYS_ADMIN and CAP_NET_ADMIN"
    )]
    Namespace {
        /// The system's answer.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was attempted, and on what.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A process that was to hold sockets ended early.
    #[error(
        "the process that was to hold {connections} connections ended before it had them: {said}"
    )]
    Holder {
        /// How many it was to hold, both ends.
        connections: u32,
        /// What it said instead.
        said: String,
    },
    /// The process that was to accept connections ended early.
    #[error("the process that was to accept connections ended before it could: {said}")]
    Server {
        /// What it said instead.
        said: String,
    },
    /// A device of the world could not be made.
    #[error("cannot set up the network of the measurement: {program} says: {said}")]
    Link {
        /// The program that was to make it.
        program: String,
        /// What it said.
        said: String,
    },
    /// More was asked for than a scenario can do.
    #[error("{asked} {what} are too many: at most {max}{advice}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// What was asked for.
        asked: u64,
        /// The limit.
        max: u64,
        /// What to do about it; begins with what separates it from the rest.
        advice: &'static str,
    },
    /// A name that no contestant has.
    #[error("no contestant is called {name:?}; there are: {known}")]
    NoSuchContestant {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The sockets could not be read.
    #[error(transparent)]
    Sockets(#[from] portolan_sockets::Error),
    /// A program ran into the limit.
    #[error("{program} was stopped after {} s", limit.as_secs())]
    TooSlow {
        /// The program.
        program: String,
        /// The limit.
        limit: Duration,
    },
}

impl Error {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
