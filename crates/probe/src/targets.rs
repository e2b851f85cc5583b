//! The grammar of what is to be probed: addresses, networks, ranges and names, each with or
//! without a port.
//!
//! It is what nmap takes, and `HOST:PORT`, which it does not. Names are not resolved here, nor are
//! the names of interfaces: that needs the network and the kernel.

mod address;
mod error;
mod file;
mod name;
mod octets;
mod quoted;

use std::fmt;

pub use error::{FileError, TargetError, TargetProblem};
pub use file::parse_file;
pub use octets::Octets;
pub(crate) use quoted::quoted;

use crate::{
    ports::{self, Services},
    space::AddressRange,
};

/// The longest target: four octets that each list every value have 3,659 bytes.
pub const TEXT_BYTES_MAX: usize = 4096;

/// What one argument asks to be probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where.
    pub hosts: Hosts,
    /// Its own port, never 0; without one it is probed at those of `-p`.
    pub port: Option<u16>,
}

/// Addresses, or a name that stands for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// A host name as it was written (RFC 1123 section 2.1), still to be resolved.
    Name(String),
    /// One address, a network or a range.
    Range {
        /// The addresses.
        range: AddressRange,
        /// The interface of link-local IPv6 addresses, by name or number (RFC 4007 section 11).
        zone: Option<String>,
    },
    /// Several ranges: `10.0.0,2.1-9`.
    Octets(Octets),
}

impl Target {
    /// Reads a target:
    ///
    /// - `10.0.0.1`, `2001:db8::1`, `fe80::1%eth0`
    /// - `10.0.0.0/24`, `2001:db8::/120`: the network, also where host bits are set
    /// - `10.0.0.1-10.0.0.50`, `10.0.0.1-50`, `2001:db8::1-2001:db8::ff`
    /// - `10.0.0-3.1-254`, `10.0.0.1,5,9`, `10.0.*.1`
    /// - `server.example`
    ///
    /// Each may have a port, a number or the name of a service: `10.0.0.0/24:80`,
    /// `server.example:http`. IPv6 has brackets then, as RFC 3986 section 3.2.2 writes it:
    /// `[2001:db8::1]:80`, `[2001:db8::/120]:80`. Without them, `2001:db8::1:80` is an address.
    ///
    /// # Errors
    ///
    /// [`TargetError`], which says what to write instead.
    pub fn parse(text: &str, services: Services<'_>) -> Result<Self, TargetError> {
        read(text.trim(), services).map_err(|problem| TargetError::new(text, problem))
    }

    /// Reads what is to be left out: the same, but without a port.
    ///
    /// # Errors
    ///
    /// [`TargetError`], also where there is a port.
    pub fn parse_exclude(text: &str, services: Services<'_>) -> Result<Self, TargetError> {
        let target = Self::parse(text, services)?;
        match target.port {
            Some(port) => Err(TargetError::new(text, TargetProblem::NoPort(port))),
            None => Ok(target),
        }
    }
}

impl Hosts {
    /// The addresses, in order and without overlap; none of a name. There may be 2^28 of them, so
    /// they are made one by one.
    pub fn ranges(&self) -> impl Iterator<Item = AddressRange> + use<> {
        let (one, several) = match self {
            Self::Name(_) => (None, None),
            Self::Range { range, .. } => (Some(*range), None),
            Self::Octets(octets) => (None, Some(octets.ranges())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// The interface that was named, of link-local addresses.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        match self {
            Self::Range { zone, .. } => zone.as_deref(),
            Self::Name(_) | Self::Octets(_) => None,
        }
    }
}

/// As it can be read again.
impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.hosts.is_ipv6() => write!(out, "[{}]:{port}", self.hosts),
            Some(port) => write!(out, "{}:{port}", self.hosts),
            None => self.hosts.fmt(out),
        }
    }
}

impl Hosts {
    fn is_ipv6(&self) -> bool {
        matches!(self, Self::Range { range, .. } if range.first().is_ipv6())
    }
}

/// As it can be read again.
impl fmt::Display for Hosts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Range { range, zone: None } => range.fmt(out),
            // The zone comes after the address and before the length: RFC 4007 section 11.7.
            Self::Range { range, zone: Some(zone) } => {
                let range = range.to_string();
                match range.split_once('/') {
                    Some((address, prefix)) => write!(out, "{address}%{zone}/{prefix}"),
                    None => write!(out, "{range}%{zone}"),
                }
            }
            Self::Octets(octets) => octets.fmt(out),
        }
    }
}

fn read(text: &str, services: Services<'_>) -> Result<Target, TargetProblem> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(TargetProblem::TooLong(text.len()));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return Err(url(scheme, rest, services));
    }
    let (hosts, port) = split(text)?;
    let port = port.map(|port| ports::single(port, services)).transpose()?;
    Ok(Target { hosts, port })
}

/// The hosts, and the text of the port.
fn split(text: &str) -> Result<(Hosts, Option<&str>), TargetProblem> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').ok_or(TargetProblem::Bracket)?;
        if !inside.contains(':') {
            return Err(TargetProblem::Brackets);
        }
        let port = match after {
            "" => None,
            _ => Some(after.strip_prefix(':').ok_or(TargetProblem::AfterBracket)?),
        };
        return Ok((address::ipv6(inside)?, port));
    }
    match text.matches(':').count() {
        // Every IPv6 address has two colons.
        2.. => Ok((address::ipv6(text)?, None)),
        _ => {
            let mut parts = text.split(':');
            let hosts = parts.next().unwrap_or_default();
            Ok((named_or_ipv4(hosts)?, parts.next()))
        }
    }
}

fn named_or_ipv4(text: &str) -> Result<Hosts, TargetProblem> {
    if text.is_empty() {
        return Err(TargetProblem::Empty);
    }
    if address::is_ipv4(text) {
        return address::ipv4(text);
    }
    name::check(text)?;
    Ok(Hosts::Name(text.to_owned()))
}

/// Says what of a URL (RFC 3986 section 3) to write.
fn url(scheme: &str, rest: &str, services: Services<'_>) -> TargetProblem {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    let port = place.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.contains(']'));
    TargetProblem::Url(match (place, port, services(scheme)) {
        ("", ..) => "HOST:PORT".to_owned(),
        (_, None, Some(port)) => quoted(&format!("{place}:{port}")),
        _ => quoted(place),
    })
}

#[cfg(test)]
mod tests;
