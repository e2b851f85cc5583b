use alloc::vec;
use core::{net::IpAddr, time::Duration};

use super::*;

fn config(addresses: &[&str]) -> Config {
    let addresses = addresses.iter().map(|text| text.parse().expect("an address"));
    Config::new([2, 0, 0, 0, 0, 1], addresses.collect(), [0; 32])
}

#[test]
fn an_address_of_ipv6_brings_a_link_local_one() {
    let completed = config(&["2001:db8::1/64"]).complete().expect("it is right");
    let local = "fe80::ff:fe00:1/64".parse().expect("an address");
    assert_eq!(completed.addresses.last(), Some(&local));
    let own = config(&["2001:db8::1/64", "fe80::1/64"]).complete().expect("it is right");
    assert_eq!(own.addresses.len(), 2);
    let old = config(&["192.0.2.1/24"]).complete().expect("it is right");
    assert_eq!(old.addresses.len(), 1);
}

#[test]
fn what_cannot_be_is_refused() {
    assert_eq!(config(&[]).complete().err(), Some(ConfigError::NoAddress));
    let odd = [
        "224.0.0.1/24",
        "0.0.0.0/0",
        "127.0.0.1/8",
        "192.0.2.255/24",
        "255.255.255.255/32",
        "::/0",
        "::1/128",
        "ff02::1/64",
        "::ffff:192.0.2.1/96",
    ];
    for text in odd {
        let refused = ConfigError::NoHost(text.parse().expect("an address"));
        assert_eq!(config(&[text]).complete().err(), Some(refused), "{text}");
    }
    let twice = config(&["192.0.2.1/24", "192.0.2.1/32"]).complete().err();
    assert_eq!(twice, Some(ConfigError::Twice(IpAddr::from([192, 0, 2, 1]))));
    let mut group = config(&["192.0.2.1/24"]);
    group.mac = [1, 0, 0, 0, 0, 0];
    assert!(matches!(group.complete(), Err(ConfigError::Group(_))));
    let mut none = config(&["192.0.2.1/24"]);
    none.mac = [0; 6];
    assert_eq!(none.complete().err(), Some(ConfigError::NoHardware));
    let many = vec!["192.0.2.1/24"; 65];
    let refused = ConfigError::TooMany { what: "addresses", max: 64, found: 65 };
    assert_eq!(config(&many).complete().err(), Some(refused));
}

#[test]
fn links_are_wide_enough() {
    let with_mtu = |addresses: &[&str], mtu| {
        let mut config = config(addresses);
        config.mtu = mtu;
        config.complete().err()
    };
    let old = ["192.0.2.1/24"];
    assert_eq!(with_mtu(&old, 576), None);
    assert_eq!(with_mtu(&old, 575), Some(ConfigError::Mtu { least: 576, found: 575 }));
    let new = ["2001:db8::1/64"];
    assert_eq!(with_mtu(&new, 1_280), None);
    assert_eq!(with_mtu(&new, 1_279), Some(ConfigError::Mtu { least: 1_280, found: 1_279 }));
}

#[test]
fn gateways_are_on_the_link() {
    let with_route = |network: &str, gateway: &str| {
        let mut config = config(&["192.0.2.1/24", "2001:db8::1/64"]);
        let (network, gateway) = (network.parse().unwrap(), gateway.parse().unwrap());
        config.routes = vec![Route { network, gateway }];
        config.complete().err()
    };
    assert_eq!(with_route("0.0.0.0/0", "192.0.2.254"), None);
    assert_eq!(with_route("::/0", "fe80::1"), None);
    assert!(matches!(with_route("0.0.0.0/0", "198.51.100.1"), Some(ConfigError::Gateway(_))));
    let mixed = with_route("0.0.0.0/0", "fe80::1");
    assert!(matches!(mixed, Some(ConfigError::Versions { .. })));
}

#[test]
fn one_gateway_leads_to_a_network_and_it_is_another_host() {
    let with_routes = |routes: &[(&str, &str)]| {
        let mut config = config(&["192.0.2.1/24"]);
        config.routes = routes
            .iter()
            .map(|(network, gateway)| Route {
                network: network.parse().unwrap(),
                gateway: gateway.parse().unwrap(),
            })
            .collect();
        config.complete().err()
    };
    let own = with_routes(&[("0.0.0.0/0", "192.0.2.1")]);
    assert_eq!(own, Some(ConfigError::OwnGateway([192, 0, 2, 1].into())));
    let twice = with_routes(&[("0.0.0.0/0", "192.0.2.2"), ("0.0.0.0/0", "192.0.2.3")]);
    assert_eq!(twice, Some(ConfigError::GatewayTwice("0.0.0.0/0".parse().unwrap())));
    let two = with_routes(&[("0.0.0.0/0", "192.0.2.2"), ("10.0.0.0/8", "192.0.2.3")]);
    assert_eq!(two, None);
}

#[test]
fn tcp_is_told_what_it_can_do() {
    let with_tcp = |change: fn(&mut tcp::Config)| {
        let mut config = config(&["192.0.2.1/24"]);
        change(&mut config.tcp);
        match config.complete() {
            Err(ConfigError::Tcp { setting, .. }) => setting,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with_tcp(|tcp| tcp.blocks_max = 3), "blocks_max");
    assert!(with_tcp(|tcp| tcp.receive_buffer_bytes = 0).contains("receive_buffer_bytes"));
    assert!(with_tcp(|tcp| tcp.send_buffer_bytes = 0).contains("send_buffer_bytes"));
    assert_eq!(with_tcp(|tcp| tcp.ports = 0..=9), "ports");
    assert_eq!(with_tcp(|tcp| tcp.delayed_ack = Duration::from_millis(500)), "delayed_ack");
    assert_eq!(with_tcp(|tcp| tcp.rto_min = Duration::ZERO), "rto_min");
    assert_eq!(with_tcp(|tcp| tcp.diffserv = 64), "diffserv");
    assert_eq!(with_tcp(|tcp| tcp.hop_limit = 0), "hop_limit");
}
