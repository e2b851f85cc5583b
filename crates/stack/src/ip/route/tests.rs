use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn own() -> Addresses {
    let cidrs = ["192.0.2.1/24", "2001:db8::1/64"].map(|text| text.parse().expect("an address"));
    Addresses::new(&cidrs, crate::DuplicateDetection::Off, Instant::ZERO)
}

#[test]
fn the_longest_prefix_leads() {
    let route = |network: &str, gateway: &str| Route {
        network: network.parse().expect("a network"),
        gateway: address(gateway),
    };
    let routes = Routes::new(
        [
            route("0.0.0.0/0", "192.0.2.254"),
            route("198.51.100.0/24", "192.0.2.253"),
            route("198.51.100.7/32", "192.0.2.252"),
            route("::/0", "fe80::1"),
        ]
        .into(),
    );
    let cases = [
        ("192.0.2.9", "192.0.2.9"),
        ("203.0.113.1", "192.0.2.254"),
        ("198.51.100.1", "192.0.2.253"),
        ("198.51.100.7", "192.0.2.252"),
        ("224.0.0.251", "224.0.0.251"),
        ("255.255.255.255", "255.255.255.255"),
        ("169.254.1.1", "169.254.1.1"),
        ("2001:db8::9", "2001:db8::9"),
        ("2001:db8:1::9", "fe80::1"),
        ("fe80::9", "fe80::9"),
        ("ff05::1", "ff05::1"),
    ];
    for (to, by) in cases {
        let next_hop = routes.next_hop(address(to), &own(), Instant::ZERO);
        assert_eq!(next_hop, Some(address(by)), "{to}");
    }
    let none = Routes::new(Vec::new());
    assert_eq!(none.next_hop(address("203.0.113.1"), &own(), Instant::ZERO), None);
}

#[test]
fn routers_and_prefixes_are_few_and_end() {
    let mut routes = Routes::new(Vec::new());
    let now = Instant::from_micros(1);
    for which in 0..1_000 {
        let router = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, which);
        routes.learn_router(router, Duration::from_secs(10), now);
        let network = IpAddr::V6(Ipv6Addr::new(0x2001, which, 0, 0, 0, 0, 0, 0));
        routes.learn_prefix(Cidr::new(network, 64).unwrap(), Duration::from_secs(10), now);
    }
    assert_eq!((routes.routers.len(), routes.prefixes.len()), (ROUTERS_MAX, PREFIXES_MAX));
    let far = address("2001:ffff::1");
    assert_eq!(routes.next_hop(far, &own(), now), Some(address("fe80::")));
    routes.forget_router("fe80::".parse().unwrap());
    assert_eq!(routes.next_hop(far, &own(), now), Some(address("fe80::1")));
    assert_eq!(routes.next_hop(address("2001:3::1"), &own(), now), Some(address("2001:3::1")));
    let later = now + Duration::from_secs(10);
    assert_eq!(routes.next_hop(far, &own(), later), None);
    // Neither all addresses nor those of another version.
    let mut routes = Routes::new(Vec::new());
    for text in ["::/0", "2000::/3", "0.0.0.0/24", "fe80::/64"] {
        routes.learn_prefix(text.parse().unwrap(), Duration::from_secs(10), now);
    }
    assert!(routes.prefixes.is_empty());
}
