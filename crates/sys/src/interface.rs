//! Interfaces by name (netdevice(7)): number, state, MTU, address.

mod features;

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketType};

pub use features::features;

/// The longest name in bytes: the kernel's 16 less the zero at the end (`IFNAMSIZ`).
pub const NAME_BYTES_MAX: usize = libc::IFNAMSIZ - 1;

/// The number of an interface of the calling thread's network namespace.
///
/// # Errors
/// `ENODEV` where there is none of the name, `EINVAL` for what cannot be a name.
pub fn index(name: &str) -> io::Result<u32> {
    let request = ask(name, libc::SIOCGIFINDEX)?;
    // SAFETY: SIOCGIFINDEX has written this field.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    u32::try_from(index).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Whether it is up, as the administrator wants it.
///
/// # Errors
/// `ENODEV` where there is none of the name.
pub fn is_up(name: &str) -> io::Result<bool> {
    Ok(flags(name)? & UP != 0)
}

/// Whether it is up and has a carrier.
///
/// # Errors
/// `ENODEV` where there is none of the name.
pub fn is_running(name: &str) -> io::Result<bool> {
    Ok(flags(name)? & RUNNING != 0)
}

/// Brings it up or takes it down.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN over the namespace, `ENODEV` where there is none of the name.
pub fn set_up(name: &str, is_up: bool) -> io::Result<()> {
    let before = flags(name)?;
    let after = if is_up { before | UP } else { before & !UP };
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = after;
    ioctl(&mut request, libc::SIOCSIFFLAGS)
}

/// Gives it an address. Over IPv4 an address that it has is replaced.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN over the namespace, `ENODEV` where there is none of the name,
/// `EINVAL` for what is no address of a host, `EEXIST` where it has the address (IPv6).
pub fn add_address(name: &str, address: IpAddr, prefix_len: u8) -> io::Result<()> {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix_len.min(32))).unwrap_or(0);
            set_inet(name, libc::SIOCSIFADDR, address)?;
            set_inet(name, libc::SIOCSIFNETMASK, Ipv4Addr::from_bits(mask))
        }
        IpAddr::V6(address) => {
            let request = libc::in6_ifreq {
                ifr6_addr: libc::in6_addr { s6_addr: address.octets() },
                ifr6_prefixlen: prefix_len.into(),
                ifr6_ifindex: i32::try_from(index(name)?).unwrap_or(0),
            };
            let socket = rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, None)?;
            let what = libc::SIOCSIFADDR;
            // SAFETY: on a socket of IPv6, SIOCSIFADDR reads one in6_ifreq, which lives until it
            // returns.
            let done = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &raw const request) };
            if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }
    }
}

/// A request of netdevice(7) that sets an address of IPv4.
fn set_inet(name: &str, what: libc::c_ulong, address: Ipv4Addr) -> io::Result<()> {
    let mut request = request(name)?;
    let mut data = [0; 14];
    let octets = address.octets().map(|byte| libc::c_char::from_ne_bytes([byte]));
    // `struct sockaddr_in`: the family, the port, then the address.
    data[2..6].copy_from_slice(&octets);
    let sa_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or(0);
    request.ifr_ifru.ifru_addr = libc::sockaddr { sa_family, sa_data: data };
    ioctl(&mut request, what)
}

/// The longest packet that it sends, from the IP header on, in bytes.
///
/// # Errors
/// `ENODEV` where there is none of the name.
pub fn mtu(name: &str) -> io::Result<u32> {
    let request = ask(name, libc::SIOCGIFMTU)?;
    // SAFETY: SIOCGIFMTU has written this field.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Its Ethernet address; `None` where it is of another kind.
///
/// # Errors
/// `ENODEV` where there is none of the name.
pub fn ethernet_address(name: &str) -> io::Result<Option<[u8; 6]>> {
    let request = ask(name, libc::SIOCGIFHWADDR)?;
    // SAFETY: SIOCGIFHWADDR has written this field.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    let [a, b, c, d, e, f, ..] = address.sa_data.map(|byte| byte.to_ne_bytes()[0]);
    Ok((address.sa_family == libc::ARPHRD_ETHER).then_some([a, b, c, d, e, f]))
}

#[allow(clippy::cast_possible_truncation, reason = "1")]
const UP: libc::c_short = libc::IFF_UP as libc::c_short;

#[allow(clippy::cast_possible_truncation, reason = "64")]
const RUNNING: libc::c_short = libc::IFF_RUNNING as libc::c_short;

fn flags(name: &str) -> io::Result<libc::c_short> {
    let request = ask(name, libc::SIOCGIFFLAGS)?;
    // SAFETY: SIOCGIFFLAGS has written this field.
    Ok(unsafe { request.ifr_ifru.ifru_flags })
}

/// A request about `name` with everything else 0.
pub(crate) fn request(name: &str) -> io::Result<libc::ifreq> {
    let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(['\0', '/']);
    if !is_name {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: all-zero bytes are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

/// The name that the kernel has put into a request.
pub(crate) fn name_of(request: &libc::ifreq) -> String {
    let bytes = request.ifr_name.iter().map(|byte| byte.to_ne_bytes()[0]);
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn ask(name: &str, what: libc::c_ulong) -> io::Result<libc::ifreq> {
    let mut request = request(name)?;
    ioctl(&mut request, what)?;
    Ok(request)
}

/// One of the requests of netdevice(7), all of which read and write one ifreq.
fn ioctl(request: &mut libc::ifreq, what: libc::c_ulong) -> io::Result<()> {
    let socket: OwnedFd = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: `what` is a request that reads and writes one ifreq, which lives until it returns.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &raw mut *request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;
