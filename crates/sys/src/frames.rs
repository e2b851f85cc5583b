//! Many frames with one system call, from and into the caller's buffers: `sendmmsg(2)` and
//! `recvmmsg(2)` on a socket that needs no addresses.

use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd},
};

/// How many frames go with one call.
pub const BATCH: usize = 32;

/// A buffer and how much of it is in use.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The whole buffer.
    pub bytes: Box<[u8]>,
    /// How many of them the frame has.
    pub len: usize,
    /// It was longer than the buffer when it was received.
    pub is_cut: bool,
}

impl Frame {
    /// An empty one with a buffer of `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity].into_boxed_slice(), len: 0, is_cut: false }
    }
}

/// Sends `frames` in order, [`BATCH`] at most, as far as the kernel takes them, without waiting.
/// Returns how many it took.
///
/// # Errors
/// Why the first one was not taken.
pub fn send(fd: impl AsFd, frames: &[Frame]) -> io::Result<usize> {
    // SAFETY: all-zero bytes are valid for both.
    let (mut slices, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (mem::zeroed(), mem::zeroed()) };
    for ((slice, header), frame) in slices.iter_mut().zip(&mut headers).zip(frames) {
        // The kernel does not write there.
        slice.iov_base = frame.bytes.as_ptr().cast_mut().cast();
        slice.iov_len = frame.len.min(frame.bytes.len());
        header.msg_hdr.msg_iov = slice;
        header.msg_hdr.msg_iovlen = 1;
    }
    let count = libc::c_uint::try_from(frames.len().min(BATCH)).unwrap_or(0);
    if count == 0 {
        return Ok(0);
    }
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: `count` headers point at bytes of `frames` and at `slices`, which live, unmoved,
    // until the call returns; lengths are within the buffers; there are no names.
    let sent = unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives what is there, without waiting, into the first of `frames`, [`BATCH`] at most. Returns
/// how many there were.
///
/// # Errors
/// `EAGAIN` where there is nothing; the socket's pending error, if it has one.
pub fn receive(fd: impl AsFd, frames: &mut [Frame]) -> io::Result<usize> {
    // SAFETY: all-zero bytes are valid for both.
    let (mut slices, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (mem::zeroed(), mem::zeroed()) };
    for ((slice, header), frame) in slices.iter_mut().zip(&mut headers).zip(&mut *frames) {
        slice.iov_base = frame.bytes.as_mut_ptr().cast();
        slice.iov_len = frame.bytes.len();
        header.msg_hdr.msg_iov = slice;
        header.msg_hdr.msg_iovlen = 1;
    }
    let count = libc::c_uint::try_from(frames.len().min(BATCH)).unwrap_or(0);
    let (fd, no_wait) = (fd.as_fd().as_raw_fd(), std::ptr::null_mut());
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: `count` headers point at bytes of `frames`, borrowed for writing, and at `slices`,
    // which live, unmoved, until the call returns; the time is null, which is allowed.
    let got = unsafe { libc::recvmmsg(fd, headers.as_mut_ptr(), count, flags, no_wait) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    for (header, frame) in headers.iter().zip(frames).take(got) {
        frame.len = usize::try_from(header.msg_len).unwrap_or(0).min(frame.bytes.len());
        frame.is_cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
    }
    Ok(got)
}

#[cfg(test)]
mod tests;
