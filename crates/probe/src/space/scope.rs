//! Which addresses are a site's own, where a probe disturbs nobody else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    range::{AddressRange, Span, families},
    ranges::{Ranges, outside},
};

/// Whether all of the range is loopback, private, shared, link-local or unique local. Addresses for
/// documentation and multicast are not: nobody owns those.
#[must_use]
pub fn is_own(range: &AddressRange) -> bool {
    first_foreign(range).is_none()
}

/// The first part of the range that [`is_own`] does not cover, to say which it was.
#[must_use]
pub fn first_foreign(range: &AddressRange) -> Option<AddressRange> {
    let mut first: Option<Span> = None;
    outside(range.span(), &own(), &mut |left| {
        first.get_or_insert(left);
    });
    first.and_then(|span| families(span).next())
}

/// Those networks.
#[must_use]
pub fn own_networks() -> Ranges {
    Ranges::of_spans(own().to_vec())
}

/// In order on the line, which `outside` needs.
fn own() -> [Span; 9] {
    OWN.map(|(address, prefix)| {
        let network = AddressRange::network(address, prefix);
        network.unwrap_or(AddressRange::from(address)).span()
    })
}

const OWN: [(IpAddr, u8); 9] = [
    // Loopback: RFC 4291 section 2.5.3.
    (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
    // Private: RFC 1918 section 3.
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
    // Shared, between a provider and its customers: RFC 6598 section 7.
    (IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), 10),
    // Loopback: RFC 1122 section 3.2.1.3.
    (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    // Link-local: RFC 3927 section 2.1.
    (IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16),
    // Private: RFC 1918 section 3.
    (IpAddr::V4(Ipv4Addr::new(172, 16, 0, 0)), 12),
    (IpAddr::V4(Ipv4Addr::new(192, 168, 0, 0)), 16),
    // Unique local: RFC 4193 section 3.1.
    (IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)), 7),
    // Link-local: RFC 4291 section 2.5.6.
    (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)), 10),
];

#[cfg(test)]
mod tests;
