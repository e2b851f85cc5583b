use std::collections::HashSet;

use super::*;

const OPEN: Target = Target::Loopback { port: 80 };

#[test]
fn no_two_turns_ask_the_same_address() {
    let targets: HashSet<SocketAddrV4> = (0..50_000).map(|turn| OPEN.address(turn)).collect();
    assert_eq!(targets.len(), 50_000);
    assert!(targets.iter().all(|target| target.ip().is_loopback() && target.port() == 80));
}

#[test]
fn a_silent_target_is_asked_a_few_times_only() {
    let silent = Target::Silent { port: 80 };
    assert_eq!([1, 10_000, 100_000].map(|size| silent.checks(size)), [1, 1, 10]);
    assert_eq!(silent.checks(u64::MAX), 100);
    assert_eq!(OPEN.checks(100_000), 100_000);
}

#[test]
fn figures_are_what_the_run_added() {
    let at = |accepted, cpu_us, packets| Counters { served: Served { accepted, cpu_us }, packets };
    let sample = Sample { wall: Duration::from_millis(500), ..Sample::default() };
    let figures = figures(100, &sample, &at(5, 1_000, 7), &at(105, 3_000, 607));
    let values: Vec<(&str, f64)> =
        figures.iter().map(|figure| (figure.name, figure.value)).collect();
    assert_eq!(
        values,
        [
            ("checks_per_second", 200.0),
            ("packets_per_check", 6.0),
            ("accepts", 100.0),
            ("server_cpu_us", 2_000.0),
        ]
    );
}
