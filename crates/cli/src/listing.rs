//! `--listing` and `--method`: how to list sockets.

use clap::ValueEnum;
use portolan_sockets::MethodName;

/// The ways to list sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// The fastest that this host allows.
    Auto,
    /// Netlink sock_diag.
    Diag,
    /// The files under /proc/net.
    Procfs,
}

impl Listing {
    /// The method asked for; `None` leaves the choice to the program.
    pub fn method(self) -> Option<MethodName> {
        match self {
            Self::Auto => None,
            Self::Diag => Some(MethodName::Diag),
            Self::Procfs => Some(MethodName::Procfs),
        }
    }
}
