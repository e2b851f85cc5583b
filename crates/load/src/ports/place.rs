//! Where the experiment happens: in a network namespace of its own, or on the host.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    ops::RangeInclusive,
    thread,
};

use portolan_sys::netns;

use crate::Error;

/// Of one address to another on loopback; as the host's own programs use 127.0.0.1, it is this.
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Whether this process may make network namespaces and set what is theirs.
pub(super) fn can_be_own() -> bool {
    thread::scope(|scope| {
        let tried = scope.spawn(|| enter(&(20_000..=60_000)).is_ok());
        tried.join().unwrap_or(false)
    })
}

/// Does `work` on a thread of its own, in a fresh namespace with this range of ephemeral ports if
/// it `is_own`. The namespace ends with the last process in it.
pub(super) fn within<T: Send>(
    is_own: bool,
    range: &RangeInclusive<u16>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            if is_own {
                enter(range).map_err(Error::system("make a network namespace"))?;
            }
            work()
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Moves the calling thread into a fresh namespace. Of the files that are written the calling
/// thread's namespace has its own (`net_ctl_root` in net/sysctl_net.c).
fn enter(range: &RangeInclusive<u16>) -> io::Result<()> {
    netns::unshare_thread()?;
    netns::loopback_up()?;
    let ports = format!("{} {}", range.start(), range.end());
    fs::write("/proc/sys/net/ipv4/ip_local_port_range", ports)?;
    // So that no handshake waits for whoever accepts: the backlog holds all.
    fs::write("/proc/sys/net/core/somaxconn", "65535")
}

/// A free place to listen, next to the range rather than in it: a port in it would be one less.
pub(super) fn listening_address(range: &RangeInclusive<u16>) -> Result<SocketAddr, Error> {
    let above = (*range.end()..u16::MAX).map(|port| port + 1).take(256);
    let below = (1_024..*range.start()).rev().take(256);
    let is_free = |port: &u16| TcpListener::bind((ADDRESS, *port)).is_ok();
    match above.chain(below).find(is_free) {
        Some(port) => Ok(SocketAddr::from((ADDRESS, port))),
        None => Err(Error::Options(format!(
            "there is no free port next to {}-{} to listen on: choose a smaller --range",
            range.start(),
            range.end()
        ))),
    }
}
