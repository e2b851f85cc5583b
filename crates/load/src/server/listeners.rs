//! The server's listening sockets, and its sockets for datagrams.

use std::{
    io,
    net::SocketAddr,
    os::fd::{OwnedFd, RawFd},
};

use portolan_sys::limits;
use rustix::{
    io::Errno,
    net::{SocketType, sockopt},
};

use super::{Serve, Transports, worker::Worker};
use crate::{Error, socket};

/// Descriptors that are left for the rest of the program and the connections, at least.
const RESERVE: u64 = 64;

/// How often another port is chosen, where the kernel chooses.
const CHOICES: usize = 16;

/// Whether all listening sockets, and a few connections, fit under the limit of descriptors.
pub(super) fn ensure_room(
    places: &[Serve],
    transports: Transports,
    threads: usize,
) -> Result<(), Error> {
    let sockets: usize = places.iter().map(|place| kinds(place, transports).count()).sum();
    let wanted = u64::try_from(sockets.saturating_mul(threads)).unwrap_or(u64::MAX);
    let allowed = limits::descriptors().soft.unwrap_or(u64::MAX).saturating_sub(RESERVE);
    if wanted > allowed { Err(Error::Descriptors { wanted, allowed }) } else { Ok(()) }
}

/// The first number of the descriptors that are left for connections which are closed at once: one
/// for each thread.
pub(super) fn descriptors_end(threads: usize) -> RawFd {
    let threads = u64::try_from(threads).unwrap_or(u64::MAX);
    let end = limits::descriptors().soft.unwrap_or(u64::MAX).saturating_sub(threads);
    RawFd::try_from(end).unwrap_or(RawFd::MAX)
}

/// Listens at one of the addresses. If its port is 0 it is, from then on, the one that was chosen.
pub(super) fn listen(
    worker: &mut Worker,
    places: &mut [Serve],
    at: usize,
    transports: Transports,
    is_first: bool,
) -> Result<(), Error> {
    let asked = places[at];
    let mut opened = open(&asked, transports, is_first);
    for _ in 0..CHOICES {
        match &opened {
            // What the kernel chose for TCP may be taken for UDP.
            Err(Error::Listen { source, .. })
                if asked.address.port() == 0 && source.kind() == io::ErrorKind::AddrInUse =>
            {
                opened = open(&asked, transports, is_first);
            }
            _ => break,
        }
    }
    let (address, sockets) = opened?;
    places[at].address = address;
    for (socket, kind) in sockets {
        worker.listen(socket, kind, at).map_err(|errno| Error::System {
            what: "watch a listening socket",
            source: errno.into(),
        })?;
    }
    Ok(())
}

/// Which sockets there are to be at one address.
fn kinds(
    place: &Serve,
    transports: Transports,
) -> impl Iterator<Item = (SocketType, &'static str)> + use<> {
    let has_datagrams = transports != Transports::Tcp && place.service.has_datagrams();
    let tcp = (transports != Transports::Udp).then_some((SocketType::STREAM, "TCP"));
    let udp = has_datagrams.then_some((SocketType::DGRAM, "UDP"));
    tcp.into_iter().chain(udp)
}

/// The sockets at one address, all at the same port; and the address with that port.
fn open(
    place: &Serve,
    transports: Transports,
    is_first: bool,
) -> Result<(SocketAddr, Vec<(OwnedFd, SocketType)>), Error> {
    let mut address = place.address;
    let mut sockets = Vec::with_capacity(2);
    for (kind, transport) in kinds(place, transports) {
        let failed = |errno: Errno| Error::Listen { address, transport, source: errno.into() };
        let socket = socket::listen(&address, kind, is_first).map_err(failed)?;
        if kind == SocketType::STREAM {
            // Connections inherit it: no response waits for the acknowledgement of the one before.
            sockopt::set_tcp_nodelay(&socket, true).map_err(failed)?;
        }
        if let Some(own) = socket::local(&socket).filter(|_| address.port() == 0) {
            address.set_port(own.port());
        }
        sockets.push((socket, kind));
    }
    Ok((address, sockets))
}
