use std::{
    net::{Ipv4Addr, Ipv6Addr},
    process::Command,
    thread,
    time::Instant,
};

use portolan_sys::netns;
use rustix::io::Errno;

use super::*;

const MAC_A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const MAC_B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];

/// Runs a test on a thread of its own in a fresh network namespace with two links, `va`
/// (10.1.0.1/24 and fd01::1/64) and `vb` (10.2.0.1/24 and fd02::1/64), on which .2 is a router that
/// is known.
fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let inside = || {
        netns::unshare_thread().expect("needs root, to make a network namespace");
        netns::loopback_up().unwrap();
        for (link, number) in [("va", 1), ("vb", 2)] {
            ip(&format!("link add {link} type veth peer name {link}2"));
            ip(&format!("address add 10.{number}.0.1/24 dev {link}"));
            ip(&format!("address add fd0{number}::1/64 dev {link} nodad"));
            ip(&format!("address add fe80::{number} dev {link} nodad"));
            ip(&format!("link set {link} up"));
            ip(&format!("link set {link}2 up"));
            for router in [format!("10.{number}.0.2"), format!("fd0{number}::2")] {
                let mac = format!("02:00:00:00:00:0{}", ["a", "b"][number - 1]);
                ip(&format!("neighbour replace {router} lladdr {mac} dev {link} nud permanent"));
            }
        }
        test();
    };
    if let Err(panic) = thread::spawn(inside).join() {
        std::panic::resume_unwind(panic);
    }
}

