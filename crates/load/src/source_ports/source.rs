//! What is done with a socket before it connects.

use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    os::fd::OwnedFd,
};

use portolan_sys::source_port;
use rustix::{
    io::Errno,
    net::{bind, sockopt},
};

/// From where a connection comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From a port that the kernel chooses, and from this address if there is one.
    Kernel(Option<IpAddr>),
    /// From this address and port.
    Port(SocketAddr),
    /// From one of these ports that the kernel chooses, and from this address if there is one.
    Within(Option<IpAddr>, RangeInclusive<u16>),
}

impl Source {
    /// Prepares a socket that is about to connect.
    ///
    /// # Errors
    /// `EADDRINUSE`, and `EACCES` of a port below 1024: the port is taken, so take another one.
    /// What is taken towards the destination only, `connect(2)` says: `EADDRNOTAVAIL`.
    pub fn bind(&self, socket: &OwnedFd) -> Result<(), Errno> {
        match self {
            Self::Kernel(None) => Ok(()),
            Self::Kernel(Some(address)) => bind_address(socket, *address),
            Self::Port(source) => {
                // Ports in use towards other destinations, and in TIME-WAIT, may be bound to.
                sockopt::set_socket_reuseaddr(socket, true)?;
                bind(socket, source)
            }
            Self::Within(address, ports) => {
                source_port::set_local_range(socket, ports).map_err(errno)?;
                address.map_or(Ok(()), |address| bind_address(socket, address))
            }
        }
    }

    /// Whether the kernel's answer says that the port is taken, and another one may do.
    #[must_use]
    pub fn is_conflict(&self, errno: Errno) -> bool {
        match errno {
            Errno::ADDRINUSE | Errno::ADDRNOTAVAIL => !matches!(self, Self::Kernel(_)),
            // A port that only root may bind to.
            Errno::ACCESS => matches!(self, Self::Port(source) if source.port() < 1024),
            _ => false,
        }
    }
}

fn bind_address(socket: &OwnedFd, address: IpAddr) -> Result<(), Errno> {
    source_port::set_bind_address_no_port(socket).map_err(errno)?;
    bind(socket, &SocketAddr::new(address, 0))
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
}
