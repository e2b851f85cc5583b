use std::vec::Vec;

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn addresses(list: &[&str]) -> Addresses {
    let cidrs: Vec<Cidr> = list.iter().map(|text| text.parse().expect("an address")).collect();
    Addresses::new(&cidrs, DuplicateDetection::Off, Instant::ZERO)
}

#[test]
fn prefixes_contain() {
    let cases = [
        ("192.0.2.1/24", "192.0.2.200", true),
        ("192.0.2.1/24", "192.0.3.1", false),
        ("192.0.2.1/32", "192.0.2.1", true),
        ("0.0.0.0/0", "255.255.255.255", true),
        ("0.0.0.0/0", "::", false),
        ("::/0", "ffff::", true),
        ("2001:db8::/33", "2001:db8:8000::", false),
        ("2001:db8::1/128", "2001:db8::1", true),
    ];
    for (cidr, other, expected) in cases {
        let cidr: Cidr = cidr.parse().expect("an address");
        assert_eq!(cidr.contains(address(other)), expected, "{cidr} {other}");
    }
    for text in ["192.0.2.1", "192.0.2.1/33", "::/129", "a/1", "192.0.2.1/-1"] {
        assert_eq!(text.parse::<Cidr>(), Err(CidrError), "{text}");
    }
}

#[test]
fn broadcast_addresses_are_those_of_networks_with_room() {
    let cases = [
        ("192.0.2.1/24", Some([192, 0, 2, 255])),
        ("10.0.0.1/8", Some([10, 255, 255, 255])),
        ("192.0.2.1/30", Some([192, 0, 2, 3])),
        ("192.0.2.1/31", None),
        ("192.0.2.1/32", None),
        ("2001:db8::1/64", None),
    ];
    for (cidr, expected) in cases {
        let cidr: Cidr = cidr.parse().expect("an address");
        assert_eq!(cidr.broadcast(), expected.map(Ipv4Addr::from), "{cidr}");
    }
}

#[test]
fn link_local_addresses_are_made_of_the_hardware_address() {
    // RFC 2464, section 4.
    let mac = ethernet::Address([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]);
    assert_eq!(IpAddr::V6(link_local(mac)), address("fe80::3656:78ff:fe9a:bcde"));
}

/// RFC 6724, section 5.
#[test]
fn the_source_suits_the_destination() {
    let own = addresses(&[
        "192.0.2.1/24",
        "10.0.0.1/8",
        "fe80::1/64",
        "2001:db8::1/64",
        "2001:db8:1::1/64",
    ]);
    let cases = [
        // The network of the next hop.
        ("192.0.2.9", "192.0.2.9", "192.0.2.1"),
        ("10.9.9.9", "10.9.9.9", "10.0.0.1"),
        ("198.51.100.1", "10.0.0.254", "10.0.0.1"),
        ("198.51.100.1", "192.0.2.254", "192.0.2.1"),
        // RFC 6724, rules 2 and 8.
        ("fe80::9", "fe80::9", "fe80::1"),
        ("ff02::1", "ff02::1", "fe80::1"),
        ("2001:db8::9", "fe80::9", "2001:db8::1"),
        ("2001:db8:1::9", "fe80::9", "2001:db8:1::1"),
        ("2001:db8:1:2::9", "fe80::9", "2001:db8:1::1"),
    ];
    for (to, next_hop, from) in cases {
        let source = own.source_for(address(to), address(next_hop));
        assert_eq!(source, Some(address(from)), "{to} by {next_hop}");
    }
    let old = addresses(&["192.0.2.1/24"]);
    assert_eq!(old.source_for(address("2001:db8::9"), address("fe80::9")), None);
}

#[test]
fn groups_are_those_of_our_addresses() {
    let own = addresses(&["192.0.2.1/24", "2001:db8::12:3456/64"]);
    for (group, is_ours) in [
        ("ff02::1", true),
        ("ff02::1:ff12:3456", true),
        ("ff02::1:ff12:3457", false),
        ("ff02::2", false),
        ("224.0.0.1", true),
        ("224.0.0.2", false),
    ] {
        assert_eq!(own.is_group(address(group)), is_ours, "{group}");
    }
    assert!(!addresses(&["192.0.2.1/24"]).is_group(address("ff02::1")));
}
