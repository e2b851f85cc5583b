//! Source ports that no connection of this host has, or gets, while they are asked from.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
    os::fd::OwnedFd,
};

use portolan_sys::limits;
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType},
};

use super::ports::Ports;

/// The kernel's own range of ephemeral ports, where it cannot be read (net/ipv4/af_inet.c).
const EPHEMERAL_DEFAULT: (u16, u16) = (32_768, 60_999);

/// Blocks that are tried before a smaller one will do.
const TRIES: usize = 64;

/// A block of ports that is bound, on every address, by sockets that neither listen nor connect.
/// The kernel resets whatever comes to them, which ends a half-open connection at the peer.
#[derive(Debug)]
pub struct Reservation {
    ports: Ports,
    _bound: Vec<OwnedFd>,
}

impl Reservation {
    /// Reserves `count` ports, rounded up to a power of two, in the range that the kernel takes
    /// ephemeral ports from; fewer where so many in a row are not free. `start` says where to
    /// begin to look.
    ///
    /// # Errors
    /// `EADDRINUSE` where no port is free, `EMFILE` without descriptors.
    pub fn new(count: u16, start: u16) -> io::Result<Self> {
        let mut count = count.clamp(1, 1024).next_power_of_two();
        let reserved = Reserved::read();
        loop {
            if let Some(found) = Self::find(count, start, &reserved)? {
                return Ok(found);
            }
            // Connections that are over keep their ports for a minute (TIME-WAIT): where there
            // are many, no large block is free.
            if count == 1 {
                return Err(Errno::ADDRINUSE.into());
            }
            count /= 2;
        }
    }

    fn find(count: u16, start: u16, reserved: &Reserved) -> Result<Option<Self>, Errno> {
        let (low, high) = limits::ephemeral_ports().unwrap_or(EPHEMERAL_DEFAULT);
        let blocks = (u32::from(high) + 1) / u32::from(count);
        let first_block = u32::from(low).div_ceil(u32::from(count));
        // None, where the range is smaller than a block.
        let span = blocks.saturating_sub(first_block);
        // What is reserved costs no try.
        let free = (0..span).filter_map(|step| {
            let block = first_block + (u32::from(start) + step) % span;
            let first = u16::try_from(block * u32::from(count)).ok()?;
            Some(Ports { first, count }).filter(|&ports| !reserved.touches(ports))
        });
        for ports in free.take(TRIES) {
            match bind_all(ports) {
                Ok(bound) => return Ok(Some(Self { ports, _bound: bound })),
                Err(Errno::ADDRINUSE) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The ports.
    pub fn ports(&self) -> Ports {
        self.ports
    }
}

fn bind_all(ports: Ports) -> Result<Vec<OwnedFd>, Errno> {
    (0..ports.count).map(|step| bind(ports.nth(0, step))).collect()
}

/// Binds on both families at once, or on IPv4 alone where IPv6 is off.
fn bind(port: u16) -> Result<OwnedFd, Errno> {
    let v6 = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0);
    match bind_to(AddressFamily::INET6, v6.into()) {
        Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => {
            bind_to(AddressFamily::INET, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())
        }
        done => done,
    }
}

fn bind_to(family: AddressFamily, address: SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    if family == AddressFamily::INET6 {
        rustix::net::sockopt::set_ipv6_v6only(&fd, false)?;
    }
    rustix::net::bind(&fd, &address)?;
    Ok(fd)
}

/// `net.ipv4.ip_local_reserved_ports`: those that somebody set aside for a service.
struct Reserved(Vec<(u16, u16)>);

impl Reserved {
    fn read() -> Self {
        Self::parse(&limits::sysctl("net.ipv4.ip_local_reserved_ports").unwrap_or_default())
    }

    /// As the kernel writes it: `8080,9000-9010`.
    fn parse(text: &str) -> Self {
        let parts = text.trim().split(',').filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some((first.parse().ok()?, last.parse().ok()?))
        });
        Self(parts.collect())
    }

    fn touches(&self, ports: Ports) -> bool {
        let last = ports.first + (ports.count - 1);
        self.0.iter().any(|&(from, to)| from <= last && to >= ports.first)
    }
}

#[cfg(test)]
mod tests;
