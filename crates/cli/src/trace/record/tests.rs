use portolan_flow::{Transport, fold};

use super::*;
use crate::trace::{
    sample::{end, flow, opened},
    summary::{Interval, Summary},
};

/// An interval as docs/formats/trace.md describes it.
const VECTOR: &str = include_str!("vectors/trace-v1.jsonl");

fn interval() -> Interval {
    let mut dns = flow("dig", "named", 53, Totals::default());
    dns.transport = Transport::Udp;
    dns.active.connections = 0;
    dns.server = portolan_flow::End::unobserved([10, 0, 0, 53].into());
    dns.guessed = true;
    let traffic = dns.traffic.as_mut().expect("traced");
    traffic.active = Totals {
        bytes_sent: 60,
        bytes_received: 120,
        datagrams_sent: 2,
        datagrams_received: 1,
        ..Totals::default()
    };
    let mut redis = flow("redis-cli", "redis-server", 6379, opened(3));
    redis.server = end("redis-server", [10, 0, 0, 1]);
    // The other end's view of the same: of one connection, more than the client has read so far.
    redis.traffic.as_mut().expect("traced").passive = Totals {
        opened: 3,
        closed: 2,
        bytes_sent: 6500,
        bytes_received: 300,
        duration_us_sum: 3100,
        ..Totals::default()
    };
    let refused = Totals { refused: 4, ..Totals::default() };
    let mut closed = flow("curl", "nobody", 8080, refused);
    closed.active.connections = 0;
    closed.server = portolan_flow::End::unobserved([10, 0, 0, 2].into());
    let flows = fold(vec![dns, redis, closed]);
    let mut sum = Traffic { span_ms: 1000, ..Traffic::default() };
    let mut ends = sum;
    for traffic in flows.iter().map(|flow| flow.traffic.as_ref().expect("traced")) {
        sum.add(&traffic.counted_once());
        ends.add(traffic);
    }
    let summary = Summary {
        time_ms: 1_795_284_000_000,
        interval_ms: 1000,
        edges: 3,
        listeners: 4,
        up: 2,
        traffic: Some(sum),
        ends,
        overflow: Totals { opened: 1, bytes_sent: 10, ..Totals::default() },
        losses: vec![("overflow", 1), ("queue_full", 0), ("untracked", 0)],
    };
    Interval { flows, summary }
}

#[test]
fn the_format_is_what_the_test_vector_has() {
    let mut out = Vec::new();
    let (attach, udp_attach) = (Some(Attach::TpBtf), Some(UdpAttach::Fentry));
    let method = Method { method: "bundle", attach, udp_attach };
    write(&interval(), method, &mut out).expect("a vector takes all");
    let written = String::from_utf8(out).expect("text");
    assert_eq!(written, VECTOR);
}

#[test]
fn an_edge_is_a_flow_record_with_its_time() {
    let first = VECTOR.lines().next().expect("an edge");
    let record: Record =
        serde_json::from_str(first).expect("a reader ignores what it does not know");
    assert_eq!(Some(record), interval().flows.first().map(Record::from));
}

/// Sums over intervals are of one end: what the two told together would count the bytes twice that
/// one end saw before and the other after a reading.
#[test]
fn each_end_tells_what_it_counted() {
    let line = VECTOR.lines().nth(1).expect("an edge with both ends");
    let edge: serde_json::Value = serde_json::from_str(line).expect("one object");
    assert_eq!(edge["bytes_to_client"], 6500);
    assert_eq!(edge["active"]["bytes_received"], 6000);
    assert_eq!(edge["passive"]["bytes_sent"], 6500);
    let fields = edge["active"].as_object().map(|counts| counts.keys().len());
    assert_eq!(fields, Some(COUNTS.len()), "zero counts are told, too");
}

#[test]
fn a_method_that_counts_nothing_says_nothing_of_it() {
    let mut out = Vec::new();
    let method = Method { method: "snapshot", attach: None, udp_attach: None };
    write(&Interval::default(), method, &mut out).expect("a vector takes all");
    let line: serde_json::Value = serde_json::from_slice(&out).expect("one object");
    assert_eq!(line["totals"], serde_json::json!({}));
    assert_eq!(line["losses"], serde_json::json!({}));
    assert_eq!((line.get("active"), line.get("passive")), (None, None));
    let null = &serde_json::Value::Null;
    assert_eq!((&line["attach"], &line["udp_attach"], &line["edges"]), (null, null, &0.into()));
}
