//! TAP interfaces: what the host's kernel sends by one is read from a file, and what is written to
//! the file arrives by it (Documentation/networking/tuntap.rst of the kernel).

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
};

use crate::interface;

/// The file that queues are opened by.
pub const DEVICE: &str = "/dev/net/tun";

/// Opens a queue that belongs to no interface yet, in the network namespace of the calling thread;
/// it does not wait.
///
/// # Errors
/// `ENOENT` or `ENODEV` where the kernel has no TUN/TAP, `EACCES` where the file may not be opened.
pub fn open() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)
}

/// Makes `queue` one of the interface `name`, which is made if there is none; in a name such as
/// `tap%d` the kernel sets the number. Every frame has a `struct virtio_net_hdr` before it. Returns
/// the interface's name.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN over the namespace (or being the interface's owner), `EBUSY` where
/// another process has the interface, `EINVAL` where the interface is no TAP or was made with
/// another choice of `is_multi_queue`, `E2BIG` for more queues than the kernel has.
pub fn attach(queue: &File, name: &str, is_multi_queue: bool) -> io::Result<String> {
    let mut request = interface::request(name)?;
    let several = if is_multi_queue { libc::IFF_MULTI_QUEUE } else { 0 };
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR | several;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or(0);
    // SAFETY: TUNSETIFF reads and writes one ifreq, which lives until the call returns.
    let done = unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
    if done == 0 { Ok(interface::name_of(&request)) } else { Err(io::Error::last_os_error()) }
}

/// Chooses how long the header before every frame is, in bytes; at least 10.
///
/// # Errors
/// `EINVAL` for less, `EBADFD` before the queue is attached.
pub fn set_header_bytes(queue: &File, bytes: i32) -> io::Result<()> {
    // SAFETY: TUNSETVNETHDRSZ reads one int, which lives until the call returns.
    let done =
        unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETVNETHDRSZ as _, &raw const bytes) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tells the kernel that whoever reads takes frames without checksums, and with `segments` also
/// TCP segments that are longer than the MTU. It is the interface's, not the queue's.
///
/// # Errors
/// `EBADFD` before the queue is attached.
pub fn set_offload(queue: &File, segments: bool) -> io::Result<()> {
    let segments =
        if segments { libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN } else { 0 };
    let flags = libc::c_ulong::from(libc::TUN_F_CSUM | segments);
    // SAFETY: TUNSETOFFLOAD takes a number and no pointer.
    let done = unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETOFFLOAD as _, flags) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;
