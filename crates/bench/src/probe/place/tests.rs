use super::*;

#[test]
fn a_silent_target_is_asked_a_few_times_only() {
    let silent = Target::Silent { port: OPEN_PORT };
    assert_eq!([1, 10_000, 100_000].map(|size| silent.checks(size)), [1, 1, 10]);
    assert_eq!(silent.checks(u64::MAX), 100);
    assert_eq!(Target::Loopback { port: OPEN_PORT }.checks(100_000), 100_000);
}

#[test]
fn the_source_is_in_the_network_of_the_target() {
    let (open, silent) = (Target::Loopback { port: 80 }, Target::Silent { port: 80 });
    assert!(open.source().is_loopback() && open.address().ip().is_loopback());
    let network = |address: Ipv4Addr| address.octets()[..3].to_vec();
    assert_eq!(network(silent.source()), network(*silent.address().ip()));
}
