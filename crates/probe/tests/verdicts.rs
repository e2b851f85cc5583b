//! Every method gives the same verdicts, over both families, against the real kernel: what
//! [`Method`](portolan_probe::Method) promises, tested once for all who implement it.

mod world;

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use portolan_probe::{Evidence, Finding, MethodName, Pace, Plan, Probe, Reason, Session, Verdict};
use rustix::io::Errno;
use world::{
    World, accepts, half_open, in_namespace, in_world, ip, listener, packets_sent, tcp_counter,
    until,
    ways::{Way, check, check_all, turn_until, v4, v6},
};

/// A target of a kind, by its number.
type Numbered = fn(u16) -> SocketAddr;

const OPEN: (Verdict, Evidence) = (Verdict::Open, Evidence::SynAck);
const CLOSED: (Verdict, Evidence) = (Verdict::Closed, Evidence::Reset);
const SILENT: (Verdict, Evidence) = (Verdict::Filtered, Evidence::Silence);

/// Longer than any answer takes, on any machine.
const PATIENT: Duration = Duration::from_secs(20);

#[test]
fn open_closed_and_silent() {
    in_world(|world| {
        world.lives();
        world.forwards();
        let _server = world.listens(80);
        for way in Way::ALL {
            let mut session = way.session(Plan::new(PATIENT, 2));
            for (lives, silent) in [(v4(77, 7), v4(82, 7)), (v6(0xfd77, 7), v6(0xfd82, 7))] {
                for (port, expected) in [(80, OPEN), (81, CLOSED)] {
                    let finding = check(&mut session, SocketAddr::new(lives, port));
                    assert_eq!(said(&finding), expected, "{way}: {finding:?}");
                    assert_eq!(finding.method, way.method);
                }
                session.set_plan(Plan::new(Duration::from_millis(300), 2));
                let finding = check(&mut session, SocketAddr::new(silent, 80));
                assert_eq!(said(&finding), SILENT, "{way}: {finding:?}");
                assert_eq!(finding.attempts, 3, "{way}");
                assert!(finding.took >= Duration::from_millis(300), "{way}: {finding:?}");
                session.set_plan(Plan::new(PATIENT, 2));
            }
        }
    });
}

