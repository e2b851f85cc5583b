//! Asking threads that wait in epoll to end.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::event::{EventfdFlags, eventfd};

/// Ends a client's run early; to be cloned and sent to other threads.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    is_asked: AtomicBool,
    /// Readable from when it is asked on.
    event: OwnedFd,
}

impl Stop {
    /// Not asked yet.
    ///
    /// # Errors
    /// Without descriptors.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Inner { is_asked: AtomicBool::new(false), event })))
    }

    /// Nothing new is begun; what is under way comes to its end.
    pub fn ask(&self) {
        self.0.is_asked.store(true, Ordering::Release);
        // It fails only when it is readable anyway.
        let _ = rustix::io::write(&self.0.event, &1_u64.to_ne_bytes());
    }

    /// Whether it was asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::Acquire)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
