//! Socket addresses as the kernel lays them out.

use std::{
    io, mem,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
    os::fd::{AsRawFd, OwnedFd},
};

/// Where a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To an address; raw IPv6 sockets want the port 0.
    Ip(SocketAddr),
    /// To a neighbour on a link, by a packet socket (packet(7)).
    Link {
        /// The interface's number.
        interface: u32,
        /// What the frame holds, as on the wire: 0x0800 for IPv4.
        ether_type: u16,
        /// The neighbour's Ethernet address.
        address: [u8; 6],
    },
}

impl Destination {
    pub(crate) fn to_kernel(self) -> (libc::sockaddr_storage, libc::socklen_t) {
        match self {
            Self::Ip(SocketAddr::V4(it)) => store(libc::sockaddr_in {
                sin_family: family(libc::AF_INET),
                sin_port: it.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(it.ip().octets()) },
                sin_zero: [0; 8],
            }),
            Self::Ip(SocketAddr::V6(it)) => store(libc::sockaddr_in6 {
                sin6_family: family(libc::AF_INET6),
                sin6_port: it.port().to_be(),
                sin6_flowinfo: it.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: it.ip().octets() },
                sin6_scope_id: it.scope_id(),
            }),
            Self::Link { interface, ether_type, address } => {
                let mut sll_addr = [0; 8];
                sll_addr[..6].copy_from_slice(&address);
                store(libc::sockaddr_ll {
                    sll_family: family(libc::AF_PACKET),
                    sll_protocol: ether_type.to_be(),
                    sll_ifindex: i32::try_from(interface).unwrap_or(0),
                    sll_hatype: 0,
                    sll_pkttype: 0,
                    sll_halen: 6,
                    sll_addr,
                })
            }
        }
    }
}

fn family(number: i32) -> libc::sa_family_t {
    libc::sa_family_t::try_from(number).unwrap_or(0)
}

/// A kernel address structure: plain numbers, no larger than a `sockaddr_storage`.
trait Address: Copy {}
impl Address for libc::sockaddr_in {}
impl Address for libc::sockaddr_in6 {}
impl Address for libc::sockaddr_ll {}

fn store<T: Address>(address: T) -> (libc::sockaddr_storage, libc::socklen_t) {
    const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
    // SAFETY: all-zero bytes are a valid address of no family.
    let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    // SAFETY: `storage` is large enough (above) and aligned for every address structure, which is
    // what it is for; `T` is plain numbers.
    unsafe { (&raw mut storage).cast::<T>().write(address) };
    (storage, libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0))
}

/// The address of IP that the kernel wrote, if it is one.
pub(crate) fn from_kernel(
    storage: &libc::sockaddr_storage,
    len: libc::socklen_t,
) -> Option<SocketAddr> {
    let fits = |size: usize| usize::try_from(len).is_ok_and(|len| len >= size);
    match i32::from(storage.ss_family) {
        libc::AF_INET if fits(size_of::<libc::sockaddr_in>()) => {
            // SAFETY: the family says that it is one, the length that it is whole.
            let it = unsafe { (&raw const *storage).cast::<libc::sockaddr_in>().read() };
            let address = Ipv4Addr::from(it.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(address, u16::from_be(it.sin_port)).into())
        }
        libc::AF_INET6 if fits(size_of::<libc::sockaddr_in6>()) => {
            // SAFETY: the family says that it is one, the length that it is whole.
            let it = unsafe { (&raw const *storage).cast::<libc::sockaddr_in6>().read() };
            let address = Ipv6Addr::from(it.sin6_addr.s6_addr);
            let port = u16::from_be(it.sin6_port);
            Some(SocketAddrV6::new(address, port, it.sin6_flowinfo, it.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Binds a packet socket to packets of one kind on a link, or with 0 on every link.
pub(crate) fn bind_packet(fd: &OwnedFd, interface: u32, ether_type: u16) -> io::Result<()> {
    let (storage, len) = Destination::Link { interface, ether_type, address: [0; 6] }.to_kernel();
    // SAFETY: the kernel reads `len` bytes of an address that is at least as long.
    let done = unsafe { libc::bind(fd.as_raw_fd(), (&raw const storage).cast(), len) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;
