use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::{RANGES_MAX, Ranges};
use crate::space::{AddressRange, SpaceError};

fn set(texts: &[&str]) -> Ranges {
    let ranges = texts.iter().map(|text| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        AddressRange::new(first.parse().unwrap(), last.parse().unwrap()).unwrap()
    });
    Ranges::collect(ranges).unwrap()
}

fn shown(ranges: &Ranges) -> Vec<String> {
    ranges.iter().map(|range| range.to_string()).collect()
}

#[test]
fn ranges_that_touch_are_one() {
    let ranges = set(&["10.0.0.128-10.0.0.255", "10.0.0.0-10.0.0.127", "10.0.0.3", "10.0.2.0"]);
    assert_eq!(shown(&ranges), ["10.0.0.0/24", "10.0.2.0"]);
    assert_eq!(ranges.addresses(), 257);
    // Of two families, they are still told apart.
    let ranges = set(&["::fffe:ffff:ffff", "0.0.0.0-0.0.0.255"]);
    assert_eq!(shown(&ranges), ["::fffe:ffff:ffff", "0.0.0.0/24"]);
    assert_eq!(ranges.addresses(), 257);
}

#[test]
fn the_ends_of_the_line_are_no_special_case() {
    let all = set(&["::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::1", "10.0.0.1"]);
    assert_eq!(all.addresses(), u128::MAX);
    assert!(all.contains("10.0.0.1".parse().unwrap()));
    assert!(all.subtract(&all).is_empty());
    let ends = set(&["::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]);
    assert_eq!(all.subtract(&ends).addresses(), u128::MAX - 1);
    assert_eq!(all.subtract(&ends).union(&ends), all);
}

#[test]
fn more_ranges_than_fit_are_refused() {
    let scattered = |count: usize| {
        let address = |nth: usize| Ipv6Addr::from(nth as u128 * 2);
        Ranges::collect((0..count).map(move |nth| IpAddr::V6(address(nth)).into()))
    };
    assert!(scattered(RANGES_MAX).is_ok());
    assert_eq!(scattered(RANGES_MAX + 1), Err(SpaceError::Ranges));
    // The same ones again cost nothing.
    let again = (0..3 * RANGES_MAX).map(|nth| {
        let host = u32::try_from(nth % 1000).unwrap();
        IpAddr::V4(Ipv4Addr::from(host * 2)).into()
    });
    assert_eq!(Ranges::collect(again).unwrap().addresses(), 1000);
}

/// Ranges about the place where IPv4 begins on the line.
fn ranges() -> impl Strategy<Value = Vec<AddressRange>> {
    let range = (0_u128..60, 0_u128..12, any::<bool>()).prop_filter_map(
        "of one family",
        |(first, more, is_ipv4)| {
            let at = |place: u128| {
                let address = Ipv6Addr::from(0xfffe_ffff_fff0 + place);
                if is_ipv4 { address.to_canonical() } else { address.into() }
            };
            AddressRange::new(at(first), at(first + more))
        },
    );
    prop::collection::vec(range, 0..8)
}

proptest! {
    #[test]
    fn sets_do_what_sets_do(one in ranges(), other in ranges()) {
        let (a, b) = (Ranges::collect(one).unwrap(), Ranges::collect(other).unwrap());
        let (both, left) = (a.union(&b), a.subtract(&b));
        for place in 0..80 {
            let address = IpAddr::V6(Ipv6Addr::from(0xfffe_ffff_fff0_u128 + place));
            prop_assert_eq!(both.contains(address), a.contains(address) || b.contains(address));
            prop_assert_eq!(left.contains(address), a.contains(address) && !b.contains(address));
        }
        prop_assert_eq!(both.addresses(), left.addresses() + b.addresses());
        prop_assert_eq!(Ranges::collect(both.iter()).unwrap(), both);
    }
}
