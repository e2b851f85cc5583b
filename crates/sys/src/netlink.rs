//! A netlink socket: whole datagrams in and out. What they mean is the caller's business.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    time::Duration,
};

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType,
    netlink::{self, SocketAddrNetlink},
    sockopt,
};

use crate::option;

/// A netlink socket in the network namespace of the thread that opened it; it stays there.
#[derive(Debug)]
pub struct NetlinkSocket {
    fd: OwnedFd,
}

impl NetlinkSocket {
    /// Opens a `NETLINK_SOCK_DIAG` socket (see sock_diag(7)). Needs no privilege.
    ///
    /// `patience` bounds each receive: the kernel answers at once, so a longer silence is an error.
    ///
    /// # Errors
    /// The system call's error; `EPROTONOSUPPORT` where the kernel was built without sock_diag.
    pub fn open_sock_diag(patience: Duration) -> io::Result<Self> {
        Self::open(Some(netlink::SOCK_DIAG), patience)
    }

    /// Opens a `NETLINK_ROUTE` socket (see rtnetlink(7)). Needs no privilege to ask.
    ///
    /// `patience` bounds each receive.
    ///
    /// # Errors
    /// The system call's error.
    pub fn open_route(patience: Duration) -> io::Result<Self> {
        // NETLINK_ROUTE is protocol 0, which is written as none.
        Self::open(None, patience)
    }

    fn open(protocol: Option<Protocol>, patience: Duration) -> io::Result<Self> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let fd = rustix::net::socket_with(family, SocketType::RAW, flags, protocol)?;
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, Some(patience))?;
        Ok(Self { fd })
    }

    /// The kernel's number of the network namespace that it is in, which no other ever gets
    /// (`SO_NETNS_COOKIE`).
    ///
    /// # Errors
    /// `ENOPROTOOPT` before Linux 5.14.
    pub fn namespace_cookie(&self) -> io::Result<u64> {
        let mut cookie = 0_u64;
        let fd = self.fd.as_raw_fd();
        option::get(fd, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, &mut cookie)?;
        Ok(cookie)
    }

    /// Sends one request to the kernel.
    ///
    /// # Errors
    /// The system call's error.
    pub fn send(&self, request: &[u8]) -> io::Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        let sent = rustix::net::sendto(&self.fd, request, SendFlags::empty(), &kernel)?;
        if sent == request.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Receives one datagram into `buffer` and returns its length.
    ///
    /// # Errors
    /// The system call's error, `EAGAIN` after the patience ran out, and `InvalidData` for a
    /// datagram that did not fit into `buffer` (the kernel would have dropped the rest).
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::TRUNC) {
                Ok((kept, whole)) if kept == whole => return Ok(kept),
                Ok((kept, whole)) => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("netlink datagram of {whole} bytes cut to {kept}"),
                    ));
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
