use portolan_probe::Finding;

use super::*;
use crate::probe::report::sample::{closed, filtered, findings, open};

fn hosts(findings: &[(Finding, Option<&str>)]) -> Hosts {
    let mut hosts = Hosts::default();
    for (at_ms, &(finding, name)) in (1_000_000..).step_by(1_000).zip(findings) {
        hosts.add(&Found { finding, name, at_ms });
    }
    hosts
}

#[test]
fn addresses_stand_in_the_order_of_numbers() {
    let mut hosts = hosts(&findings());
    let sorted = hosts.sort();
    let addresses: Vec<String> = sorted.hosts().map(|host| host.address().to_string()).collect();
    let expected = [
        "10.0.0.2",
        "10.0.0.3",
        "10.0.0.4",
        "10.0.0.5",
        "10.0.0.6",
        "10.0.0.7",
        "10.0.0.10",
        "2001:db8::1",
        "fe80::1",
    ];
    assert_eq!(addresses, expected);
    assert_eq!(sorted.totals(), Totals { up: 5, down: 3, total: 9 });
}

#[test]
fn of_two_findings_about_a_port_the_later_counts() {
    let target = "10.0.0.1:22";
    let mut hosts = hosts(&[
        (open(target), Some("b")),
        (filtered("10.0.0.1:21"), None),
        (closed(target), Some("a")),
        (open(target), Some("b")),
        (filtered(target), None),
    ]);
    let sorted = hosts.sort();
    let host = sorted.hosts().next().expect("a host");
    let ports: Vec<(u16, Outcome)> = host.ports().map(|held| (held.port, held.outcome)).collect();
    assert_eq!(ports, [(21, Outcome::NoResponse), (22, Outcome::NoResponse)]);
    assert_eq!(host.names(), ["a", "b"]);
    assert_eq!(host.status(), (Status::Down, Outcome::NoResponse));
    assert_eq!(host.ended_s(), 1_004);
    assert_eq!(host.count(State::Filtered), 2);
}

#[test]
fn the_same_address_on_two_links_is_two_hosts() {
    let [mut one, two] = [open("[fe80::1]:22"), open("[fe80::1]:22")];
    if let std::net::SocketAddr::V6(target) = &mut one.target {
        target.set_scope_id(3);
    }
    assert_eq!(hosts(&[(one, None), (two, None)]).sort().hosts().count(), 2);
}

#[test]
fn nothing_found_is_no_host() {
    assert_eq!(Hosts::default().sort().totals(), Totals { up: 0, down: 0, total: 0 });
}
