//! Names of hosts, resolved once, before anything happens: a resolver is not what is measured.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
};

use crate::{Error, parse_addresses};

/// Reads targets like [`parse_addresses`], of which the hosts may also be names:
/// `localhost:8080,127.0.0.1:9000-9049`. Of a name's addresses the first is taken.
///
/// # Errors
/// [`Error::Addresses`], which says what to write, or [`Error::Resolve`].
pub fn parse_targets(text: &str) -> Result<Vec<SocketAddr>, Error> {
    let mut all = Vec::new();
    for item in text.split(',').map(str::trim) {
        match item.rsplit_once(':') {
            Some((host, ports)) if is_name(host) => {
                let address = resolve(host)?;
                let on_loopback = parse_addresses(ports)?;
                all.extend(on_loopback.iter().map(|it| SocketAddr::new(address, it.port())));
            }
            _ => all.extend(parse_addresses(item)?),
        }
    }
    Ok(all)
}

/// Whether it is neither an address nor an attempt at one.
fn is_name(host: &str) -> bool {
    !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        && host.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The address of a host: what it says, or the first that the resolver gives for the name.
pub(crate) fn resolve(host: &str) -> Result<IpAddr, Error> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse() {
        return Ok(address);
    }
    let failed = |source| Error::Resolve { name: host.chars().take(80).collect(), source };
    let mut found = (host, 0).to_socket_addrs().map_err(failed)?;
    let none = || failed(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
    found.next().map(|address| address.ip()).ok_or_else(none)
}

#[cfg(test)]
mod tests;
