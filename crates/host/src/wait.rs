//! Waiting for frames, for other threads, and for time.

use std::{io, os::fd::BorrowedFd, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::waker::Waker;

/// What is waited for.
pub(crate) struct Wait<'a> {
    /// The device's, if it has one.
    pub(crate) descriptor: Option<BorrowedFd<'a>>,
    /// Also for room in the device.
    pub(crate) is_full: bool,
    pub(crate) waker: &'a Waker,
    /// So long at most; for ever, if there is no time.
    pub(crate) longest: Option<Duration>,
}

pub(crate) fn wait(wait: &Wait<'_>) -> io::Result<()> {
    let longest = wait.longest.map(|it| Timespec {
        tv_sec: i64::try_from(it.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: it.subsec_nanos().into(),
    });
    let flags = if wait.is_full { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let waker = PollFd::new(wait.waker, PollFlags::IN);
    let polled = match &wait.descriptor {
        Some(nic) => poll(&mut [waker, PollFd::new(nic, flags)], longest.as_ref()),
        None => poll(&mut [waker], longest.as_ref()),
    };
    match polled {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
