use std::net::Ipv4Addr;

use portolan_probe::{Finding, MethodName};

use super::*;
use crate::probe::report::{
    Format,
    sample::{HOSTILE, closed, filtered, findings, open, ports, start, written},
};

const TOGETHER: &str = include_str!("../vectors/together.xml");
const APART: &str = include_str!("../vectors/apart.xml");

fn xml(shown: Shown, checks: u64, findings: &[(Finding, Option<&str>)]) -> String {
    written(Format::Xml, shown, (checks, 1_000), findings)
}

#[test]
fn hosts_stand_in_order_with_their_ports() {
    assert_eq!(xml(Shown::Usual, 12, &findings()), TOGETHER);
    ensure_well_formed(TOGETHER);
}

#[test]
fn beyond_the_limit_open_ports_come_by_themselves() {
    assert_eq!(xml(Shown::Usual, 1_001, &findings()), APART);
    ensure_well_formed(APART);
}

#[test]
fn of_a_sweep_the_hosts_that_answered_are_shown() {
    let text = xml(Shown::Usual, 65, &findings());
    assert_eq!(text.matches("<host ").count(), 5);
    assert!(!text.contains("state=\"down\""), "{text}");
    assert!(text.contains("<hosts up=\"5\" down=\"3\" total=\"9\"/>"), "{text}");
    assert_eq!(xml(Shown::Every, 65, &findings()), TOGETHER);
}

#[test]
fn only_open_ports_are_shown_where_that_is_asked() {
    let text = xml(Shown::Open, 12, &findings());
    assert_eq!(text.matches("<port ").count(), 5);
    assert_eq!(text.matches("<state state=\"open\"").count(), 5);
}

#[test]
fn many_ports_in_one_state_are_summed_up() {
    let host = Ipv4Addr::new(10, 0, 0, 1);
    let (many, more): (Vec<String>, Vec<String>) =
        (ports(host, 1000..1026).collect(), ports(host, 2000..2030).collect());
    let quiet = |target| Finding { method: MethodName::Quiet, ..closed(target) };
    let mut all: Vec<_> = many.iter().map(|target| (closed(target), None)).collect();
    all[0].0 = quiet(&many[0]);
    all.extend(more.iter().map(|target| (filtered(target), None)));
    all.push((open("10.0.0.1:22"), None));
    let text = xml(Shown::Usual, 2, &all);
    ensure_well_formed(&text);
    let expected = "<ports><extraports state=\"closed\" count=\"26\">\n\
        <extrareasons reason=\"reset\" count=\"25\" proto=\"tcp\" ports=\"1001-1025\"/>\n\
        <extrareasons reason=\"conn-refused\" count=\"1\" proto=\"tcp\" ports=\"1000\"/>\n\
        </extraports>\n\
        <extraports state=\"filtered\" count=\"30\">\n\
        <extrareasons reason=\"no-response\" count=\"30\" proto=\"tcp\" ports=\"2000-2029\"/>\n\
        </extraports>\n<port protocol=\"tcp\" portid=\"22\"><state state=\"open\"";
    assert!(text.contains(expected), "{text}");
    assert_eq!(xml(Shown::Every, 2, &all).matches("<port ").count(), 57);
}

#[test]
fn the_type_of_the_scan_is_one_that_readers_know() {
    let mut out = Vec::new();
    begin(&start(1), &mut out);
    begin(&Start { method: MethodName::Quiet, ports: &[], ..start(1) }, &mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    let syn = "type=\"syn\" protocol=\"tcp\" numservices=\"7\" services=\"22-24,80,443,4711,5432\"";
    assert!(text.contains(syn), "{text}");
    assert!(text.contains("type=\"connect\" protocol=\"tcp\" numservices=\"0\" services=\"\""));
}

#[test]
fn an_interruption_is_said() {
    let totals = Totals { up: 1, down: 0, total: 1 };
    let summary = Summary { is_complete: false, ..crate::probe::report::sample::summary(&[]) };
    let mut out = Vec::new();
    end(&summary, &totals, &mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.contains("1 IP address (1 host up) scanned in 3.01 seconds\""), "{text}");
    assert!(text.contains("exit=\"error\" errormsg=\"interrupted\"/>"), "{text}");
}

#[test]
fn hostile_text_stays_within_its_attribute() {
    let mut out = Vec::new();
    escaped(HOSTILE, &mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(
        !text.contains(['<', '>', '"', '\'', '\n', '\t', '\0', '\u{1b}', '\u{fffe}']),
        "{text}"
    );
    assert!(text.starts_with("a&quot;&gt;&lt;b&gt;&amp;&apos;\\u{a}"), "{text}");
    assert!(text.ends_with('é'), "{text}");
    let written = xml(Shown::Usual, 1, &[(open("10.0.0.1:22"), Some(HOSTILE))]);
    ensure_well_formed(&written);
}

/// As far as our documents go: elements are closed in order, attributes are quoted, and no
/// character stands where it has a meaning.
fn ensure_well_formed(text: &str) {
    let body = text.split_once("<!DOCTYPE nmaprun>\n").expect("a document type").1;
    let mut within = Vec::new();
    for piece in body.split('<').skip(1) {
        let (tag, after) = piece.split_once('>').expect("a tag ends");
        assert_eq!(after.trim(), "", "no text between elements");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(within.pop(), Some(name));
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let attributes = attributes.strip_suffix('/').unwrap_or(attributes);
        let quoted: Vec<&str> = attributes.split('"').collect();
        assert!(quoted.len() % 2 == 1, "quotes come in pairs: {tag}");
        for pair in quoted.chunks_exact(2) {
            assert!(pair[0].ends_with('='), "{tag}");
            let lone = pair[1].split('&').skip(1).filter(|entity| !entity.contains(';'));
            assert_eq!(lone.count(), 0, "{tag}");
        }
        if !tag.ends_with('/') {
            within.push(name.trim_end_matches('/'));
        }
    }
    assert!(within.is_empty(), "{within:?}");
}
