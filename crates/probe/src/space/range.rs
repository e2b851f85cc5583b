//! A range of addresses, and the one line on which both families lie.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Both ends included, on [the line](line).
pub(super) type Span = (u128, u128);

/// `::ffff:0:0/96` (RFC 4291 section 2.5.5.2). IPv4 addresses lie here on the line, so an address
/// is the same in whichever of its two forms it was written.
pub(super) const MAPPED: Span = (0xffff_0000_0000, 0xffff_ffff_ffff);

/// Addresses of one family from a first to a last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressRange {
    first: IpAddr,
    last: IpAddr,
}

impl AddressRange {
    /// `None` where the ends are of two families, or the last is before the first.
    #[must_use]
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(Self { first, last })
    }

    /// The network of `address`, whose host bits do not matter (RFC 4632 section 3.1, RFC 4291
    /// section 2.3). `None` where the prefix is longer than the address.
    #[must_use]
    pub fn network(address: IpAddr, prefix_bits: u8) -> Option<Self> {
        let (first, last) = match address {
            IpAddr::V4(address) if prefix_bits <= 32 => {
                let host = u32::MAX.checked_shr(prefix_bits.into()).unwrap_or(0);
                let bits = address.to_bits();
                (Ipv4Addr::from(bits & !host).into(), Ipv4Addr::from(bits | host).into())
            }
            IpAddr::V6(address) if prefix_bits <= 128 => {
                let host = u128::MAX.checked_shr(prefix_bits.into()).unwrap_or(0);
                let bits = address.to_bits();
                (Ipv6Addr::from(bits & !host).into(), Ipv6Addr::from(bits | host).into())
            }
            _ => return None,
        };
        Self::new(first, last)
    }

    /// The lowest address.
    #[must_use]
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// The highest address.
    #[must_use]
    pub fn last(&self) -> IpAddr {
        self.last
    }

    /// How many addresses; one too few for `::/0`, whose number no `u128` holds.
    #[must_use]
    pub fn addresses(&self) -> u128 {
        let (first, last) = self.span();
        (last - first).saturating_add(1)
    }

    pub(super) fn span(&self) -> Span {
        (line(self.first), line(self.last))
    }

    /// The length of the prefix, where the range is exactly a network.
    fn prefix_bits(&self) -> Option<u8> {
        let (first, last) = self.span();
        let host_bits = (first ^ last).count_ones();
        let width = if self.first.is_ipv4() { 32 } else { 128 };
        let prefix = u8::try_from(width - host_bits).ok()?;
        (Self::network(self.first, prefix)? == *self).then_some(prefix)
    }
}

impl From<IpAddr> for AddressRange {
    fn from(address: IpAddr) -> Self {
        Self { first: address, last: address }
    }
}

/// `10.0.0.1`, `10.0.0.0/24` or `10.0.0.1-10.0.0.50`, whichever is the shortest that says it.
impl fmt::Display for AddressRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix_bits() {
            _ if self.first == self.last => self.first.fmt(out),
            Some(prefix) => write!(out, "{}/{prefix}", self.first),
            None => write!(out, "{}-{}", self.first, self.last),
        }
    }
}

/// Where an address lies among all addresses of both families.
pub(super) fn line(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address at a place of the line: IPv4 wherever it can be.
pub(super) fn address(line: u128) -> IpAddr {
    Ipv6Addr::from_bits(line).to_canonical()
}

/// A span as ranges of one family each: at most three.
pub(super) fn families((first, last): Span) -> impl Iterator<Item = AddressRange> {
    let parts = [
        (first, last.min(MAPPED.0 - 1)),
        (first.max(MAPPED.0), last.min(MAPPED.1)),
        (first.max(MAPPED.1 + 1), last),
    ];
    parts
        .into_iter()
        .filter(|(first, last)| first <= last)
        .map(|(first, last)| AddressRange { first: address(first), last: address(last) })
}

#[cfg(test)]
mod tests;
