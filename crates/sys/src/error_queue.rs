//! The error queue of a socket: what ICMP said about packets that it sent.
//!
//! `errno` alone cannot tell a router's refusal from the host's; the queue keeps the message's
//! type and code (ip(7) `IP_RECVERR`, ipv6(7) `IPV6_RECVERR`, net/ipv4/ip_sockglue.c).

use std::{
    io, mem,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
    os::fd::{AsFd, AsRawFd},
};

use crate::option;

/// Who noticed the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This host's kernel.
    Local,
    /// An ICMP message over IPv4.
    Icmp,
    /// An ICMP message over IPv6.
    Icmp6,
    /// Something that is no error of a packet, such as a transmit timestamp.
    Other,
}

impl Origin {
    /// Whether it came as a message over the network.
    #[must_use]
    pub const fn is_icmp(self) -> bool {
        matches!(self, Self::Icmp | Self::Icmp6)
    }
}

/// One entry of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Who noticed.
    pub origin: Origin,
    /// What the kernel makes of it.
    pub errno: i32,
    /// The ICMP message's type; 0 if it was none.
    pub kind: u8,
    /// The ICMP message's code; 0 if it was none.
    pub code: u8,
    /// Where the packet that failed was going; the port is 0 on raw sockets.
    pub destination: Option<SocketAddr>,
    /// Who sent the ICMP message.
    pub offender: Option<IpAddr>,
    /// How many bytes of the packet that failed were written to the caller's buffer. They begin
    /// with what the socket sends: TCP's or UDP's payload, what follows the IP header on a raw
    /// socket, the IP header where the socket writes it itself (`IP_HDRINCL`).
    pub quoted_len: usize,
}

/// Lets the kernel keep errors for [`receive`].
///
/// # Errors
/// `ENOPROTOOPT` where the socket is of the other family.
pub fn enable(fd: impl AsFd, is_ipv6: bool) -> io::Result<()> {
    let (level, name) = if is_ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    };
    let on: libc::c_int = 1;
    option::set(fd.as_fd().as_raw_fd(), level, name, &on)
}

/// Takes the oldest entry off the queue, without waiting; `None` when it is empty. What does not
/// fit into `quoted` is cut off.
///
/// # Errors
/// The system call's; errors that are *in* the queue are not among them.
pub fn receive(fd: impl AsFd, quoted: &mut [u8]) -> io::Result<Option<Received>> {
    let mut name = [0_u8; NAME];
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec { iov_base: quoted.as_mut_ptr().cast(), iov_len: quoted.len() };
    // SAFETY: all-zero bytes are a valid msghdr: null pointers with lengths of 0.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = name.as_mut_ptr().cast();
    message.msg_namelen = length(NAME);
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the message points to three buffers, with their true lengths, that are writable and
    // live until the call returns.
    let received = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut message, flags) };
    let Ok(received) = usize::try_from(received) else {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    };
    let controls = (message.msg_controllen as usize).min(CONTROL);
    let names = usize::try_from(message.msg_namelen).unwrap_or(NAME).min(NAME);
    Ok(Some(Received {
        destination: address(&name[..names]),
        quoted_len: received.min(quoted.len()),
        ..extended_error(&control.0[..controls])
    }))
}

/// The error among control messages, each a `struct cmsghdr` and its data (cmsg(3)). Bytes that
/// make no sense end the search.
fn extended_error(mut controls: &[u8]) -> Received {
    let mut found = Received {
        origin: Origin::Other,
        errno: 0,
        kind: 0,
        code: 0,
        destination: None,
        offender: None,
        quoted_len: 0,
    };
    while let Some((length, rest)) = controls.split_first_chunk() {
        let length = usize::from_ne_bytes(*length);
        let Some((level, rest)) = rest.split_first_chunk() else { break };
        let Some(kind) = rest.first_chunk() else { break };
        let Some(data) = controls.get(HEADER..length) else { break };
        match (i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind)) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                read(data, &mut found);
                break;
            }
            _ => controls = controls.get(length.next_multiple_of(ALIGN)..).unwrap_or_default(),
        }
    }
    found
}

/// `struct sock_extended_err` (include/uapi/linux/errqueue.h) and the offender's address after it.
fn read(data: &[u8], found: &mut Received) {
    const SIZE: usize = size_of::<libc::sock_extended_err>();
    let Some((error, offender)) = data.split_first_chunk::<SIZE>() else { return };
    let [e0, e1, e2, e3, origin, kind, code, ..] = *error;
    found.errno = i32::from_ne_bytes([e0, e1, e2, e3]);
    found.origin = match origin {
        libc::SO_EE_ORIGIN_LOCAL => Origin::Local,
        libc::SO_EE_ORIGIN_ICMP => Origin::Icmp,
        libc::SO_EE_ORIGIN_ICMP6 => Origin::Icmp6,
        _ => Origin::Other,
    };
    if found.origin.is_icmp() {
        (found.kind, found.code) = (kind, code);
    }
    found.offender = address(offender).map(|offender| offender.ip());
}

/// A `struct sockaddr_in` or `sockaddr_in6`; `None` for other families and when it is too short.
fn address(bytes: &[u8]) -> Option<SocketAddr> {
    let (family, rest) = bytes.split_first_chunk()?;
    let (port, rest) = rest.split_first_chunk()?;
    let port = u16::from_be_bytes(*port);
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => {
            let address = Ipv4Addr::from(*rest.first_chunk::<4>()?);
            Some(SocketAddrV4::new(address, port).into())
        }
        libc::AF_INET6 => {
            let (flow, rest) = rest.split_first_chunk()?;
            let (address, rest) = rest.split_first_chunk::<16>()?;
            let scope = u32::from_ne_bytes(*rest.first_chunk()?);
            let (address, flow) = (Ipv6Addr::from(*address), u32::from_be_bytes(*flow));
            Some(SocketAddrV6::new(address, port, flow, scope).into())
        }
        _ => None,
    }
}

fn length(bytes: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(bytes).unwrap_or(libc::socklen_t::MAX)
}

/// Room for the control messages, aligned as `struct cmsghdr` wants it.
#[repr(align(8))]
struct Control([u8; CONTROL]);

/// Enough for the error and for what else a socket may have asked for: timestamps, packet info.
const CONTROL: usize = 512;
/// The size of the longest address there is.
const NAME: usize = size_of::<libc::sockaddr_storage>();
/// `CMSG_ALIGN`.
const ALIGN: usize = size_of::<usize>();
/// `CMSG_LEN(0)`.
const HEADER: usize = size_of::<libc::cmsghdr>().next_multiple_of(ALIGN);

#[cfg(test)]
mod tests;
