//! What lies between a connection's handle and its queue's thread.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use portolan_stack::tcp::{self, Reason};

use super::mailbox::{Mailbox, Order};
use crate::shared::lock;

/// Bytes that wait in each direction at most, besides those in the stack.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Pipe {
    state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) mailbox: Arc<Mailbox>,
}

#[derive(Debug)]
pub(super) struct State {
    /// From the stack to the handle.
    pub(super) incoming: VecDeque<u8>,
    /// From the handle to the stack.
    pub(super) outgoing: VecDeque<u8>,
    /// The connection's number in the stack, once it has one.
    pub(super) index: Option<usize>,
    /// The two ends, once it is established.
    pub(super) ends: Option<(SocketAddr, SocketAddr)>,
    /// Nothing comes after `incoming`.
    pub(super) has_peer_finished: bool,
    /// The handle's user writes no more.
    pub(super) has_finished: bool,
    /// The handle was dropped.
    pub(super) is_dropped: bool,
    /// It is to be reset.
    pub(super) is_aborted: bool,
    /// The stack has more, for which there was no room.
    pub(super) is_starved: bool,
    /// Why nothing works any more.
    pub(super) failure: Option<Failure>,
    /// The thread was told that something has changed, and has not looked yet.
    pub(super) is_ordered: bool,
}

/// Why a connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It ended before its time, or never began.
    Connection(tcp::Error),
    /// The host has ended.
    HostEnded,
}

impl Pipe {
    /// For a connection that is not established yet.
    pub(super) fn connecting(mailbox: Arc<Mailbox>) -> Self {
        let state = State {
            incoming: VecDeque::new(),
            outgoing: VecDeque::new(),
            index: None,
            ends: None,
            has_peer_finished: false,
            has_finished: false,
            is_dropped: false,
            is_aborted: false,
            is_starved: false,
            failure: None,
            is_ordered: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), mailbox }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Tells the thread that the state has changed, which the caller has just done.
    pub(super) fn order(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if !std::mem::replace(&mut state.is_ordered, true) {
            drop(state);
            // Who uses the handle learns of the end by `failure`.
            let _ = self.mailbox.order(Order::Pump(Arc::clone(self)));
        }
    }

    pub(super) fn fail(&self, failure: Failure) {
        self.lock().failure.get_or_insert(failure);
        self.changed.notify_all();
    }
}

impl Failure {
    /// As the standard library calls what the kernel says in the same case.
    pub(super) fn kind(self) -> io::ErrorKind {
        let Self::Connection(error) = self else { return io::ErrorKind::NotConnected };
        match error {
            tcp::Error::Ended(Reason::Refused) => io::ErrorKind::ConnectionRefused,
            tcp::Error::Ended(Reason::Reset) => io::ErrorKind::ConnectionReset,
            tcp::Error::Ended(Reason::Aborted) => io::ErrorKind::ConnectionAborted,
            tcp::Error::Ended(Reason::TimedOut) => io::ErrorKind::TimedOut,
            tcp::Error::Ended(Reason::Unreachable) => io::ErrorKind::HostUnreachable,
            tcp::Error::NoRoute(_) => io::ErrorKind::NetworkUnreachable,
            tcp::Error::NoFreePort(_) => io::ErrorKind::AddrNotAvailable,
            tcp::Error::PortInUse(_) | tcp::Error::ConnectionInUse(_) => io::ErrorKind::AddrInUse,
            tcp::Error::NotADestination(_) | tcp::Error::NoPort => io::ErrorKind::InvalidInput,
            tcp::Error::TooManyConnections(_) => io::ErrorKind::QuotaExceeded,
            tcp::Error::Finished => io::ErrorKind::BrokenPipe,
            tcp::Error::NotConnected | tcp::Error::NoSuchHandle => io::ErrorKind::NotConnected,
        }
    }

    /// The same of a connection that was to be opened.
    pub(super) fn to_connect(self, remote: SocketAddr) -> io::Error {
        let Self::Connection(source) = self else { return ended() };
        io::Error::new(self.kind(), crate::Error::Connect { remote, source })
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Connection(error) => Self::new(failure.kind(), error),
            Failure::HostEnded => ended(),
        }
    }
}

/// How long calls wait at most. Whoever has the handle may change it.
#[derive(Debug)]
pub(super) struct Patience {
    /// [`FOREVER`] stands for no end.
    micros: AtomicU64,
}

const FOREVER: u64 = u64::MAX;

impl Default for Patience {
    fn default() -> Self {
        Self { micros: AtomicU64::new(FOREVER) }
    }
}

impl Patience {
    pub(super) fn set(&self, longest: Option<Duration>) {
        let micros = longest.and_then(|longest| u64::try_from(longest.as_micros()).ok());
        self.micros.store(micros.unwrap_or(FOREVER), Ordering::Relaxed);
    }

    /// When a call that begins now ends.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.micros.load(Ordering::Relaxed) {
            FOREVER => None,
            micros => Instant::now().checked_add(Duration::from_micros(micros)),
        }
    }
}

/// The host has ended.
pub(super) fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, crate::Error::Ended)
}

/// Waits for a change until the deadline, if there is one.
pub(super) fn wait<'a, T>(
    changed: &Condvar,
    state: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> io::Result<MutexGuard<'a, T>> {
    let Some(at) = deadline else {
        return Ok(changed.wait(state).unwrap_or_else(PoisonError::into_inner));
    };
    let left = at.saturating_duration_since(Instant::now());
    if left.is_zero() {
        let text = "nothing has changed within the time that the call may wait (set_timeout)";
        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
    }
    Ok(changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0)
}
