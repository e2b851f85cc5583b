//! Raw IP sockets (raw(7)): packets of one's own beside the kernel's TCP.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::{
    error_queue,
    filter::{self, Instruction},
    option,
};

/// Which of the two internet protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What packets hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Upper {
    /// TCP segments.
    Tcp,
    /// ICMP messages, ICMPv6 on IPv6.
    Icmp,
}

/// A raw socket, which does not wait. It sends packets, and gets a copy of every packet of its kind
/// that the host receives and its filter wants: with the IP header on IPv4, without on IPv6.
///
/// What ICMP says about what it sent goes to its error queue, and makes the next call fail once:
/// whoever gets an error takes what is in the queue and calls again.
#[derive(Debug)]
pub struct RawIp {
    family: Family,
    fd: OwnedFd,
}

impl RawIp {
    /// Opens one in the network namespace of the calling thread. `filter` stands before the first
    /// packet can come; `receive_bytes` is what the kernel may queue.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `EAFNOSUPPORT` where the family is off.
    pub fn open(
        family: Family,
        upper: Upper,
        filter: &[Instruction],
        receive_bytes: usize,
    ) -> io::Result<Self> {
        let domain = match family {
            Family::V4 => AddressFamily::INET,
            Family::V6 => AddressFamily::INET6,
        };
        let protocol = match (upper, family) {
            (Upper::Tcp, _) => ipproto::TCP,
            (Upper::Icmp, Family::V4) => ipproto::ICMP,
            (Upper::Icmp, Family::V6) => ipproto::ICMPV6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(domain, SocketType::RAW, flags, Some(protocol))?;
        filter::attach(&fd, filter)?;
        // Without, the kernel hides that it had no room for a packet, such as in its table of
        // neighbours (`raw_sendmsg` in net/ipv4/raw.c).
        error_queue::enable(&fd, family == Family::V6)?;
        // Beyond the system's limit for those who may; up to it for the rest.
        if sockopt::set_socket_recv_buffer_size_force(&fd, receive_bytes).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, receive_bytes)?;
        }
        Ok(Self { family, fd })
    }

    /// Chooses whether what is sent from now on begins with the IP header, or the kernel adds it
    /// and chooses the source address. At first the kernel does.
    ///
    /// # Errors
    /// Not expected.
    pub fn include_header(&self, included: bool) -> io::Result<()> {
        let (level, name) = match self.family {
            Family::V4 => (libc::IPPROTO_IP, libc::IP_HDRINCL),
            Family::V6 => (libc::IPPROTO_IPV6, libc::IPV6_HDRINCL),
        };
        option::set(self.fd.as_raw_fd(), level, name, &libc::c_int::from(included))
    }
}

impl AsFd for RawIp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests;
