//! What went over an edge in the span of a reading.

use super::*;
use crate::edge::Edge;

fn some() -> Totals {
    Totals { opened: 12, closed: 12, bytes_sent: 100, bytes_received: 900, ..Totals::default() }
}

fn only_edge(live: &Live) -> &Edge {
    let [edge] = &live.edges.values().collect::<Vec<_>>()[..] else {
        panic!("{:?}", edge_ids(live))
    };
    edge
}

fn in_span(span_ms: u64, flow: Flow) -> Flow {
    let traffic = flow.traffic.map(|traffic| Box::new(Traffic { span_ms, ..*traffic }));
    Flow { traffic, ..flow }
}

#[test]
fn what_came_and_went_within_a_reading_is_an_edge_like_any_other() {
    let mut live = live();
    let delta = take(&mut live, reading(vec![counted(psql(), some())], vec![]), 1_000);
    let edge = delta.edges[0].reply(0);
    assert!(edge.live && !edge.failing && delta.nodes.iter().all(|node| node.live));
    assert_eq!((edge.connections, edge.traffic.opened), (0, Some(12)));
    assert_eq!(edge.traffic, edge.flows[0].record.traffic);
    assert_eq!(live.unsaved(&delta.edges).edges.len(), 1);
    check(&live);
}

#[test]
fn traffic_is_that_of_the_last_reading() {
    let mut live = live();
    let busy = Flow { traffic: counted(psql(), some()).traffic, ..psql() };
    take(&mut live, reading(vec![busy.clone()], vec![]), 1_000);
    let delta = take(&mut live, reading(vec![psql()], vec![]), 2_000);
    assert_eq!((delta.edges.len(), delta.edges[0].traffic()), (1, None));
    assert!(!delta.edges[0].counts_traffic());
    take(&mut live, reading(vec![busy], vec![]), 3_000);
    assert!(only_edge(&live).counts_traffic());
    assert!(live.outdated().edges.iter().all(|row| row.what.traffic.is_none()));
    let delta = take(&mut live, reading(vec![], vec![]), 4_000);
    assert_eq!(delta.edges[0].traffic(), None);
    assert!(!delta.edges[0].live());
}

#[test]
fn only_an_edge_whose_traffic_changed_is_announced() {
    let mut live = live();
    let other = || counted(flow(process("curl", "127.0.0.1"), postgres(), 5432), some());
    take(&mut live, reading(vec![counted(psql(), some()), other()], vec![]), 1_000);
    // As much in about the same time.
    let late = in_span(1_050, other());
    let same = take(&mut live, reading(vec![counted(psql(), some()), late], vec![]), 2_000);
    assert!(same.is_empty(), "{same:?}");
    let more = Totals { opened: 13, ..some() };
    let delta = take(&mut live, reading(vec![counted(psql(), more), other()], vec![]), 3_000);
    let ids: Vec<&str> = delta.edges.iter().map(|edge| &*edge.id).collect();
    assert_eq!((ids, delta.nodes.len()), (vec![PSQL], 0));
    // As much in half the time is twice the rate.
    let fast = in_span(500, other());
    let delta = take(&mut live, reading(vec![counted(psql(), more), fast], vec![]), 4_000);
    assert_eq!(delta.edges.len(), 1);
}

#[test]
fn an_edge_sums_what_its_flows_counted_at_either_end() {
    let mut live = live();
    let at = |address: &str| {
        flow(process("curl", "10.0.0.9"), unit("nginx", "nginx.service", address), 80)
    };
    let sums = |opened, rtt: u64| Totals {
        opened,
        rtt_us_sum: rtt * opened,
        rtt_samples: opened,
        ..Totals::default()
    };
    let one = counted(at("10.0.0.1"), sums(3, 100));
    let mut other = counted(at("10.0.0.2"), Totals::default());
    other.traffic.iter_mut().for_each(|traffic| traffic.passive = sums(1, 300));
    let delta = take(&mut live, reading(vec![one, other], vec![]), 1_000);
    let reply = delta.edges[0].reply(0);
    assert_eq!(reply.flows.len(), 2);
    assert_eq!((reply.traffic.opened, reply.traffic.rtt_us), (Some(4), Some(150)));
    assert_eq!(reply.traffic.duration_us, None);
}

#[test]
fn an_edge_fails_if_nothing_of_it_works() {
    let failing = |flow: Flow| {
        let mut live = live();
        take(&mut live, reading(vec![flow], vec![]), 1_000);
        let edge = only_edge(&live);
        assert_eq!(edge.reply(0).failing, edge.failing());
        edge.failing()
    };
    let refused = Totals { refused: 2, ..Totals::default() };
    assert!(failing(counted(psql(), refused)));
    assert!(failing(counted(psql(), Totals { timed_out: 1, closed: 1, ..Totals::default() })));
    assert!(!failing(counted(psql(), Totals { opened: 1, ..refused })), "some come up");
    assert!(!failing(Flow { traffic: counted(psql(), refused).traffic, ..psql() }), "one is up");
    assert!(!failing(counted(psql(), Totals { opened: 1, ..Totals::default() })));
    assert!(!failing(psql()));
}
