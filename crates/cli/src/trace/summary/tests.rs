use std::time::Duration;

use portolan_flow::Transport;

use super::*;
use crate::trace::sample::{config, flow, opened};

fn observed(flows: Vec<Flow>) -> Observed {
    Observed {
        flows,
        losses: vec![("overflow", 0), ("untracked", 2)],
        span: Duration::from_millis(1000),
        ..Observed::default()
    }
}

#[test]
fn totals_are_of_all_in_scope_shown_or_not() {
    let mut udp = flow("dig", "named", 53, Totals { datagrams_sent: 1, ..Totals::default() });
    udp.transport = Transport::Udp;
    let flows = vec![flow("a", "b", 1, opened(2)), flow("c", "d", 2, opened(3)), udp];
    let all = Interval::of(observed(flows.clone()), &config("--port 1"), "");
    assert_eq!((all.flows.len(), all.summary.edges, all.summary.up), (1, 3, 6));
    let traffic = all.summary.traffic.expect("counted");
    assert_eq!((traffic.opened(), traffic.bytes_to_client(), traffic.span_ms), (5, 10_000, 1000));
    let ends = all.summary.ends;
    assert_eq!((ends.active.opened, ends.active.datagrams_sent), (5, 1));
    assert!(ends.passive.is_zero());
    let tcp = Interval::of(observed(flows.clone()), &config("--tcp"), "");
    assert_eq!((tcp.flows.len(), tcp.summary.edges), (2, 2));
    let words = Interval::of(observed(flows), &config(""), "dig");
    assert_eq!((words.flows.len(), words.summary.edges), (1, 3));
}

#[test]
fn nothing_that_happened_is_not_nothing_counted() {
    let traced = Interval::of(observed(Vec::new()), &config(""), "");
    assert_eq!(traced.summary.traffic.expect("counted").span_ms, 1000);
    assert!(traced.summary.describe().starts_with("0 edges, 0 up, 0 new/s, 0 B/s to servers"));
    let polled = Interval::of(Observed::default(), &config(""), "");
    assert_eq!(polled.summary.traffic, None);
    assert_eq!(polled.summary.describe(), "0 edges, 0 up");
}

#[test]
fn what_is_missing_is_told_by_reason() {
    let mut interval = Interval::of(observed(Vec::new()), &config(""), "");
    assert_eq!(interval.summary.missing().as_deref(), Some("untracked 2"));
    interval.summary.overflow = Totals { opened: 7, bytes_sent: 10, ..Totals::default() };
    let missing = interval.summary.missing().expect("something is missing");
    assert!(missing.ends_with("in edges without room: 7 opened, 10 bytes, as each end counted"));
    assert_eq!(Summary::default().missing(), None);
}
