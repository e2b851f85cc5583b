//! `--listing` and `--method`: how to list sockets.

use clap::ValueEnum;
use portolan_sockets::MethodName;

/// The ways to list sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// The fastest that this host allows.
    Auto,
    /// A BPF program that follows the chains of TCP's hash table.
    Walk,
    /// Netlink sock_diag.
    Diag,
    /// BPF iterators.
    Iter,
    /// The files under /proc/net.
    Procfs,
}

impl Listing {
    /// The method asked for; `None` leaves the choice to the program.
    pub fn method(self) -> Option<MethodName> {
        match self {
            Self::Auto => None,
            Self::Walk => Some(MethodName::Walk),
            Self::Diag => Some(MethodName::Diag),
            Self::Iter => Some(MethodName::Iter),
            Self::Procfs => Some(MethodName::Procfs),
        }
    }
}
