use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use proptest::prelude::*;

use super::{AddressRange, CHECKS_MAX, Entry, RANGES_MAX, Ranges, Space, SpaceError};
use crate::{ports::PortSet, targets::Target};

fn ports(text: &str) -> PortSet {
    PortSet::parse(text, &|_| None).unwrap()
}

fn entries(targets: &[&str]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for text in targets {
        let target = Target::parse(text, &|_| None).unwrap_or_else(|error| panic!("{error}"));
        let zone = target.hosts.zone().map_or(0, |zone| zone.parse().unwrap());
        let port = target.port;
        entries.extend(target.hosts.ranges().map(|range| Entry { range, zone, port }));
    }
    entries
}

fn excludes(targets: &[&str]) -> Ranges {
    Ranges::collect(entries(targets).into_iter().map(|entry| entry.range)).unwrap()
}

fn space(port_text: &str, targets: &[&str], excluded: &[&str]) -> Space {
    Space::new(ports(port_text), entries(targets), &excludes(excluded)).unwrap()
}

fn all(space: &Space) -> Vec<String> {
    assert_eq!(space.get(space.len()), None);
    (0..space.len()).map(|index| space.get(index).unwrap().to_string()).collect()
}

#[test]
fn every_address_has_every_port() {
    let space = space("80,443", &["10.0.0.1-2", "2001:db8::1"], &[]);
    let expected = [
        "10.0.0.1:80",
        "10.0.0.1:443",
        "10.0.0.2:80",
        "10.0.0.2:443",
        "[2001:db8::1]:80",
        "[2001:db8::1]:443",
    ];
    assert_eq!(all(&space), expected);
    assert_eq!(space.addresses(), 3);
}

#[test]
fn what_is_asked_for_twice_is_checked_once() {
    let space = space(
        "80",
        &["10.0.0.0/31", "10.0.0.1-2", "10.0.0.1:80", "10.0.0.2:81", "10.0.0.2:81", "10.0.0.9:80"],
        &[],
    );
    let expected = ["10.0.0.0:80", "10.0.0.1:80", "10.0.0.2:80", "10.0.0.9:80", "10.0.0.2:81"];
    assert_eq!(all(&space), expected);
    assert_eq!(space.addresses(), 4);
}

#[test]
fn a_mapped_address_is_the_ipv4_address() {
    let mapped = space("80", &["::ffff:10.0.0.1", "10.0.0.1", "[::ffff:a00:1]:80"], &[]);
    assert_eq!(all(&mapped), ["10.0.0.1:80"]);
    assert!(space("80", &["10.0.0.1"], &["::ffff:10.0.0.0/120"]).is_empty());
}

#[test]
fn what_is_excluded_is_left_out_of_ranges_and_ports() {
    let found =
        space("80", &["10.0.0.0/30", "10.0.0.1-2:81", "fe80::1%7"], &["10.0.0.1", "fe80::1"]);
    assert_eq!(all(&found), ["10.0.0.0:80", "10.0.0.2:80", "10.0.0.3:80", "10.0.0.2:81"]);
    let shown: Vec<_> = found.ranges().iter().map(|range| range.to_string()).collect();
    assert_eq!(shown, ["10.0.0.0", "10.0.0.2/31"]);
    let nothing = space("80", &["10.0.0.0/30"], &["10.0.0.0/8"]);
    assert_eq!((nothing.len(), nothing.get(0), nothing.addresses()), (0, None, 0));
}

#[test]
fn a_link_local_address_is_another_host_in_each_zone() {
    let space = space("80", &["fe80::1%2", "fe80::1%3", "[fe80::1%3]:80", "[fe80::1%2]:81"], &[]);
    let mut found = all(&space);
    found.sort();
    assert_eq!(found, ["[fe80::1%2]:80", "[fe80::1%2]:81", "[fe80::1%3]:80"]);
    assert_eq!((space.addresses(), space.ranges().addresses()), (2, 1));
    // RFC 4007 section 6: only of those that are not global.
    let range = IpAddr::from(Ipv6Addr::LOCALHOST).into();
    let entry = |zone| Entry { range, zone, port: Some(1) };
    let global = Space::new(ports("80"), [entry(1), entry(2)], &Ranges::default()).unwrap();
    assert_eq!(all(&global), ["[::1]:1"]);
}

#[test]
fn a_large_network_is_one_segment() {
    let large = space("-", &["10.0.0.0/8"], &[]);
    assert_eq!((large.len(), large.segments.len()), ((1 << 24) * 65_535, 1));
    assert_eq!(large.get(0), Some("10.0.0.0:1".parse().unwrap()));
    assert_eq!(large.get(65_535), Some("10.0.0.1:1".parse().unwrap()));
    assert_eq!(large.get(large.len() - 1), Some("10.255.255.255:65535".parse().unwrap()));
    let divided = space("-", &["10.0.0.0/8", "10.0.0.9:80", "10.0.0.9:81"], &["10.1.2.3"]);
    assert_eq!((divided.len(), divided.segments.len()), (((1 << 24) - 1) * 65_535, 2));
}

