use std::{net::TcpListener, thread};

use portolan_sys::netns;

use super::*;

/// Runs `work` on a thread in a network namespace of its own, with these settings of
/// `net.ipv4`.
fn in_namespace<T: Send>(settings: &[(&str, &str)], work: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        netns::unshare_thread().expect("needs root, to make a network namespace");
        for (name, value) in settings {
            std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value).unwrap();
        }
        work()
    };
    thread::scope(|scope| scope.spawn(inside).join().unwrap())
}

/// The first port of a block of 64, in a namespace of its own.
fn first_port(settings: &[(&str, &str)], start: u16) -> u16 {
    in_namespace(settings, || Reservation::new(64, start).unwrap().ports().first)
}

/// Waits until it holds. A program that another test starts has all descriptors of this process
/// for a moment, and with them ports that were given back.
fn at_last(holds: impl Fn() -> bool) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !holds() {
        assert!(std::time::Instant::now() < until, "it never holds");
        thread::yield_now();
    }
}

fn all(ports: Ports) -> impl Iterator<Item = u16> {
    (0..ports.count).map(move |step| ports.first + step)
}

#[test]
fn reads_reserved_ports_as_the_kernel_writes_them() {
    for (text, expected) in [
        ("", &[][..]),
        ("\n", &[]),
        ("8080\n", &[(8080, 8080)]),
        ("8080,9000-9010\n", &[(8080, 8080), (9000, 9010)]),
        ("0-65535", &[(0, 65_535)]),
        // What cannot be is left out, and the rest is respected.
        ("1,x,2-,-3,70000,5-6", &[(1, 1), (5, 6)]),
    ] {
        assert_eq!(Reserved::parse(text).0, expected, "{text:?}");
    }
}

#[test]
fn a_block_touches_what_is_reserved_where_they_share_a_port() {
    let block = Ports { first: 40_000, count: 32 };
    for (from, to, touches) in [
        (39_990, 39_999, false),
        (39_990, 40_000, true),
        (40_005, 40_006, true),
        (30_000, 50_000, true),
        (40_031, 40_031, true),
        (40_032, 40_040, false),
    ] {
        assert_eq!(Reserved(vec![(from, to)]).touches(block), touches, "{from} to {to}");
    }
    let last = Ports { first: 65_472, count: 64 };
    assert!(Reserved(vec![(65_535, 65_535)]).touches(last));
}

#[test]
fn a_reservation_is_an_aligned_block_of_ephemeral_ports_that_nobody_else_can_bind() {
    in_namespace(&[], || {
        netns::loopback_up().unwrap();
        for (count, rounded) in [(0, 1), (1, 1), (3, 4), (64, 64), (1024, 1024), (u16::MAX, 1024)] {
            let reservation = Reservation::new(count, 4711).unwrap();
            let ports = reservation.ports();
            assert_eq!((ports.count, ports.first % rounded), (rounded, 0));
            let (low, high) = limits::ephemeral_ports().unwrap();
            assert!(all(ports).all(|port| (low..=high).contains(&port)), "{ports:?}");
            for port in all(ports) {
                for address in ["0.0.0.0", "127.0.0.1", "::", "::1"] {
                    let address: std::net::IpAddr = address.parse().unwrap();
                    // A listener of the standard library reuses addresses where that is allowed.
                    let error = TcpListener::bind((address, port)).unwrap_err();
                    assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{address} {port}");
                }
            }
            drop(reservation);
            at_last(|| TcpListener::bind(("127.0.0.1", ports.first)).is_ok());
        }
    });
}

#[test]
fn reservations_do_not_share_ports_wherever_they_begin_to_look() {
    in_namespace(&[], || {
        let many: Vec<_> = (0..20).map(|_| Reservation::new(64, 7).unwrap().into_ports()).collect();
        let mut ports: Vec<u16> = many.iter().flat_map(|(ports, _)| all(*ports)).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 20 * 64);
    });
}

impl Reservation {
    /// Its ports, and what keeps them.
    fn into_ports(self) -> (Ports, Self) {
        (self.ports, self)
    }
}

#[test]
fn a_block_in_which_somebody_has_a_port_is_left_alone() {
    let settings = [("ip_local_port_range", "40000 40127")];
    for start in 0..4 {
        let first = in_namespace(&settings, || {
            let _taken = TcpListener::bind("0.0.0.0:40070").unwrap();
            Reservation::new(64, start).unwrap().ports().first
        });
        assert_eq!(first, 40_000, "beginning to look at {start}");
    }
    in_namespace(&settings, || {
        let taken = TcpListener::bind("0.0.0.0:40070").unwrap();
        // What is left is a smaller block, and so on.
        let mut all_of_them: Vec<_> = (0..).map_while(|_| Reservation::new(64, 1).ok()).collect();
        let counts: Vec<_> = all_of_them.iter().map(|it| it.ports().count).collect();
        assert!(counts.starts_with(&[64, 32, 16, 8, 4, 2]), "{counts:?}");
        let error = Reservation::new(64, 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        all_of_them.clear();
        drop(taken);
        at_last(|| Reservation::new(64, 1).unwrap().ports() == Ports { first: 40_064, count: 64 });
    });
}

#[test]
fn ports_that_are_set_aside_for_a_service_are_left_alone() {
    let settings =
        [("ip_local_port_range", "40000 40255"), ("ip_local_reserved_ports", "40001,40130-40200")];
    for start in 0..8 {
        assert_eq!(first_port(&settings, start), 40_064, "beginning to look at {start}");
    }
    // Many of them, too.
    let settings = [
        ("ip_local_port_range", "32768 60999"),
        ("ip_local_reserved_ports", "32768-50000,50112-60999"),
    ];
    for start in (0..5000).step_by(499) {
        assert_eq!(first_port(&settings, start), 50_048, "beginning to look at {start}");
    }
    let settings = [("ip_local_reserved_ports", "1024-65535")];
    let error = in_namespace(&settings, || Reservation::new(16, 5).unwrap_err());
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
}

#[test]
fn odd_ranges_of_ephemeral_ports_are_no_trouble() {
    for (low, high, largest) in [
        (65_500, 65_535, 32),
        (32_769, 32_800, 16),
        (1024, 1024, 1),
        (1024, 65_535, 64),
        (65_535, 65_535, 1),
    ] {
        in_namespace(&[("ip_local_port_range", &format!("{low} {high}"))], || {
            let ports = Reservation::new(64, u16::MAX).unwrap().ports();
            assert!(all(ports).all(|port| (low..=high).contains(&port)), "{ports:?}");
            assert_eq!((ports.count, ports.first % ports.count), (largest, 0), "{low} to {high}");
        });
    }
}
