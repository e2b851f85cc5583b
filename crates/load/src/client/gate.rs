//! What workers wait for together: the begin of the run, the end of a hold.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, OnceLock},
    time::Instant,
};

use rustix::event::{EventfdFlags, eventfd};

/// A moment that is not known at first; to be cloned and sent to other threads.
#[derive(Clone, Debug)]
pub(super) struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    at: OnceLock<Instant>,
    /// Readable once the moment is known.
    event: OwnedFd,
}

/// All that there are.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    /// When the run begins.
    pub(super) begin: Gate,
    /// When, in mode `hold`, connections prove for the last time that they are alive.
    pub(super) verify: Gate,
}

impl Gates {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { begin: Gate::new()?, verify: Gate::new()? })
    }
}

impl Gate {
    fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Inner { at: OnceLock::new(), event })))
    }

    /// Says when; only the first time counts.
    pub(super) fn open(&self, at: Instant) {
        let _ = self.0.at.set(at);
        // It fails only when it is readable anyway.
        let _ = rustix::io::write(&self.0.event, &1_u64.to_ne_bytes());
    }

    /// When it is, once that is known.
    pub(super) fn at(&self) -> Option<Instant> {
        self.0.at.get().copied()
    }
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
