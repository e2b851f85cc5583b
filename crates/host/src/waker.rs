//! Waking a thread that waits for its device.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::event::{EventfdFlags, eventfd};

/// An eventfd that is written once, however often it is asked, until the thread has noticed.
#[derive(Debug)]
pub(crate) struct Waker {
    event: OwnedFd,
    is_asked: AtomicBool,
}

impl Waker {
    /// # Errors
    /// Without descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { event, is_asked: AtomicBool::new(false) })
    }

    /// What was written before by this thread is seen by the other one after [`Waker::take`].
    pub(crate) fn wake(&self) {
        if !self.is_asked.swap(true, Ordering::AcqRel) {
            // It fails only when it is readable anyway.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    /// Whether it was asked since the last time. To be called before looking at what is new.
    pub(crate) fn take(&self) -> bool {
        self.is_asked.load(Ordering::Acquire) && self.is_asked.swap(false, Ordering::AcqRel)
    }

    /// Makes the descriptor unreadable, after a wait in which it was readable. Not by
    /// [`Waker::take`]: what a slow thread writes after that would stay there.
    pub(crate) fn drain(&self) {
        // It fails only when it is unreadable anyway.
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests;
