//! No allocation per check where checks are one after the other.

mod world;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use portolan_probe::{MethodName, Probe, Verdict};
use world::{PATIENCE, in_namespace, listener};

/// How long `syn` takes what it knows of routes for granted, in its own slow clock.
const FRESH: Duration = Duration::from_millis(900);

#[test]
fn a_thousand_checks_allocate_nothing() {
    for name in MethodName::ALL {
        for address in ["127.0.0.1:80", "[::1]:80"] {
            in_namespace(move || allocates_nothing(name, address.parse().unwrap()));
        }
    }
}

fn allocates_nothing(name: MethodName, target: SocketAddr) {
    let server = listener(target);
    let mut probe = Probe::open(name).expect("needs root, for raw sockets");
    let mut check = |target, expected| {
        let mut verdict = None;
        let allocated = allocation_counter::measure(|| {
            verdict = Some(probe.check(target, PATIENCE).unwrap().verdict);
        });
        assert_eq!(verdict, Some(expected), "{name:?} {target}");
        while world::accepts(&server) {}
        allocated.count_total
    };
    let closed = SocketAddr::new(target.ip(), 81);
    for _ in 0..100 {
        check(target, Verdict::Open);
        check(closed, Verdict::Closed);
    }
    // Once in a second the routes are looked at anew. Between two such moments, there is nothing;
    // a machine that is too busy for that gets another try.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut since = Instant::now();
        while name == MethodName::Syn && check(target, Verdict::Open) == 0 {
            assert!(Instant::now() < deadline, "it never looks at the routes");
            since = Instant::now();
        }
        let allocated: u64 = (0..1_000).map(|_| check(target, Verdict::Open)).sum::<u64>()
            + (0..1_000).map(|_| check(closed, Verdict::Closed)).sum::<u64>();
        if since.elapsed() < FRESH {
            assert_eq!(allocated, 0, "{name:?} {target}");
            return;
        }
        assert!(Instant::now() < deadline, "no 2,000 checks in a second");
    }
}
