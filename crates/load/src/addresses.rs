//! What people write for targets, places to listen, source addresses and source ports.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    ops::RangeInclusive,
};

use crate::Error;

/// The most addresses that one list may stand for.
pub const ADDRESSES_MAX: usize = 65_536;

/// Reads `127.0.0.1:9000-9049,[::1]:80`: addresses with a port or a range of ports. A port or range
/// alone is on 127.0.0.1. Port 0 is left to who uses it: to listen there lets the kernel choose.
///
/// # Errors
/// [`Error::Addresses`], which says what to write.
pub fn parse_addresses(text: &str) -> Result<Vec<SocketAddr>, Error> {
    parse_addresses_at(text, Ipv4Addr::LOCALHOST.into())
}

/// The same, with another address for ports alone.
pub(crate) fn parse_addresses_at(text: &str, alone: IpAddr) -> Result<Vec<SocketAddr>, Error> {
    let alone = SocketAddr::new(alone, 0).to_string();
    let alone = alone.rsplit_once(':').map_or("", |(host, _)| host);
    let mut all = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (host, ports) = item.rsplit_once(':').unwrap_or((alone, item));
        let ports = range(ports).ok_or_else(|| problem(item, ADDRESS))?;
        let first: SocketAddr = format!("{host}:{}", ports.start())
            .parse()
            .map_err(|_not_an_address| problem(item, ADDRESS))?;
        if all.len() + ports.len() > ADDRESSES_MAX {
            return Err(problem(text, "65536 addresses and ports are the most"));
        }
        all.extend(ports.map(|port| {
            let mut address = first;
            address.set_port(port);
            address
        }));
    }
    Ok(all)
}

/// Reads `127.0.1.0/28,127.0.2.1,fd00::1`: addresses and networks. Of a network all addresses are
/// meant, the first and the last too.
///
/// # Errors
/// [`Error::Addresses`], which says what to write.
pub fn parse_sources(text: &str) -> Result<Vec<IpAddr>, Error> {
    let mut all = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (address, prefix) = item.split_once('/').map_or((item, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_not_one| problem(item, SOURCE))?;
        let bits: u32 = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u32 = match prefix {
            None => bits,
            Some(text) => text.parse().map_err(|_not_one| problem(item, SOURCE))?,
        };
        let free = bits.checked_sub(prefix).ok_or_else(|| problem(item, SOURCE))?;
        let count = 1_usize.checked_shl(free).filter(|_| free < 17).unwrap_or(usize::MAX);
        if all.len().saturating_add(count) > ADDRESSES_MAX {
            return Err(problem(item, "65536 source addresses are the most"));
        }
        all.extend((0..count).map(|nth| nth_of(address, free, nth)));
    }
    Ok(all)
}

/// Reads `32768-60999` or one port: source ports.
///
/// # Errors
/// [`Error::Addresses`], which says what to write.
pub fn parse_ports(text: &str) -> Result<RangeInclusive<u16>, Error> {
    range(text).filter(|ports| *ports.start() > 0).ok_or_else(|| problem(text, PORTS))
}

/// The address of that number in the network of `free` bits that `address` is in.
fn nth_of(address: IpAddr, free: u32, nth: usize) -> IpAddr {
    let nth = u32::try_from(nth).unwrap_or(0);
    match address {
        IpAddr::V4(it) => {
            let network = it.to_bits() & u32::MAX.checked_shl(free).unwrap_or(0);
            Ipv4Addr::from_bits(network | nth).into()
        }
        IpAddr::V6(it) => {
            let network = it.to_bits() & u128::MAX.checked_shl(free).unwrap_or(0);
            Ipv6Addr::from_bits(network | u128::from(nth)).into()
        }
    }
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(first..=last)
}

fn problem(input: &str, problem: &str) -> Error {
    // What is quoted in an error stays short.
    let input = input.chars().take(80).collect();
    Error::Addresses { input, problem: problem.to_owned() }
}

const ADDRESS: &str = "write addresses with ports: 127.0.0.1:9000-9049,[::1]:80";
const SOURCE: &str = "write addresses or networks: 127.0.1.0/28,127.0.2.1";
const PORTS: &str = "write a range of ports: 32768-60999";

#[cfg(test)]
mod tests;