#[test]
fn this_host_itself() {
    in_world(|world| {
        let _server = listener("[::]:80".parse().unwrap());
        let _far = world.listens(80);
        for way in Way::ALL {
            let mut session = way.session(Plan::new(PATIENT, 2));
            // Loopback, the other end of the link, this end of it, and how loopback may be written.
            for address in ["127.0.0.1", "127.9.9.9", "::1", "10.78.0.2", "fd78::2"]
                .into_iter()
                .chain(["10.78.0.1", "fd78::1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
            {
                let address = address.parse().unwrap();
                let finding = check(&mut session, SocketAddr::new(address, 80));
                assert_eq!(said(&finding), OPEN, "{way}: {finding:?}");
                let finding = check(&mut session, SocketAddr::new(address, 81));
                assert_eq!(said(&finding), CLOSED, "{way}: {finding:?}");
            }
        }
    });
}

#[test]
fn routers_that_refuse() {
    let icmp = |reason, kind, code| (Verdict::Unreachable(reason), Evidence::Icmp { kind, code });
    let cases = [
        (v4(81, 0x101), icmp(Reason::Host, 3, 1)),
        (v4(81, 0x201), icmp(Reason::Prohibited, 3, 13)),
        (v4(81, 0x301), icmp(Reason::Network, 3, 0)),
        (v4(81, 0x401), icmp(Reason::HopLimit, 11, 0)),
        // An unreachable route has the code of no route there.
        ("fd81:1::1".parse().unwrap(), icmp(Reason::Network, 1, 0)),
        ("fd81:2::1".parse().unwrap(), icmp(Reason::Prohibited, 1, 1)),
        ("fd81:3::1".parse().unwrap(), icmp(Reason::Network, 1, 0)),
        ("fd81:4::1".parse().unwrap(), icmp(Reason::HopLimit, 3, 0)),
    ];
    for way in Way::ALL {
        // The kernel refuses a host of IPv4 five times and then rarely (net.ipv4.route.error_cost),
        // so each way has a world to itself.
        in_world(move |world| {
            world.forwards();
            let mut session = way.session(Plan::new(PATIENT, 2));
            let targets = cases.map(|(address, _)| SocketAddr::new(address, 80));
            let findings = check_all(&mut session, &targets);
            for (finding, (_, expected)) in findings.iter().zip(cases) {
                assert_eq!(said(finding), expected, "{way}: {finding:?}");
            }
        });
    }
}

#[test]
fn a_neighbour_that_does_not_answer() {
    in_world(|world| {
        world.forwards();
        let patience = |device: &str| {
            for family in ["ipv4", "ipv6"] {
                world::set(&format!("{family}/neigh/{device}/retrans_time_ms"), "20");
            }
        };
        patience("near");
        world.run(move || {
            patience("far");
            ip(&[
                "route add 10.81.5.0/24 dev far",
                "route add fd81:5::/64 dev far",
                // Nobody answers at near, which has neither address.
            ]);
        });
        for way in Way::ALL {
            let mut session = way.session(Plan::new(PATIENT, 0));
            let host =
                |kind, code| (Verdict::Unreachable(Reason::Host), Evidence::Icmp { kind, code });
            // This host is the one that finds out first, then the router.
            for (address, expected) in [
                ("10.78.0.77", host(3, 1)),
                ("fd78::77", host(1, 3)),
                ("10.81.5.1", host(3, 1)),
                ("fd81:5::1", host(1, 3)),
            ] {
                // Past IP, this host's kernel does not ask, and silence is silence: on_link.rs.
                if way == Way::PAST_IP && address == "10.78.0.77" {
                    continue;
                }
                let target = SocketAddr::new(address.parse().unwrap(), 80);
                let finding = check(&mut session, target);
                assert_eq!(said(&finding), expected, "{way}: {finding:?}");
            }
        }
    });
}

#[test]
fn this_host_refuses() {
    in_world(|_world| {
        ip(&[
            "route add unreachable 10.9.1.0/24",
            "route add prohibit 10.9.2.0/24",
            "route add blackhole 10.9.3.0/24",
            "route add unreachable fd09:1::/64",
            "route add prohibit fd09:2::/64",
            "route add blackhole fd09:3::/64",
        ]);
        let refused = |reason, errno: Errno| {
            (Verdict::Unreachable(reason), Evidence::Refusal(errno.raw_os_error()))
        };
        let cases = [
            ("10.9.1.1", refused(Reason::Host, Errno::HOSTUNREACH)),
            ("10.9.2.1", refused(Reason::Prohibited, Errno::ACCESS)),
            ("10.9.3.1", refused(Reason::Prohibited, Errno::INVAL)),
            ("10.9.4.1", refused(Reason::Network, Errno::NETUNREACH)),
            ("fd09:1::1", refused(Reason::Host, Errno::HOSTUNREACH)),
            ("fd09:2::1", refused(Reason::Prohibited, Errno::ACCESS)),
            ("fd09:3::1", refused(Reason::Prohibited, Errno::INVAL)),
            ("fd09:4::1", refused(Reason::Network, Errno::NETUNREACH)),
        ];
        for way in Way::ALL {
            let mut session = way.session(Plan::new(PATIENT, 2));
            let targets = cases.map(|(address, _)| SocketAddr::new(address.parse().unwrap(), 80));
            let findings = check_all(&mut session, &targets);
            for (finding, (_, expected)) in findings.iter().zip(cases) {
                assert_eq!(said(finding), expected, "{way}: {finding:?}");
                assert_eq!(finding.attempts, 1, "{way}");
            }
        }
    });
}

#[test]
fn broadcast_and_multicast_are_no_hosts() {
    in_world(|world| {
        world.lives();
        for way in Way::ALL {
            let mut session = way.session(Plan::new(Duration::from_millis(200), 0));
            for address in ["255.255.255.255", "10.78.0.255", "127.255.255.255", "224.0.0.1"] {
                let target = SocketAddr::new(address.parse().unwrap(), 80);
                let finding = check(&mut session, target);
                let refused = finding.verdict == Verdict::Unreachable(Reason::Network);
                assert!(refused, "{way}: {finding:?}");
            }
        }
    });
}

/// Thousands of targets that are open, closed and silent, over both families, in one batch.
#[test]
fn mixed_targets_in_one_batch() {
    in_world(|world| {
        world.lives();
        world.forwards();
        let _server = world.listens(80);
        let kinds: [(Numbered, _); 6] = [
            (|number| SocketAddr::new(v4(77, number), 80), OPEN),
            (|number| SocketAddr::new(v6(0xfd77, number), 80), OPEN),
            (|number| SocketAddr::new(v4(77, number), 81), CLOSED),
            (|number| SocketAddr::new(v6(0xfd77, number), 81), CLOSED),
            (|number| SocketAddr::new(v4(82, number), 80), SILENT),
            (|number| SocketAddr::new(v6(0xfd82, number), 80), SILENT),
        ];
        let of_kind = |kind: Numbered| (1..=500).map(kind);
        let targets: Vec<_> = (0..500)
            .flat_map(|at| kinds.iter().map(move |(kind, _)| of_kind(*kind).nth(at).unwrap()))
            .collect();
        for way in Way::ALL {
            // So long that no answer is late on a busy machine.
            let mut session = way.session(Plan::new(Duration::from_secs(3), 2));
            let findings = check_all(&mut session, &targets);
            for (at, (finding, target)) in findings.iter().zip(&targets).enumerate() {
                assert_eq!(finding.target, *target);
                assert_eq!(said(finding), kinds[at % kinds.len()].1, "{way}: {finding:?}");
            }
        }
    });
}

#[test]
fn a_thousand_checks_are_under_way_at_once_from_one_thread() {
    in_world(|world| {
        world.forwards();
        for way in Way::ALL {
            for address in [|number| v4(82, number), |number| v6(0xfd82, number)] {
                let mut session = way.session(Plan::new(Duration::from_secs(3600), 0));
                for number in 1..=1_000 {
                    let target = SocketAddr::new(address(number), 80);
                    assert!(session.add(target, number.into()), "{way}: room for {number}");
                }
                turn_until(&mut session, |session| session.counts().asked == 1_000);
                assert_eq!(session.next(), None, "{way}: all of them wait");
                if way.method != MethodName::Syn {
                    assert_eq!(half_open(), 1_000, "{way}: so says the kernel");
                }
                session.set_plan(Plan::new(Duration::from_millis(1), 0));
                let mut over = vec![false; 1_001];
                turn_until(&mut session, |session| {
                    while let Some((number, finding)) = session.next() {
                        assert_eq!(said(&finding), SILENT, "{way}");
                        assert!(!std::mem::replace(&mut over[number as usize], true));
                    }
                    session.is_idle()
                });
                assert_eq!(over.iter().filter(|over| **over).count(), 1_000, "{way}");
            }
        }
    });
}

#[test]
fn a_thousand_checks_of_one_silent_target_are_under_way_at_once() {
    in_world(|world| {
        world.forwards();
        for way in Way::ALL {
            let plan = Plan::new(Duration::from_secs(3600), 0);
            let mut session = Session::new(way.open(1_024), plan, Pace::Unlimited);
            for number in 0..1_000 {
                assert!(session.add(SocketAddr::new(v4(82, 1), 80), number), "{way}");
            }
            turn_until(&mut session, |session| session.counts().asked == 1_000);
            assert_eq!(session.next(), None, "{way}: all of them wait");
        }
    });
}

#[test]
fn a_thousand_checks_of_one_open_target_at_once() {
    in_world(|world| {
        world.lives();
        let server = world.listens(80);
        for way in Way::ALL {
            let mut session = way.session(Plan::new(PATIENT, 2));
            for address in [v4(77, 1), v6(0xfd77, 1), IpAddr::from([10, 78, 0, 2])] {
                let targets = [SocketAddr::new(address, 80); 1_000];
                for finding in check_all(&mut session, &targets) {
                    assert_eq!(said(&finding), OPEN, "{way}: {finding:?}");
                }
            }
            while accepts(&server) {}
        }
    });
}

/// The same target again and again, one check after the other, on the source ports that the last
/// ones had.
#[test]
fn the_same_target_many_times() {
    in_world(|world| {
        world.lives();
        let server = world.listens(80);
        for way in Way::ALL {
            let mut session = way.session(Plan::new(PATIENT, 2));
            for address in [v4(77, 1), v6(0xfd77, 1)] {
                for port in [80, 81] {
                    let expected = if port == 80 { OPEN } else { CLOSED };
                    for round in 0..300 {
                        let finding = check(&mut session, SocketAddr::new(address, port));
                        assert_eq!(said(&finding), expected, "{way}, {round}: {finding:?}");
                        assert_eq!(finding.attempts, 1, "{way}: nothing is lost here");
                        accepts(&server);
                    }
                }
            }
        }
    });
}

#[test]
fn segments_per_open_port_are_six_four_three_and_three() {
    const CHECKS: u64 = 1_000;
    for (name, segments) in MethodName::ALL.into_iter().zip([6, 4, 3, 3]) {
        for address in ["127.0.0.1:80", "[::1]:80"] {
            in_namespace(move || {
                let target = address.parse().unwrap();
                let server = listener(target);
                let mut probe = Probe::open(name).expect("needs root, for raw sockets");
                let (before, passive) = (packets_sent("lo"), tcp_counter("PassiveOpens"));
                let (mut accepted, held) = (0, tcp_counter("DelayedACKs"));
                for _ in 0..CHECKS {
                    let finding = probe.check(target, PATIENT).unwrap();
                    assert_eq!((said(&finding), finding.attempts), (OPEN, 1), "{name:?}");
                    accepted += u64::from(accepts(&server));
                }
                let is_quiet = matches!(name, MethodName::Quiet | MethodName::Syn);
                let expected = if is_quiet { 0 } else { CHECKS };
                // What says farewell may take a moment; afterwards nothing follows.
                until("all segments", || packets_sent("lo") - before >= CHECKS * segments);
                // Twice as long as an acknowledgement is held back (TCP_DELACK_MAX).
                std::thread::sleep(Duration::from_millis(400));
                let sent = packets_sent("lo") - before;
                // A FIN is acknowledged by the other FIN, or apart if a tick of the kernel's clock
                // comes between them (tcp_send_delayed_ack in net/ipv4/tcp_output.c).
                let held = tcp_counter("DelayedACKs") - held;
                let apart = if name == MethodName::Connect { held } else { 0 };
                assert_eq!(sent - apart, CHECKS * segments, "{name:?} {address}");
                assert!(!accepts(&server), "{name:?}");
                assert_eq!(accepted, expected, "{name:?}");
                assert_eq!(tcp_counter("PassiveOpens") - passive, expected, "{name:?}");
            });
        }
    }
}

/// A server that accepts at once and speaks first.
#[test]
fn a_server_that_accepts_and_speaks() {
    in_world(|world: World| {
        world.lives();
        let server = world.listens(80);
        let accepting = world::Meanwhile::start(move |stopped| {
            use std::io::Write as _;
            while !stopped.now() {
                if let Ok((mut stream, _)) = server.accept() {
                    let _ = stream.write_all(b"220 ready\r\n");
                } else {
                    std::thread::yield_now();
                }
            }
        });
        for way in Way::ALL {
            let mut session = way.session(Plan::new(PATIENT, 2));
            let targets: Vec<_> =
                (1..200).map(|number| SocketAddr::new(v4(77, number), 80)).collect();
            for finding in check_all(&mut session, &targets) {
                assert_eq!(said(&finding), OPEN, "{way}: {finding:?}");
            }
        }
        accepting.stop();
    });
}

fn said(finding: &Finding) -> (Verdict, Evidence) {
    (finding.verdict, finding.evidence)
}
