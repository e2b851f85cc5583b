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
    let refused = Totals { refused: 4, ..Totals::default() };
    let mut closed = flow("curl", "nobody", 8080, refused);
    closed.active.connections = 0;
    closed.server = portolan_flow::End::unobserved([10, 0, 0, 2].into());
    let flows = fold(vec![dns, redis, closed]);
    let mut sum = portolan_flow::Traffic { span_ms: 1000, ..Default::default() };
    flows.iter().for_each(|flow| sum.add(&flow.traffic.as_ref().expect("traced").counted_once()));
    let summary = Summary {
        time_ms: 1_795_284_000_000,
        interval_ms: 1000,
        edges: 3,
        listeners: 4,
        up: 2,
        traffic: Some(sum),
        overflow: Totals { opened: 1, bytes_sent: 10, ..Totals::default() },
        losses: vec![("overflow", 1), ("queue_full", 0), ("untracked", 0)],
    };
    Interval { flows, summary }
}

#[test]
fn the_format_is_what_the_test_vector_has() {
    let mut out = Vec::new();
    let method = Method { method: "bundle", attach: Some(Attach::TpBtf) };
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

#[test]
fn a_method_that_counts_nothing_says_nothing_of_it() {
    let mut out = Vec::new();
    let method = Method { method: "snapshot", attach: None };
    write(&Interval::default(), method, &mut out).expect("a vector takes all");
    let line: serde_json::Value = serde_json::from_slice(&out).expect("one object");
    assert_eq!(line["totals"], serde_json::json!({}));
    assert_eq!(line["losses"], serde_json::json!({}));
    assert_eq!((&line["attach"], &line["edges"]), (&serde_json::Value::Null, &0.into()));
}
