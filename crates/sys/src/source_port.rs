//! Which source port the kernel chooses, and when.

use std::{io, ops::RangeInclusive, os::fd::AsRawFd};

use crate::option;

/// `IP_LOCAL_PORT_RANGE` of include/uapi/linux/in.h: the `libc` crate lacks it.
const IP_LOCAL_PORT_RANGE: i32 = 51;

/// `IP_BIND_ADDRESS_NO_PORT` of the same.
const IP_BIND_ADDRESS_NO_PORT: i32 = 24;

/// From which ports the kernel chooses for this socket, of IPv4 or IPv6: those of `range` that are
/// in `net.ipv4.ip_local_port_range` too, and without the step of 2 since Linux 6.8
/// (`inet_sk_get_local_port_range` in net/ipv4/inet_connection_sock.c). A bound that is outside of
/// that range has no effect.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 6.3; `EINVAL` of an empty range.
pub fn set_local_range(socket: &impl AsRawFd, range: &RangeInclusive<u16>) -> io::Result<()> {
    let value = u32::from(*range.start()) | u32::from(*range.end()) << 16;
    // The kernel's number has no sign; the bits are the same.
    option::set(socket.as_raw_fd(), libc::SOL_IP, IP_LOCAL_PORT_RANGE, &value.cast_signed())
}

/// A bind to port 0 that follows leaves the port to `connect(2)`, which needs it to be free towards
/// its destination only (`IP_BIND_ADDRESS_NO_PORT`, Linux 4.2).
///
/// # Errors
/// The system call's; not expected.
pub fn set_bind_address_no_port(socket: &impl AsRawFd) -> io::Result<()> {
    option::set(socket.as_raw_fd(), libc::SOL_IP, IP_BIND_ADDRESS_NO_PORT, &1)
}

#[cfg(test)]
mod tests;
