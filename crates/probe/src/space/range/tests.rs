use std::net::IpAddr;

use super::{AddressRange, address, families, line};

fn ip(text: &str) -> IpAddr {
    text.parse().expect(text)
}

fn range(first: &str, last: &str) -> AddressRange {
    AddressRange::new(ip(first), ip(last)).expect(first)
}

#[test]
fn the_ends_are_of_one_family_and_in_order() {
    assert!(AddressRange::new(ip("10.0.0.2"), ip("10.0.0.1")).is_none());
    assert!(AddressRange::new(ip("10.0.0.2"), ip("::ffff:10.0.0.3")).is_none());
    assert_eq!(range("10.0.0.1", "10.0.0.9").addresses(), 9);
    assert_eq!(range("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").addresses(), u128::MAX);
}

#[test]
fn a_network_is_masked_at_its_prefix() {
    let network = |text: &str, prefix| AddressRange::network(ip(text), prefix);
    assert_eq!(network("10.0.0.77", 24), Some(range("10.0.0.0", "10.0.0.255")));
    assert_eq!(network("10.0.0.77", 0), Some(range("0.0.0.0", "255.255.255.255")));
    assert_eq!(network("10.0.0.77", 32), Some(ip("10.0.0.77").into()));
    assert_eq!(network("10.0.0.77", 33), None);
    assert_eq!(network("2001:db8::1", 128), Some(ip("2001:db8::1").into()));
    assert_eq!(network("2001:db8::1", 129), None);
}

#[test]
fn it_is_shown_in_the_shortest_form() {
    assert_eq!(AddressRange::from(ip("10.0.0.1")).to_string(), "10.0.0.1");
    assert_eq!(range("10.0.0.0", "10.0.0.255").to_string(), "10.0.0.0/24");
    assert_eq!(range("10.0.0.0", "10.0.0.254").to_string(), "10.0.0.0-10.0.0.254");
    // Two addresses that differ in one bit, but not in the last.
    assert_eq!(range("10.0.0.0", "10.0.0.2").to_string(), "10.0.0.0-10.0.0.2");
    assert_eq!(range("10.0.0.1", "10.0.0.2").to_string(), "10.0.0.1-10.0.0.2");
    assert_eq!(range("0.0.0.0", "255.255.255.255").to_string(), "0.0.0.0/0");
    assert_eq!(range("fe80::", "fe80::ff").to_string(), "fe80::/120");
}

/// RFC 4291 section 2.5.5.2.
#[test]
fn a_mapped_address_is_the_ipv4_address() {
    assert_eq!(line(ip("::ffff:10.0.0.1")), line(ip("10.0.0.1")));
    assert_eq!(address(line(ip("::ffff:10.0.0.1"))), ip("10.0.0.1"));
    let parts: Vec<String> = families(range("::fffe:ffff:ffff", "::1:0:0:5").span())
        .map(|part| part.to_string())
        .collect();
    assert_eq!(parts, ["::fffe:ffff:ffff", "0.0.0.0/0", "::1:0:0:0-::1:0:0:5"]);
    assert_eq!(families(range("10.0.0.1", "10.0.0.9").span()).count(), 1);
}