#[track_caller]
fn ip(arguments: &str) {
    let ran = Command::new("ip").args(arguments.split(' ')).output().expect("needs iproute2");
    assert!(ran.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn number_of(link: &str) -> u32 {
    let ran = Command::new("ip").args(["-o", "link", "show", link]).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    said.split(':').next().unwrap().parse().unwrap()
}

fn to(routes: &mut Routes, target: &str) -> Result<Route, i32> {
    let target: IpAddr = target.parse().unwrap();
    let route = routes.to(target, 0)?;
    assert_eq!(route.is_alone, route.source == target);
    Ok(Route { is_alone: false, ..route })
}

fn way(source: &str, link: &str, hop: Hop) -> Result<Route, i32> {
    let interface = number_of(link);
    Ok(Route { source: source.parse().unwrap(), interface, hop, is_alone: false })
}

/// The target is on this link, and can be asked for by ARP.
fn on_link(link: &str) -> Hop {
    Hop::OnLink { own: mac_of(link) }
}

fn mac_of(link: &str) -> [u8; 6] {
    let ran = Command::new("ip").args(["-o", "link", "show", link]).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    let mac = said.split("link/ether ").nth(1).unwrap().split(' ').next().unwrap();
    let bytes: Vec<_> = mac.split(':').map(|it| u8::from_str_radix(it, 16).unwrap()).collect();
    bytes.try_into().unwrap()
}

#[test]
fn this_host_and_its_links() {
    in_namespace(|| {
        let mut routes = Routes::open().unwrap();
        for (target, expected) in [
            ("127.0.0.1", way("127.0.0.1", "lo", Hop::Kernel)),
            ("::1", way("::1", "lo", Hop::Kernel)),
            ("10.1.0.1", way("10.1.0.1", "lo", Hop::Kernel)),
            ("fd01::1", way("fd01::1", "lo", Hop::Kernel)),
            // On the link: nobody comes between. Where it is IPv4, we can find out who is there.
            ("10.1.0.77", way("10.1.0.1", "va", on_link("va"))),
            ("10.1.0.1", way("10.1.0.1", "lo", Hop::Kernel)),
            ("10.1.0.3", way("10.1.0.1", "va", on_link("va"))),
            ("10.2.0.77", way("10.2.0.1", "vb", on_link("vb"))),
            // Known by hand, which divides the stretch.
            ("10.1.0.2", way("10.1.0.1", "va", Hop::Neighbour(MAC_A))),
            ("fd01::77", way("fd01::1", "va", Hop::Kernel)),
            ("fd02::77", way("fd02::1", "vb", Hop::Kernel)),
        ] {
            assert_eq!(to(&mut routes, target), expected, "{target}");
            assert_eq!(to(&mut routes, target), expected, "{target}, once more");
        }
    });
}

#[test]
fn routers_that_are_known_and_routers_that_are_not() {
    in_namespace(|| {
        ip("route add 10.10.0.0/16 via 10.1.0.2");
        ip("route add 10.11.0.0/16 via 10.2.0.3");
        ip("route add 10.12.0.0/16 via 10.2.0.2 src 10.1.0.1");
        ip("route add fd10::/16 via fd01::2");
        ip("route add fd11::/16 via fd02::3");
        let mut routes = Routes::open().unwrap();
        for (target, expected) in [
            ("10.10.1.1", way("10.1.0.1", "va", Hop::Neighbour(MAC_A))),
            ("10.11.1.1", way("10.2.0.1", "vb", Hop::Kernel)),
            ("10.12.1.1", way("10.1.0.1", "vb", Hop::Neighbour(MAC_B))),
            ("fd10::1", way("fd01::1", "va", Hop::Neighbour(MAC_A))),
            ("fd11::1", way("fd02::1", "vb", Hop::Kernel)),
        ] {
            assert_eq!(to(&mut routes, target), expected, "{target}");
        }
        let all = ["reachable", "stale", "delay", "probe", "failed", "none", "noarp"];
        for (state, usable) in all.into_iter().zip([true, true, true, true, false, false, false]) {
            ip(&format!("neighbour replace 10.2.0.3 lladdr 02:00:00:00:00:0b dev vb nud {state}"));
            let known = Routes::open().unwrap().to("10.11.1.1".parse().unwrap(), 0).unwrap();
            let expected = if usable { Hop::Neighbour(MAC_B) } else { Hop::Kernel };
            assert_eq!(known.hop, expected, "{state}");
        }
    });
}

#[test]
fn a_router_beyond_a_link_that_is_not_ethernet() {
    in_namespace(|| {
        ip("tuntap add mode tun name tun");
        ip("address add 10.13.0.1/24 dev tun");
        ip("link set tun up");
        ip("route add 10.14.0.0/16 via 10.13.0.2");
        ip("neighbour replace 10.13.0.2 lladdr 02:00:00:00:00:0a dev tun nud permanent");
        let mut routes = Routes::open().unwrap();
        assert_eq!(to(&mut routes, "10.14.0.1"), way("10.13.0.1", "tun", Hop::Kernel));
    });
}

#[test]
fn targets_on_a_link_where_arp_does_not_tell() {
    in_namespace(|| {
        for command in [
            "tuntap add mode tun name tun",
            "address add 10.13.0.1/24 dev tun",
            "link set tun up",
            "link set vb arp off",
            // By a router that is known by its address of IPv6 alone.
            "route add 10.15.0.0/24 via inet6 fd01::2 dev va",
            "route add 10.16.0.0/24 dev va",
            "link add bridge type bridge",
            "address add 10.17.0.1/24 dev bridge",
            "link set bridge up",
        ] {
            ip(command);
        }
        let mut routes = Routes::open().unwrap();
        for (target, expected) in [
            ("10.13.0.7", way("10.13.0.1", "tun", Hop::Kernel)),
            ("10.2.0.7", way("10.2.0.1", "vb", Hop::Kernel)),
            ("10.15.0.7", way("10.1.0.1", "va", Hop::Kernel)),
            ("10.16.0.7", way("10.1.0.1", "va", on_link("va"))),
            ("10.17.0.7", way("10.17.0.1", "bridge", on_link("bridge"))),
        ] {
            assert_eq!(to(&mut routes, target), expected, "{target}");
        }
    });
}

#[test]
fn no_way() {
    in_namespace(|| {
        for kind in ["unreachable", "prohibit", "blackhole"] {
            let number = kind.len();
            ip(&format!("route add {kind} 10.{number}.0.0/16"));
            ip(&format!("route add {kind} fd{number}::/16"));
        }
        let mut routes = Routes::open().unwrap();
        for (target, errno) in [
            ("10.99.0.1", Errno::NETUNREACH),
            ("fd99::1", Errno::NETUNREACH),
            ("10.11.0.1", Errno::HOSTUNREACH),
            ("fd11::1", Errno::HOSTUNREACH),
            ("10.8.0.1", Errno::ACCESS),
            ("fd08::1", Errno::NETUNREACH),
            ("fd8::1", Errno::ACCESS),
            ("10.9.0.1", Errno::INVAL),
            ("fd9::1", Errno::INVAL),
            // Many hosts are none.
            ("10.1.0.255", Errno::NETUNREACH),
            ("255.255.255.255", Errno::NETUNREACH),
            ("224.0.0.1", Errno::NETUNREACH),
            ("ff02::1", Errno::NETUNREACH),
        ] {
            let expected = Err(errno.raw_os_error());
            assert_eq!(to(&mut routes, target), expected, "{target}");
            assert_eq!(to(&mut routes, target), expected, "{target}, once more");
        }
    });
}

#[test]
fn a_link_local_address_is_on_the_link_that_it_names() {
    in_namespace(|| {
        let mut routes = Routes::open().unwrap();
        let target = "fe80::77".parse().unwrap();
        for _ in 0..2 {
            for (link, source) in [("va", "fe80::1"), ("vb", "fe80::2")] {
                let route = routes.to(target, number_of(link)).unwrap();
                assert_eq!((route.interface, route.hop), (number_of(link), Hop::Kernel));
                assert!(as_v6(route.source).is_unicast_link_local(), "{link}: {}", route.source);
                let own = Command::new("ip").args(["-o", "address", "show", "dev", link]).output();
                let own = String::from_utf8(own.unwrap().stdout).unwrap();
                assert!(own.contains(&format!(" {}/", route.source)), "{source} or the other");
            }
        }
    });
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// Routes within routes, rules, and addresses of this host among them: at every edge, and beside
/// it, what is remembered is what the kernel says when it is asked about that address alone.
#[test]
fn a_stretch_is_divided_by_every_route_and_rule() {
    in_namespace(|| {
        for route in [
            "default via 10.1.0.2",
            "10.16.0.0/12 via 10.2.0.2",
            "10.17.1.0/24 via 10.1.0.2",
            "unreachable 10.17.1.7",
            "prohibit 10.17.1.128/25",
            "local 10.18.0.0/24 dev lo",
            "255.255.255.240/28 via 10.2.0.2",
            "default via fd01::2",
            "fd16::/16 via fd02::2",
            "fd16:1::/64 via fd01::2",
            "blackhole fd16:1::7",
            "ff00::/9 via fd02::2",
            "10.20.0.0/16 via 10.2.0.2 table 100",
            "fd20::/32 via fd02::2 table 100",
        ] {
            ip(&format!("route add {route}"));
        }
        ip("rule add to 10.20.128.0/17 lookup 100");
        ip("-6 rule add to fd20::/40 lookup 100");
        let mut routes = Routes::open().unwrap();
        let edges = routes.table.as_ref().expect("few enough").edges.clone();
        assert!(edges.len() > 40, "{}", edges.len());
        let around = edges.iter().flat_map(|&edge| {
            let beside = [edge.checked_sub(1), Some(edge), edge.checked_add(1)];
            beside.into_iter().flatten()
        });
        let mut targets: Vec<_> = around.map(address).collect();
        // No host has these.
        targets.retain(|it| !is_group(*it) && !it.is_unspecified());
        let mut asked = Questions::open().unwrap();
        // From the lowest up, from the highest down, and what is far apart in turn.
        let (half, all) = (targets.len() / 2, targets.clone());
        targets.extend(all.iter().rev());
        targets.extend((0..half).flat_map(|at| [all[at], all[at + half]]));
        for target in targets {
            let (remembered, said) = (routes.to(target, 0), asked.route(target, 0));
            let alike = |route: &Route| (route.interface, route.hop);
            assert_eq!(remembered.map(|it| alike(&it)), said.map(|it| alike(&it)), "{target}");
        }
        // What it is about: these differ.
        let hop = |routes: &mut Routes, target| to(routes, target).map(|route| route.hop);
        assert_eq!(hop(&mut routes, "10.17.0.255"), Ok(Hop::Neighbour(MAC_B)));
        assert_eq!(hop(&mut routes, "10.17.1.0"), Ok(Hop::Neighbour(MAC_A)));
        assert_eq!(hop(&mut routes, "10.17.1.7"), Err(Errno::HOSTUNREACH.raw_os_error()));
        assert_eq!(hop(&mut routes, "10.17.1.8"), Ok(Hop::Neighbour(MAC_A)));
        assert_eq!(hop(&mut routes, "10.20.127.255"), Ok(Hop::Neighbour(MAC_B)), "10.16.0.0/12");
        assert_eq!(hop(&mut routes, "fd16:1::6"), Ok(Hop::Neighbour(MAC_A)));
        assert_eq!(hop(&mut routes, "fd16:1::7"), Err(Errno::INVAL.raw_os_error()));
    });
}

fn address(number: u128) -> IpAddr {
    let v6 = Ipv6Addr::from_bits(number);
    v6.to_ipv4_mapped().map_or(v6.into(), IpAddr::V4)
}

#[test]
fn no_more_stretches_are_remembered_than_there_is_room_for() {
    in_namespace(|| {
        ip("route add default via 10.1.0.2");
        let mut routes = Routes::open().unwrap();
        // As if there were too many routes to hold: each address by itself.
        routes.table = None;
        routes.known_at = clock::coarse() + Duration::from_secs(3600);
        for number in 0..2 * u32::try_from(STRETCHES_MAX).unwrap() {
            let target = Ipv4Addr::from(0x0b00_0000 + number).into();
            assert_eq!(routes.to(target, 0).unwrap().hop, Hop::Neighbour(MAC_A));
            assert!(routes.known.len() <= STRETCHES_MAX);
        }
    });
}

#[test]
fn a_route_that_changes_is_seen_a_second_later() {
    in_namespace(|| {
        ip("route add 10.10.0.0/16 via 10.1.0.2");
        let mut routes = Routes::open().unwrap();
        let (first, second) = (
            way("10.1.0.1", "va", Hop::Neighbour(MAC_A)),
            way("10.2.0.1", "vb", Hop::Neighbour(MAC_B)),
        );
        assert_eq!(to(&mut routes, "10.10.0.1"), first);
        ip("route replace 10.10.0.0/16 via 10.2.0.2");
        let since = Instant::now();
        while to(&mut routes, "10.10.0.1") == first {
            assert!(since.elapsed() < Duration::from_secs(60), "it is never seen");
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(to(&mut routes, "10.10.0.1"), second);
        // A route within it as well, which divides the stretch.
        ip("route add unreachable 10.10.0.7");
        thread::sleep(FRESH + Duration::from_millis(100));
        assert_eq!(to(&mut routes, "10.10.0.7"), Err(Errno::HOSTUNREACH.raw_os_error()));
        assert_eq!(to(&mut routes, "10.10.0.1"), second);
    });
}

/// Each address of a network that is this host's own answers for itself.
#[test]
fn addresses_of_this_host_are_their_own_source() {
    in_namespace(|| {
        ip("route add local 10.6.0.0/16 dev lo");
        let mut routes = Routes::open().unwrap();
        assert!(routes.is_steady());
        for target in ["10.6.0.1", "10.6.0.2", "10.6.77.7", "10.6.0.1"] {
            assert_eq!(to(&mut routes, target), way(target, "lo", Hop::Kernel), "{target}");
        }
    });
}

#[test]
fn a_route_with_several_ways_is_asked_for_each_address_and_is_not_steady() {
    in_namespace(|| {
        ip("route add 10.30.0.0/16 nexthop via 10.1.0.2 nexthop via 10.2.0.2");
        let mut routes = Routes::open().unwrap();
        assert!(!routes.is_steady());
        let mut asked = Questions::open().unwrap();
        let targets = (0..64).map(|last| IpAddr::from([10, 30, 0, last]));
        let sources = targets.map(|target| {
            let route = routes.to(target, 0).unwrap();
            assert_eq!(route, asked.route(target, 0).unwrap());
            route.source
        });
        let mut sources: Vec<_> = sources.collect();
        sources.sort_unstable();
        sources.dedup();
        assert_eq!(sources.len(), 2, "it does not take both ways: {sources:?}");
    });
}

#[test]
fn rules_that_look_at_ports_are_refused_with_a_reason() {
    in_namespace(|| {
        ip("rule add ipproto tcp dport 80 lookup main");
        let refused = Routes::open().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        assert!(refused.to_string().contains("ip rule"), "{refused}");
    });
}
