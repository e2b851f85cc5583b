use std::net::Ipv4Addr;

use super::super::{
    Format, Shown,
    sample::{HOSTILE, closed, filtered, findings, open, ports, written},
};

const TOGETHER: &str = include_str!("../vectors/together.gnmap");
const APART: &str = include_str!("../vectors/apart.gnmap");

fn grepable(
    shown: Shown,
    checks: u64,
    findings: &[(super::super::Finding, Option<&str>)],
) -> String {
    written(Format::Grepable, shown, (checks, 1_000), findings)
}

#[test]
fn hosts_stand_in_order_with_their_ports() {
    assert_eq!(grepable(Shown::Usual, 12, &findings()), TOGETHER);
}

#[test]
fn beyond_the_limit_open_ports_come_by_themselves() {
    assert_eq!(grepable(Shown::Usual, 1_001, &findings()), APART);
}

#[test]
fn of_a_sweep_the_hosts_that_answered_are_shown() {
    let text = grepable(Shown::Usual, 65, &findings());
    let expected = TOGETHER.lines().filter(|line| {
        !["10.0.0.3 ", "10.0.0.4 ", "10.0.0.6 ", "10.0.0.7 "].iter().any(|host| line.contains(host))
    });
    assert!(text.lines().eq(expected), "{text}");
    assert_eq!(grepable(Shown::Every, 65, &findings()), TOGETHER);
}

#[test]
fn only_open_ports_are_shown_where_that_is_asked() {
    let text = grepable(Shown::Open, 12, &findings());
    assert!(text.contains("Host: 10.0.0.2 ()\tPorts: 22/open/tcp//ssh///\n"), "{text}");
    assert!(!text.contains("closed") && !text.contains("filtered"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("Status: Up")).count(), 5);
}

#[test]
fn many_ports_in_one_state_are_summed_up() {
    let host = Ipv4Addr::new(10, 0, 0, 1);
    let many: Vec<String> = ports(host, 1000..1026).collect();
    let mut all: Vec<_> = many.iter().map(|target| (closed(target), None)).collect();
    all.push((open("10.0.0.1:22"), None));
    let text = grepable(Shown::Usual, 2, &all);
    assert!(text.contains("\tPorts: 22/open/tcp//ssh///\tIgnored State: closed (26)\n"), "{text}");
    assert!(!grepable(Shown::Every, 2, &all).contains("Ignored"));
    assert!(!grepable(Shown::Usual, 2, &all[1..]).contains("Ignored"));
    // There is room for one state only; nothing may be missing.
    all.extend(ports(host, 2000..2030).map(|target| (filtered(&target), None)));
    let text = grepable(Shown::Usual, 2, &all);
    assert!(text.contains("Ignored State: filtered (30)"), "{text}");
    assert_eq!(text.matches("/closed/").count(), 26);
}

#[test]
fn hostile_names_stay_within_their_parentheses() {
    let targets = [(open("10.0.0.1:22"), Some(HOSTILE))];
    for checks in [1, 2_000] {
        let text = grepable(Shown::Usual, checks, &targets);
        let hosts: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(text.lines().count(), hosts.len() + 2, "{text}");
        for line in hosts {
            let (head, rest) = line.split_once('\t').expect("a tab");
            assert!(!rest.contains('\t'));
            let name = head.strip_prefix("Host: 10.0.0.1 (").and_then(|it| it.strip_suffix(')'));
            let name = name.expect("a name");
            assert!(!name.contains(|c: char| c.is_control() || " ()/,".contains(c)), "{name}");
        }
    }
}
