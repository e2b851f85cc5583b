//! What one process of the world holds.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream},
    os::fd::OwnedFd,
    time::Duration,
};

use portolan_sys::limits;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::Error;

/// Connections that one process holds at most: both ends of each, under the 20,000 descriptors
/// that are a usual hard limit.
pub const CONNECTIONS_MAX: u32 = 9_000;

/// Processes at most: each has a network 127.0.N.0/24 of its own.
const PROCESSES_MAX: u8 = 250;

/// Where each process listens.
pub(super) const SERVER_PORTS: [u16; 4] = [5_001, 5_002, 5_003, 5_004];

/// Client addresses of a process: 127.0.N.10 and following.
const CLIENTS: u8 = 4;
const CLIENT_FIRST: u8 = 10;

/// Where Linux begins to give out ephemeral ports.
const CLIENT_PORT_FIRST: u16 = 32_768;

/// Descriptors beside the connections: listeners, standard streams.
const DESCRIPTORS_BESIDE: u64 = 32;

/// A process's share of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Connections to hold, both ends of each; at most [`CONNECTIONS_MAX`].
    pub connections: u32,
    /// Which share it is, from 0: decides the addresses, 127.0.(share + 1).0/24.
    pub share: u8,
}

impl Hold {
    /// The shares that make up at least `sockets` connected sockets.
    ///
    /// # Errors
    /// When that is more than all processes may hold.
    pub fn shares(sockets: u64) -> Result<Vec<Self>, Error> {
        let max = u64::from(CONNECTIONS_MAX) * u64::from(PROCESSES_MAX) * 2;
        if sockets > max {
            return Err(Error::TooMany { what: "sockets", asked: sockets, max, advice: "" });
        }
        let mut left = u32::try_from(sockets.div_ceil(2)).unwrap_or(u32::MAX);
        let mut shares = Vec::new();
        for share in 0..PROCESSES_MAX {
            if left == 0 {
                break;
            }
            let connections = left.min(CONNECTIONS_MAX);
            left -= connections;
            shares.push(Self { connections, share });
        }
        Ok(shares)
    }

    /// As the command line of the hidden `portolan bench hold` takes it.
    #[must_use]
    pub fn to_args(self) -> [String; 4] {
        let (connections, share) = (self.connections.to_string(), self.share.to_string());
        ["--connections".to_owned(), connections, "--share".to_owned(), share]
    }

    /// What is written when all connections are there.
    pub(super) fn ready(self) -> String {
        format!("ready {}", self.connections)
    }

    fn server(self, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(127, 0, self.share + 1, 1), port)
    }

    /// The client's address and the server's port of connection `number`. The port is chosen
    /// here, because the kernel's own choice gets slow when many are taken.
    fn tuple(self, number: u32) -> (SocketAddrV4, u16) {
        let low = |value: u32| u8::try_from(value).unwrap_or(0);
        let client = CLIENT_FIRST + low(number % u32::from(CLIENTS));
        let address = Ipv4Addr::new(127, 0, self.share + 1, client);
        let port = CLIENT_PORT_FIRST + u16::try_from(number).unwrap_or(0);
        let server = usize::try_from(number / u32::from(CLIENTS)).unwrap_or(0);
        (SocketAddrV4::new(address, port), SERVER_PORTS[server % SERVER_PORTS.len()])
    }
}

/// Opens the connections of `share`, writes `ready N` and a line end, and holds them until `end`
/// ends.
///
/// # Errors
/// When there are too few descriptors, or a connection cannot be made.
pub fn hold(share: Hold, ready: &mut dyn Write, end: &mut dyn Read) -> Result<(), Error> {
    if share.connections > CONNECTIONS_MAX {
        let (asked, max) = (u64::from(share.connections), u64::from(CONNECTIONS_MAX));
        return Err(Error::TooMany { what: "connections of one process", asked, max, advice: "" });
    }
    raise_descriptors(u64::from(share.connections) * 2 + DESCRIPTORS_BESIDE)?;
    let what = || format!("hold {} connections", share.connections);
    let connections = connect_all(share).map_err(Error::system(what()))?;
    writeln!(ready, "{}", share.ready())
        .and_then(|()| ready.flush())
        .map_err(Error::system("say that the connections are there"))?;
    io::copy(end, &mut io::sink()).map_err(Error::system("wait for the end of the input"))?;
    drop(connections);
    Ok(())
}

fn raise_descriptors(needed: u64) -> Result<(), Error> {
    limits::raise_descriptors().map_err(Error::system("raise the limit of file descriptors"))?;
    match limits::descriptors().soft {
        Some(max) if max < needed => {
            let advice = "; raise the hard limit (ulimit -Hn), or measure smaller sizes";
            Err(Error::TooMany { what: "file descriptors", asked: needed, max, advice })
        }
        _ => Ok(()),
    }
}

/// What is held, and nothing is ever sent on.
struct Held {
    _listeners: Vec<TcpListener>,
    _ends: Vec<(OwnedFd, TcpStream)>,
}

fn connect_all(share: Hold) -> io::Result<Held> {
    let listeners = SERVER_PORTS
        .iter()
        .map(|&port| TcpListener::bind(share.server(port)))
        .collect::<io::Result<Vec<_>>>()?;
    let mut ends = Vec::with_capacity(usize::try_from(share.connections).unwrap_or(0));
    for number in 0..share.connections {
        let (client, server_port) = share.tuple(number);
        let listener = SERVER_PORTS.iter().position(|&port| port == server_port).unwrap_or(0);
        let connected = connect(client, share.server(server_port))?;
        let (accepted, _) = listeners[listener].accept()?;
        ends.push((connected, accepted));
    }
    Ok(Held { _listeners: listeners, _ends: ends })
}

fn connect(from: SocketAddrV4, to: SocketAddrV4) -> io::Result<OwnedFd> {
    let tcp = Some(ipproto::TCP);
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, tcp)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // Ends with a reset: fifty thousand connections in TIME-WAIT would help nobody.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    rustix::net::bind(&socket, &from)?;
    rustix::net::connect(&socket, &to)?;
    Ok(socket)
}

#[cfg(test)]
mod tests;
