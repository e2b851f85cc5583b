//! Socket options that no library has a typed call for.

use std::{io, os::fd::RawFd};

/// A value that the kernel reads from, or writes to, as it lies in memory.
///
/// # Safety
/// Every bit pattern is a valid value, and what the kernel does with its pointers, if it has any,
/// is sound for as long as the call lasts.
pub(crate) unsafe trait Plain: Sized {}

// SAFETY: a number.
unsafe impl Plain for libc::c_int {}
// SAFETY: a number.
unsafe impl Plain for u64 {}
// SAFETY: numbers only.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: numbers only.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: numbers only.
unsafe impl Plain for libc::packet_mreq {}
// SAFETY: the kernel reads `len` instructions at `filter`; who makes one keeps them alive.
unsafe impl Plain for libc::sock_fprog {}

/// `setsockopt(2)`.
pub(crate) fn set<T: Plain>(fd: RawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let size = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the kernel reads `size` bytes at `value`, which is that large.
    let done = unsafe { libc::setsockopt(fd, level, name, (&raw const *value).cast(), size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `getsockopt(2)` into `value`.
pub(crate) fn get<T: Plain>(fd: RawFd, level: i32, name: i32, value: &mut T) -> io::Result<()> {
    let mut size = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the kernel writes at most `size` bytes at `value`, which is that large and for which
    // every bit pattern is valid.
    let done =
        unsafe { libc::getsockopt(fd, level, name, (&raw mut *value).cast(), &raw mut size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;
