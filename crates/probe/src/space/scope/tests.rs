use super::{first_foreign, is_own};
use crate::targets::Target;

fn foreign(text: &str) -> Option<String> {
    let target = Target::parse(text, &|_| None).unwrap();
    let range = target.hosts.ranges().next().unwrap();
    assert_eq!(is_own(&range), first_foreign(&range).is_none());
    first_foreign(&range).map(|range| range.to_string())
}

#[test]
fn a_sites_own_addresses_are_own_to_their_ends() {
    for text in [
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "169.254.0.0/16",
        "::1",
        "fc00::/7",
        "fe80::/10",
        "::ffff:10.0.0.1",
    ] {
        assert_eq!(foreign(text), None, "{text}");
    }
}

#[test]
fn the_neighbours_are_foreign() {
    for text in [
        "9.255.255.255",
        "11.0.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "::",
        "::2",
        "fbff::1",
        "fe00::",
        "fe7f::1",
        "fec0::",
        "192.0.2.1",
        "2001:db8::1",
        "224.0.0.1",
        "0.0.0.0",
    ] {
        assert_eq!(foreign(text), Some(text.to_owned()));
    }
}

#[test]
fn of_a_range_the_first_foreign_part_is_told() {
    assert_eq!(foreign("10.255.255.0-11.0.0.255").as_deref(), Some("11.0.0.0/24"));
    assert_eq!(foreign("9.255.255.255-10.0.0.1").as_deref(), Some("9.255.255.255"));
    assert_eq!(foreign("0.0.0.0/0").as_deref(), Some("0.0.0.0-9.255.255.255"));
    assert_eq!(foreign("::/0").as_deref(), Some("::"));
}
