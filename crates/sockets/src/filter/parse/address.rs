//! Reads what `src` and `dst` are compared with: `[FAMILY:]ADDRESS[/BITS][:PORT]`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{digits, port};
use crate::filter::{
    expression::{Prefix, Version},
    names::Names,
};

/// What is wrong with it, and at which byte.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What should be there.
    pub expected: &'static str,
    /// The byte of the word.
    pub at: usize,
}

const ADDRESS: &str = "an address (hosts by name are not looked up)";
const PORT: &str = "a port";
const BITS: &str = "how many bits of the address count";

/// A version, an address and a port, each of which may be left open.
pub type Host = (Option<Version>, Option<Prefix>, Option<u16>);

/// Reads what a word says of an address.
///
/// # Errors
/// Says what is wrong, and where.
pub fn read(word: &str, names: &dyn Names) -> Result<Host, Wrong> {
    for (version, address) in [(Version::V4, "an IPv4 address"), (Version::V6, "an IPv6 address")] {
        let name = version.to_string();
        let Some(rest) = word.strip_prefix(&name) else { continue };
        let (prefix, port) = read_address(rest, names)
            .map_err(|wrong| Wrong { at: name.len() + wrong.at, ..wrong })?;
        let is_other = prefix.is_some_and(|prefix| Version::of(prefix.address) != version);
        if is_other || rest.is_empty() {
            return Err(Wrong { expected: address, at: name.len() });
        }
        return Ok((Some(version), prefix, port));
    }
    let (prefix, port) = read_address(word, names)?;
    Ok((None, prefix, port))
}

fn read_address(word: &str, names: &dyn Names) -> Result<(Option<Prefix>, Option<u16>), Wrong> {
    // An IPv6 address without brackets takes all colons, and leaves none for a port.
    if let Some(end) = Some(word.find('/').unwrap_or(word.len()))
        && let Ok(address) = word[..end].parse::<Ipv6Addr>()
    {
        return Ok((Some(with_bits(address.into(), word, end, word.len())?), None));
    }
    let (prefix, end) = if word.starts_with('[') {
        bracketed(word)?
    } else if word.starts_with('*') {
        (None, 1)
    } else {
        let end = word.find(':').unwrap_or(word.len());
        let is_any = matches!(&word[..end], "" | "any" | "all" | "default");
        (if is_any { None } else { Some(ipv4(word, end)?) }, end)
    };
    Ok((prefix, port_after(word, end, names)?))
}

fn port_after(word: &str, end: usize, names: &dyn Names) -> Result<Option<u16>, Wrong> {
    match &word[end..] {
        "" | ":*" => Ok(None),
        rest => {
            let Some(name) = rest.strip_prefix(':') else {
                return Err(Wrong { expected: "a : and a port, or the end", at: end });
            };
            port(name, names).map(Some).ok_or(Wrong { expected: PORT, at: end + 1 })
        }
    }
}

/// `[ADDRESS]`, with the bits inside of the brackets as ss(8) has it, or behind them. Tells where
/// it ends.
fn bracketed(word: &str) -> Result<(Option<Prefix>, usize), Wrong> {
    let close = word.find(']').ok_or(Wrong { expected: "a ] at the end", at: word.len() })?;
    let end = word[..close].find('/').unwrap_or(close);
    let Ok(address) = word[1..end].parse::<Ipv6Addr>() else {
        return Err(Wrong { expected: "an IPv6 address", at: 1 });
    };
    if end < close || !word[close + 1..].starts_with('/') {
        return Ok((Some(with_bits(address.into(), word, end, close)?), close + 1));
    }
    let stop = word[close..].find(':').map_or(word.len(), |colon| close + colon);
    Ok((Some(with_bits(address.into(), word, close + 1, stop)?), stop))
}

/// An address whose `/BITS`, where there are any, is from `at` to `stop`.
fn with_bits(address: IpAddr, word: &str, at: usize, stop: usize) -> Result<Prefix, Wrong> {
    let bits_max = Prefix::bits_max(address);
    let bits = match word[at..stop].strip_prefix('/') {
        None => bits_max,
        Some(bits) => digits(bits)
            .filter(|bits| *bits <= bits_max)
            .ok_or(Wrong { expected: BITS, at: at + 1 })?,
    };
    Ok(Prefix { address, bits })
}

/// An IPv4 address. Before `/BITS`, its last octets may be left out: `10/8`, `193.233.7/24`.
fn ipv4(word: &str, stop: usize) -> Result<Prefix, Wrong> {
    let end = word[..stop].find('/').unwrap_or(stop);
    let wrong = Wrong { expected: ADDRESS, at: 0 };
    let mut octets = [0; 4];
    let mut count = 0;
    for part in word[..end].split('.') {
        let octet = digits(part).filter(|_| part.len() <= 3);
        match (octets.get_mut(count), octet) {
            (Some(place), Some(octet)) => *place = octet,
            _ => return Err(wrong),
        }
        count += 1;
    }
    if count < octets.len() && end == stop {
        return Err(wrong);
    }
    with_bits(Ipv4Addr::from(octets).into(), word, end, stop)
}
