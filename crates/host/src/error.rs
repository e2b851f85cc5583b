//! What can go wrong with a host.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use portolan_nic as nic;
use portolan_stack::{ConfigError, UdpError, tcp};

/// Why a host cannot begin, or something cannot be done with it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its configuration contradicts itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Options that make no sense.
    #[error("{0}")]
    Options(String),
    /// The device cannot be used (any more).
    #[error(transparent)]
    Nic(#[from] nic::Error),
    /// A port cannot be listened on.
    #[error("cannot listen on TCP {}: {source}", place(*.address, *.port))]
    Listen {
        /// The address, if it is one alone.
        address: Option<IpAddr>,
        /// The port.
        port: u16,
        /// Why.
        source: tcp::Error,
    },
    /// A UDP port cannot be bound.
    #[error("cannot bind UDP {}: {source}", place(*.address, *.port))]
    Bind {
        /// The address, if it is one alone.
        address: Option<IpAddr>,
        /// The port.
        port: u16,
        /// Why.
        source: UdpError,
    },
    /// A connection cannot be opened.
    #[error("cannot connect to {remote}: {source}")]
    Connect {
        /// Its other end.
        remote: SocketAddr,
        /// Why.
        source: tcp::Error,
    },
    /// An address that the host does not have.
    #[error("{0} is no address of this host: take one of those that it was given")]
    NotOwn(IpAddr),
    /// Another host has an address of this one, which does not use it any more.
    #[error("{address} is already used by {}: choose another address", mac(hardware))]
    AddressTaken {
        /// The address.
        address: IpAddr,
        /// The other host's Ethernet address.
        hardware: [u8; 6],
    },
    /// The host has ended.
    #[error("the host has ended: start another one")]
    Ended,
    /// A system call that does not usually fail.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Its error.
        source: io::Error,
    },
    /// A thread panicked.
    #[error("a thread of the host panicked; its message stands above")]
    Panicked,
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

fn mac([a, b, c, d, e, f]: &[u8; 6]) -> String {
    format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
}

fn place(address: Option<IpAddr>, port: u16) -> String {
    match address {
        Some(address) => SocketAddr::new(address, port).to_string(),
        None => format!("port {port}"),
    }
}
