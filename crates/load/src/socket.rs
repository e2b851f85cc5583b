//! Sockets as the server and the client want them.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::OwnedFd,
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{self, AddressFamily, SocketFlags, SocketType, bind, ipproto, sockopt},
    time::{ClockId, clock_gettime},
};

use crate::options::Close;

/// The kernel takes it down to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;

/// A socket that does not block.
pub(crate) fn new(address: &SocketAddr, kind: SocketType) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let protocol = if kind == SocketType::STREAM { ipproto::TCP } else { ipproto::UDP };
    net::socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, Some(protocol))
}

/// A listener, or a socket for datagrams, that shares its port with others of this process: the
/// `first` of them only if nobody else is there, or two servers would take each other's
/// connections without a word.
pub(crate) fn listen(
    address: &SocketAddr,
    kind: SocketType,
    is_first: bool,
) -> Result<OwnedFd, Errno> {
    let socket = new(address, kind)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    if kind == SocketType::STREAM {
        // For what is in TIME-WAIT after a server before.
        sockopt::set_socket_reuseaddr(&socket, true)?;
    }
    if !is_first {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    bind(&socket, address)?;
    if is_first {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if kind == SocketType::STREAM {
        net::listen(&socket, BACKLOG)?;
    }
    Ok(socket)
}

/// A socket for a connection; from where it comes, `source_ports::Source::bind` says.
pub(crate) fn connection(target: &SocketAddr, close: Close) -> Result<OwnedFd, Errno> {
    let socket = new(target, SocketType::STREAM)?;
    if close == Close::Reset {
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    }
    Ok(socket)
}

/// The address that the routing table gives to what goes to `target`; nothing is sent.
pub(crate) fn source_towards(target: &SocketAddr) -> Option<IpAddr> {
    let socket = new(target, SocketType::DGRAM).ok()?;
    net::connect(&socket, target).ok()?;
    local(&socket).map(|own| own.ip())
}

/// Whether this host has the address.
pub(crate) fn check_source(source: IpAddr) -> io::Result<()> {
    let address = SocketAddr::new(source, 0);
    let socket = new(&address, SocketType::DGRAM)?;
    Ok(bind(&socket, &address)?)
}

/// The socket's own address.
pub(crate) fn local(socket: &OwnedFd) -> Option<SocketAddr> {
    net::getsockname(socket).ok()?.try_into().ok()
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The most memory of this process that was resident at a time, KiB (`VmHWM` of proc(5)).
pub(crate) fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0)
}

/// For how long the calling thread could have run, but others did: the second number of its
/// `schedstat` (Documentation/scheduler/sched-stats.rst). 0 where the kernel does not count it.
pub(crate) fn thread_cpu_wait() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0);
    Duration::from_nanos(ns)
}