#[test]
fn too_many_checks_are_refused_with_their_number() {
    let new =
        |text, targets: &[&str]| Space::new(ports(text), entries(targets), &Ranges::default());
    assert_eq!(new("80", &["2001:db8::/80"]).map(|space| space.len()), Ok(CHECKS_MAX));
    let above = new("80", &["2001:db8::/80", "10.0.0.1"]);
    assert_eq!(above.map(|space| space.len()), Err(SpaceError::Checks(u128::from(CHECKS_MAX) + 1)));
    let most = new("-", &["::/0"]);
    assert_eq!(most.map(|space| space.len()), Err(SpaceError::Checks(u128::MAX)));
    let text = SpaceError::Checks(1 << 50).to_string();
    assert!(text.contains("1125899906842624 checks, more than 281474976710656: "), "{text}");
}

#[test]
fn too_many_ranges_are_refused_wherever_they_come_from() {
    let new = |targets: &[&str], excluded: &[&str]| {
        let space = Space::new(ports("80"), entries(targets), &excludes(excluded));
        space.map(|space| space.segments.len())
    };
    let octets = Target::parse("*.*.*.1", &|_| None).unwrap();
    let ranges = octets.hosts.ranges().map(|range| Entry { range, zone: 0, port: None });
    let found = Space::new(ports("80"), ranges, &Ranges::default());
    assert_eq!(found.map(|space| space.len()), Err(SpaceError::Ranges));
    // Each of the targets is one range, and each is cut into 65,537.
    let cut: Vec<String> = (1..=80).map(|port| format!("10.0.0.0/8:{port}")).collect();
    let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
    assert!(65_537 * cut.len() > RANGES_MAX);
    assert_eq!(new(&cut, &["10.*.*.1"]), Err(SpaceError::Ranges));
    assert_eq!(new(&cut[..2], &["10.*.*.1"]), Ok(2 * 65_537));
}

fn place(is_ipv4: bool, nth: u8) -> IpAddr {
    if is_ipv4 {
        Ipv4Addr::new(10, 0, 0, nth).into()
    } else {
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, nth.into()).into()
    }
}

fn some_range() -> impl Strategy<Value = (bool, u8, u8)> {
    (any::<bool>(), 0_u8..40, 0_u8..8)
}

fn range((is_ipv4, first, more): (bool, u8, u8)) -> AddressRange {
    AddressRange::new(place(is_ipv4, first), place(is_ipv4, first + more)).unwrap()
}

proptest! {
    #[test]
    fn a_space_is_the_set_of_what_was_asked_for(
        asked in prop::collection::vec((some_range(), prop::option::of(1_u16..6), 0_u32..3), 0..12),
        excluded in prop::collection::vec(some_range(), 0..6),
        set in prop::collection::btree_set(1_u16..6, 1..5),
    ) {
        let text: Vec<String> = set.iter().map(u16::to_string).collect();
        let (mut naive, mut addresses) = (BTreeSet::new(), BTreeSet::new());
        for ((is_ipv4, first, more), port, zone) in &asked {
            for nth in *first..=first + more {
                let covers = |(other, from, length): &(bool, u8, u8)| {
                    other == is_ipv4 && (*from..=from + length).contains(&nth)
                };
                if excluded.iter().any(covers) {
                    continue;
                }
                for wanted in port.map_or_else(|| set.clone(), |port| [port].into()) {
                    let mut check = SocketAddr::new(place(*is_ipv4, nth), wanted);
                    if let SocketAddr::V6(check) = &mut check {
                        check.set_scope_id(*zone);
                    }
                    let mut at = check;
                    at.set_port(0);
                    naive.insert(check);
                    addresses.insert(at);
                }
            }
        }
        let entries = asked.iter().map(|(asked, port, zone)| {
            Entry { range: range(*asked), zone: *zone, port: *port }
        });
        let excludes = Ranges::collect(excluded.iter().copied().map(range)).unwrap();
        let space = Space::new(ports(&text.join(",")), entries, &excludes).unwrap();
        prop_assert_eq!(space.len(), naive.len() as u64);
        let found: BTreeSet<SocketAddr> =
            (0..space.len()).filter_map(|index| space.get(index)).collect();
        prop_assert_eq!(found, naive);
        prop_assert_eq!(space.addresses(), addresses.len() as u128);
        let ips: BTreeSet<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
        prop_assert_eq!(space.ranges().addresses(), ips.len() as u128);
    }
}
