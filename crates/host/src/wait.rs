//! Waiting for frames, for other threads, and for time.

use std::{io, os::fd::BorrowedFd, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::waker::Waker;

/// Waits for frames, if the device has a descriptor, and to be woken; for so long at most, or for
/// ever if there is no time.
pub(crate) fn wait(
    device: Option<BorrowedFd<'_>>,
    waker: &Waker,
    longest: Option<Duration>,
) -> io::Result<()> {
    let longest = longest.map(|it| Timespec {
        tv_sec: i64::try_from(it.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: it.subsec_nanos().into(),
    });
    let waker_fd = PollFd::new(waker, PollFlags::IN);
    // Where there is no device's, its own stands twice.
    let device_fd =
        device.map_or(waker_fd.clone(), |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let mut fds = [waker_fd, device_fd];
    match poll(&mut fds, longest.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let [waker_fd, _] = fds;
    if waker_fd.revents().contains(PollFlags::IN) {
        waker.drain();
    }
    Ok(())
}
