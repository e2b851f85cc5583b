use std::collections::{BTreeMap, HashSet};

use portolan_flow::{Flow, Totals, Traffic, Transport};

use super::base_name;
use crate::{
    metrics::{Interval, MapUse, Metrics, Settings},
    sample::{counted, flow, process, remote},
};

const VECTOR: &str = include_str!("vector.txt");

/// A client here, a server here, both here, and UDP.
pub(in crate::metrics) fn sample() -> Metrics {
    let metrics = Metrics::new(Settings { series_max: 4, ..Settings::default() }, 1_000_000);
    let client = Totals {
        opened: 3,
        closed: 2,
        refused: 1,
        bytes_sent: 300,
        bytes_received: 70_000,
        rtt_us_sum: 750,
        rtt_samples: 3,
        duration_us_sum: 1_500_000,
        ..Totals::default()
    };
    let server = Totals { resets: 1, opened: 5, bytes_received: 50, ..Totals::default() };
    let outward = counted(flow(process("curl", "10.0.0.1"), remote("192.0.2.9"), 443), client);
    let mut inward =
        counted(flow(remote("198.51.100.7"), process("nginx", "10.0.0.1"), 80), server);
    swap(&mut inward);
    let local = flow(process("app\"\\\n", "127.0.0.1"), process("postgres", "127.0.0.1"), 5432);
    let datagrams = Totals { datagrams_sent: 2, bytes_sent: 80, ..Totals::default() };
    let udp = counted(flow(process("dig", "10.0.0.1"), remote("10.0.0.53"), 53), datagrams);
    let udp = Flow { transport: Transport::Udp, ..udp };
    let more = counted(flow(process("late", "10.0.0.1"), remote("10.0.0.2"), 1), client);
    metrics.add(&Interval {
        flows: &[outward, inward, local, udp, more],
        overflow: Some(&Totals { opened: 1, bytes_sent: 9, ..Totals::default() }),
        losses: &[("overflow", 1), ("stale", 0)],
        map: Some(MapUse { entries: 5, capacity: 16_384 }),
        now_ms: 1_001_500,
    });
    metrics
}

/// As the server's end saw it.
fn swap(flow: &mut Flow) {
    if let Some(traffic) = &mut flow.traffic {
        let Traffic { active, passive, .. } = &mut **traffic;
        std::mem::swap(active, passive);
    }
}

/// After a change that is meant, run the tests once with PORTOLAN_WRITE_VECTORS set.
#[test]
fn the_page_is_the_vector() {
    let version = concat!("version=\"", env!("CARGO_PKG_VERSION"), "\"");
    let page = sample().exposition().replace(version, "version=\"0\"");
    if std::env::var_os("PORTOLAN_WRITE_VECTORS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/exposition/vector.txt");
        std::fs::write(path, &page).expect("the vector is written");
    }
    assert_eq!(page.lines().collect::<Vec<_>>(), VECTOR.lines().collect::<Vec<_>>());
}

#[test]
fn pages_are_well_formed() {
    for page in [Metrics::new(Settings::default(), 0).exposition(), sample().exposition()] {
        check(&page);
    }
    let hostile =
        ["\n", "\"", "\\", "a\",x=\"b", "\r", "\0", "\u{2028}", "{}", "# EOF\n", "\u{fffd}"];
    let flow_of = |name: &&str| flow(process(name, "10.0.0.1"), remote("10.0.0.2"), 80);
    let flows: Vec<Flow> = hostile.iter().map(flow_of).collect();
    let metrics = Metrics::new(Settings::default(), 0);
    metrics.add(&Interval { flows: &flows, now_ms: 1, ..Interval::default() });
    let seen = check(&metrics.exposition());
    let active = &seen["portolan_flow_connection_active"];
    let names: HashSet<_> =
        active.iter().filter_map(|labels| labels.get("client_process")).collect();
    let expected: HashSet<String> =
        hostile.iter().map(|name| crate::identity::printable(name).into_owned()).collect();
    assert_eq!(names, expected.iter().collect::<HashSet<_>>());
}

#[test]
fn no_label_is_a_port_of_a_client() {
    let allowed = [
        "client_address",
        "client_process",
        "error_type",
        "le",
        "network_io_direction",
        "network_transport",
        "reason",
        "role",
        "server_address",
        "server_port",
        "server_process",
        "version",
    ];
    for labels in check(&sample().exposition()).values().flatten() {
        for name in labels.keys() {
            assert!(allowed.contains(&name.as_str()), "{name}");
        }
    }
}

#[test]
fn names_of_prometheus_follow_from_those_of_opentelemetry() {
    assert_eq!(base_name("flow.tcp.rtt"), "portolan_flow_tcp_rtt");
    assert_eq!(base_name("portolan.lost"), "portolan_lost");
}

type LabelSet = BTreeMap<String, String>;

/// Reads a page as strictly as OpenMetrics 1.0 does, and gives the labels of each sample's name.
fn check(page: &str) -> BTreeMap<String, Vec<LabelSet>> {
    let body = page.strip_suffix("# EOF\n").expect("a page ends with EOF");
    let (mut families, mut samples) = (HashSet::new(), HashSet::new());
    let mut family = (String::new(), String::new());
    let mut seen: BTreeMap<String, Vec<LabelSet>> = BTreeMap::new();
    for line in body.split_terminator('\n') {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (what, name) = (words.next().expect("a kind"), words.next().expect("a name"));
            let rest = words.next().expect("a text").to_owned();
            match what {
                "HELP" => assert!(families.insert(name.to_owned()), "{name} is there twice"),
                "TYPE" => family = (name.to_owned(), rest),
                "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, labels, value) = sample_of(line);
        let suffix = name.strip_prefix(&family.0).unwrap_or_else(|| panic!("{line}"));
        let is_known = match family.1.as_str() {
            "counter" => suffix == "_total",
            "gauge" => suffix.is_empty(),
            "info" => suffix == "_info",
            "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
            _ => false,
        };
        assert!(is_known, "{line} is no {}", family.1);
        assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
        assert!(samples.insert((name.clone(), labels.clone())), "{line} is there twice");
        seen.entry(name).or_default().push(labels);
    }
    for (name, buckets) in seen.iter().filter(|(name, _)| name.ends_with("_bucket")) {
        assert!(buckets.iter().all(|labels| labels["le"] == "+Inf"), "{name}");
        let counts = name.replace("_bucket", "_count");
        assert_eq!(buckets.len(), seen[&counts].len(), "each histogram has one bucket");
    }
    seen
}

/// A sample's name, labels and value.
fn sample_of(line: &str) -> (String, LabelSet, &str) {
    let end = line.find(['{', ' ']).expect("a name ends");
    let (name, mut rest) = line.split_at(end);
    let mut labels = LabelSet::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label");
            assert!(label.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            let (text, after) = unescape(after);
            assert!(labels.insert(label.to_owned(), text).is_none(), "{line}");
            rest = after;
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').expect("labels end");
    }
    (name.to_owned(), labels, rest.strip_prefix(' ').expect("a value"))
}

fn unescape(text: &str) -> (String, &str) {
    let mut plain = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (plain, &text[at + 1..]),
            '\\' => plain.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, same @ ('\\' | '"'))) => same,
                other => panic!("no escape: {other:?}"),
            }),
            _ => plain.push(character),
        }
    }
    panic!("{text} does not end")
}
