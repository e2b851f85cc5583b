//! Addresses, networks and ranges of both families.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Hosts, TargetProblem, octets::Octets, quoted};
use crate::space::AddressRange;

/// Names of interfaces have one byte less than `IFNAMSIZ` of linux/if.h, for the zero at the end.
const ZONE_BYTES_MAX: usize = 15;

/// Whether it is meant as IPv4 addresses. Names could be made of these characters too, but nobody
/// has one, and `10.0.0.1-` for one would only hide a mistake.
pub(super) fn is_ipv4(text: &str) -> bool {
    let network = text.split_once('/').map_or(text, |(address, _)| address);
    let numeric = network.bytes().all(|byte| byte.is_ascii_digit() || b".,-*".contains(&byte));
    numeric && !text.ends_with('.')
}

/// An address, a network, a range, or a list of octets.
pub(super) fn ipv4(text: &str) -> Result<Hosts, TargetProblem> {
    if let Some((address, prefix)) = text.split_once('/') {
        if address.contains(['-', ',', '*']) {
            return Err(TargetProblem::RangeAndPrefix);
        }
        return network(one(address)?.into(), prefix);
    }
    if let Some((first, last)) = text.split_once('-')
        && first.matches('.').count() == 3
        && last.contains('.')
    {
        return range(one(first)?.into(), one(last)?.into());
    }
    let octets = Octets::parse(text)?;
    let mut ranges = octets.ranges();
    Ok(match (ranges.next(), ranges.next()) {
        (Some(range), None) => Hosts::Range { range, zone: None },
        _ => Hosts::Octets(octets),
    })
}

/// An address, a network or a range, with a zone after its last address (RFC 4007 section 11).
pub(super) fn ipv6(text: &str) -> Result<Hosts, TargetProblem> {
    let (addresses, zone, prefix) = match text.split_once('%') {
        Some((addresses, rest)) => {
            let (zone, prefix) = optional(rest, '/');
            (addresses, Some(zone), prefix)
        }
        None => {
            let (addresses, prefix) = optional(text, '/');
            (addresses, None, prefix)
        }
    };
    let address = |text: &str| -> Result<IpAddr, TargetProblem> {
        let parsed: Option<Ipv6Addr> = text.parse().ok();
        parsed.map(IpAddr::V6).ok_or_else(|| TargetProblem::Ipv6(quoted(text)))
    };
    let hosts = match (addresses.split_once('-'), prefix) {
        (Some(_), Some(_)) => return Err(TargetProblem::RangeAndPrefix),
        (Some((first, last)), None) => range(address(first)?, address(last)?)?,
        (None, Some(prefix)) => network(address(addresses)?, prefix)?,
        (None, None) => range(address(addresses)?, address(addresses)?)?,
    };
    match (hosts, zone) {
        (Hosts::Range { range, .. }, Some(zone)) => in_zone(range, zone),
        (hosts, _) => Ok(hosts),
    }
}

fn optional(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn one(text: &str) -> Result<Ipv4Addr, TargetProblem> {
    text.parse().map_err(|_| TargetProblem::Ipv4)
}

fn range(first: IpAddr, last: IpAddr) -> Result<Hosts, TargetProblem> {
    let range = AddressRange::new(first, last).ok_or(TargetProblem::Reversed)?;
    Ok(Hosts::Range { range, zone: None })
}

fn network(address: IpAddr, prefix: &str) -> Result<Hosts, TargetProblem> {
    let max = if address.is_ipv4() { 32 } else { 128 };
    let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
    let bits = if digits { prefix.parse().ok() } else { None };
    let range = bits.and_then(|bits| AddressRange::network(address, bits));
    let range = range.ok_or_else(|| TargetProblem::Prefix { text: quoted(prefix), max })?;
    Ok(Hosts::Range { range, zone: None })
}

fn in_zone(range: AddressRange, zone: &str) -> Result<Hosts, TargetProblem> {
    // dev_valid_name of net/core/dev.c forbids slash, colon and blanks; the rest here would be
    // read as something else, or seen by nobody.
    let named = |byte: u8| byte.is_ascii_graphic() && !b"/:[]%#".contains(&byte);
    if !(1..=ZONE_BYTES_MAX).contains(&zone.len()) || !zone.bytes().all(named) {
        return Err(TargetProblem::Zone(quoted(zone)));
    }
    let local = |address| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if !local(range.first()) || !local(range.last()) {
        return Err(TargetProblem::NotLinkLocal(zone.to_owned()));
    }
    Ok(Hosts::Range { range, zone: Some(zone.to_owned()) })
}
