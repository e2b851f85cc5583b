//! Opening a connection from the source port that is its turn.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

use rustix::{io::Errno, net::connect};

use super::{routes::Ports, run::Run};
use crate::{
    Close,
    counts::ErrorKind,
    socket,
    source_ports::{End, Lease},
};

/// How many source ports are tried for one connection.
const PORTS_TRIED: u64 = 64;

/// A connection that was begun.
pub(super) struct Opened {
    pub(super) socket: Socket,
    /// When `connect(2)` was called.
    pub(super) at: Instant,
    /// Whether it is established already, as on loopback.
    pub(super) is_established: bool,
}

/// A connection's socket; when it is closed, its source port comes back.
#[derive(Debug)]
pub(super) struct Socket {
    descriptor: OwnedFd,
    lease: Option<Lease>,
    ports: Ports,
    /// What the close leaves behind.
    end: End,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // It is closed right after this, and nobody takes a port in between.
        if let Some(lease) = self.lease.take() {
            self.ports.give_back(lease, self.end);
        }
    }
}

/// Begins a connection; ports that are taken are passed over, and counted.
pub(super) fn open(run: &mut Run, target: u32) -> Result<Opened, ErrorKind> {
    let address = run.routes.target(target);
    let mut unused = None;
    for _ in 0..PORTS_TRIED {
        let lease = run.routes.take(target).ok_or(ErrorKind::NoSourcePort)?;
        let made = match unused.take() {
            Some(socket) => Ok(socket),
            None => socket::connection(&address, run.options.close),
        };
        let begun = made.and_then(|descriptor| {
            let bound = lease.source().bind(&descriptor);
            let at = Instant::now();
            match bound.and_then(|()| begin(&descriptor, &address)) {
                Ok(is_established) => Ok((descriptor, at, is_established)),
                Err(errno) => {
                    // Not bound, so another port may be tried with it.
                    unused = bound.is_err().then_some(descriptor);
                    Err(errno)
                }
            }
        });
        match begun {
            Ok((descriptor, at, is_established)) => {
                run.routes.watch(&lease, at.elapsed());
                let end = match run.options.close {
                    Close::Reset => End::Free,
                    Close::Fin => End::TimeWait,
                };
                let ports = run.routes.ports();
                let socket = Socket { descriptor, lease: Some(lease), ports, end };
                return Ok(Opened { socket, at, is_established });
            }
            Err(errno) if lease.source().is_conflict(errno) => {
                run.routes.give_back(lease, End::Conflict);
                run.tally.ports_skipped += 1;
            }
            Err(errno) => {
                run.routes.give_back(lease, End::Free);
                return Err(ErrorKind::of(errno));
            }
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
