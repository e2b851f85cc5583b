//! What keeps a load from being generated at all. What happens to single connections is counted
//! instead ([`crate::Errors`]).

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

/// Why nothing can be begun.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A list of addresses or ports that cannot be read.
    #[error("{input:?}: {problem}")]
    Addresses {
        /// What was written.
        input: String,
        /// What is wrong with it, and what to write.
        problem: String,
    },
    /// A name that cannot be resolved.
    #[error(
        "cannot resolve {name:?}: {source}; name an address, or a host that the resolver knows"
    )]
    Resolve {
        /// The host's name.
        name: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// A URL that cannot be read, or that is not HTTP over TCP.
    #[error("{input:?}: {problem}")]
    Url {
        /// What was written.
        input: String,
        /// What is wrong with it, and what to write.
        problem: &'static str,
    },
    /// A worker that could not go on.
    #[error("the load ended early: {0}")]
    Worker(String),
    /// Options that make no sense.
    #[error("{0}")]
    Options(String),
    /// An address that cannot be listened on.
    #[error("cannot listen on {address} ({transport}): {source}{}", how_to_listen(source))]
    Listen {
        /// Which.
        address: SocketAddr,
        /// TCP or UDP.
        transport: &'static str,
        /// The system call's error.
        source: io::Error,
    },
    /// A source address that this host does not have.
    #[error("cannot use the source address {address}: {source}; it has to be one of this host's")]
    Source {
        /// Which.
        address: IpAddr,
        /// The system call's error.
        source: io::Error,
    },
    /// More sockets than this process may have.
    #[error(
        "{wanted} sockets are more than the {allowed} that this process may have: raise the limit \
         of file descriptors (ulimit -n), or ask for fewer"
    )]
    Descriptors {
        /// How many would be needed.
        wanted: u64,
        /// How many there can be.
        allowed: u64,
    },
    /// A host of this process that cannot begin, or ended early.
    #[error(transparent)]
    Host(#[from] portolan_host::Error),
    /// A system call that does not usually fail.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Its error.
        source: io::Error,
    },
}

/// What to do where one cannot listen.
fn how_to_listen(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program listens there, or it is named twice: choose another port"
        }
        io::ErrorKind::AddrNotAvailable => "; it has to be one of this host's addresses",
        io::ErrorKind::PermissionDenied => {
            "; low ports need CAP_NET_BIND_SERVICE: run with sudo, or choose one from 1024 on"
        }
        _ => "",
    }
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
