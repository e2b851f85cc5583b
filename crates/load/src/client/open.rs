//! Opening a connection from a source port of our own choice.

use std::{net::SocketAddr, os::fd::OwnedFd, time::Instant};

use rustix::{
    io::Errno,
    net::{bind, connect},
};

use super::run::Run;
use crate::{counts::ErrorKind, socket};

/// How many source ports are tried for one connection.
const PORTS_TRIED: usize = 64;

/// A connection that was begun.
pub(super) struct Opened {
    pub(super) socket: OwnedFd,
    /// When `connect(2)` was called.
    pub(super) at: Instant,
    /// Whether it is established already, as on loopback.
    pub(super) is_established: bool,
}

/// Begins a connection; ports that are taken are passed over, and counted.
pub(super) fn open(run: &mut Run, target: u32) -> Result<Opened, ErrorKind> {
    let address = run.routes.target(target);
    let mut socket = None;
    for _ in 0..PORTS_TRIED {
        let source = run.routes.next_source(target).ok_or(ErrorKind::NoSourcePort)?;
        let fresh = match socket.take() {
            Some(socket) => socket,
            None => socket::connection(&address, run.options.close).map_err(ErrorKind::of)?,
        };
        match bind(&fresh, &source) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => {
                run.tally.ports_skipped += 1;
                socket = Some(fresh);
                continue;
            }
            Err(errno) => return Err(ErrorKind::of(errno)),
        }
        let at = Instant::now();
        match begin(&fresh, &address) {
            Ok(is_established) => return Ok(Opened { socket: fresh, at, is_established }),
            // The pair of addresses and ports is in use, or in TIME-WAIT for less than a second.
            Err(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => run.tally.ports_skipped += 1,
            Err(errno) => return Err(ErrorKind::of(errno)),
        }
    }
    Err(ErrorKind::NoSourcePort)
}

/// Whether the connection is established; it is asked for twice, because over loopback the
/// handshake is over when the first call returns.
fn begin(socket: &OwnedFd, target: &SocketAddr) -> Result<bool, Errno> {
    match connect(socket, target) {
        Ok(()) => return Ok(true),
        Err(Errno::INPROGRESS) => {}
        Err(errno) => return Err(errno),
    }
    match connect(socket, target) {
        Ok(()) | Err(Errno::ISCONN) => Ok(true),
        Err(Errno::ALREADY) => Ok(false),
        Err(errno) => Err(errno),
    }
}
