//! What anybody can cause is shown, and leaves nothing behind.

use super::*;

/// A service that other hosts reach.
fn served() -> End {
    unit("postgres", "postgresql.service", "10.0.0.1")
}

/// A handshake from elsewhere that has not been finished.
fn syn(from: &str) -> Flow {
    let asking = Counters { opening: 1, ..Counters::default() };
    let flow = flow(remote(from), served(), 5432);
    Flow { active: Counters::default(), passive: asking, ..flow }
}

fn everything(live: &Live) -> usize {
    live.unsaved(&live.edges.values().cloned().collect::<Vec<_>>()).edges.len()
        + live.outdated().edges.len()
}

#[test]
fn an_unfinished_handshake_is_shown_but_not_remembered() {
    let mut live = live();
    let listeners = || vec![listener(served(), 5432)];
    let delta = take(&mut live, reading(vec![syn("192.0.2.7")], listeners()), 1_000);
    assert_eq!((delta.edges.len(), delta.edges[0].opening()), (1, 1));
    assert_eq!(everything(&live), 0);
    check(&live);
    let delta = take(&mut live, reading(vec![], listeners()), 2_000);
    assert_eq!(delta.removed_edges.len(), 1);
    assert_eq!(delta.removed_nodes, ["address:192.0.2.7".into()]);
    assert_eq!((live.edges.len(), live.flows, live.pairs.len()), (0, 0, 0));
    assert!(live.nodes.contains_key("unit:postgresql.service"));
    assert_eq!(everything(&live), 0);
    check(&live);
}

#[test]
fn a_handshake_that_is_finished_is_remembered() {
    let mut live = live();
    take(&mut live, reading(vec![syn("192.0.2.7")], vec![]), 1_000);
    let mut up = flow(remote("192.0.2.7"), served(), 5432);
    up.active = Counters::default();
    let delta = take(&mut live, reading(vec![up], vec![]), 2_000);
    let rows = live.unsaved(&delta.edges);
    assert_eq!((rows.edges.len(), rows.edges[0].first_seen_ms), (1, 1_000));
    // From then on, it stays whatever is seen of it.
    take(&mut live, reading(vec![syn("192.0.2.7")], vec![]), 3_000);
    take(&mut live, reading(vec![], vec![]), 4_000);
    assert_eq!((live.edges.len(), live.nodes.len(), live.outdated().edges.len()), (1, 2, 1));
    check(&live);
}

#[test]
fn one_address_of_an_edge_passes_and_the_other_stays() {
    let mut live = live();
    let to = |address: &str| unit("postgres", "postgresql.service", address);
    let up = || flow(remote("192.0.2.7"), to("10.0.0.1"), 5432);
    let syn = || Flow { server: to("10.0.0.2"), ..syn("192.0.2.7") };
    take(&mut live, reading(vec![up(), syn()], vec![]), 1_000);
    assert_eq!((live.edges.len(), live.flows), (1, 2));
    let delta = take(&mut live, reading(vec![up()], vec![]), 2_000);
    assert_eq!((delta.edges.len(), delta.edges[0].flows.len(), live.flows), (1, 1, 1));
    check(&live);
    take(&mut live, reading(vec![syn()], vec![]), 3_000);
    take(&mut live, reading(vec![], vec![]), 4_000);
    assert_eq!((live.edges.len(), live.flows, live.nodes.len()), (1, 1, 2));
    check(&live);
}

#[test]
fn unfinished_handshakes_push_nothing_out() {
    pushes_nothing_out(Limits { flows_max: 10, nodes_max: 100, ..Limits::default() });
    pushes_nothing_out(Limits { flows_max: 100, nodes_max: 10, ..Limits::default() });
}

fn pushes_nothing_out(limits: Limits) {
    let mut live = Live::new("h", 1_000, limits, Users::default());
    for at in 0..5_u64 {
        let end = process(&format!("p{at}"), "127.0.0.1");
        take(&mut live, reading(vec![flow(end, postgres(), 5432)], vec![]), at * 1_000);
    }
    take(&mut live, reading(vec![], vec![]), 10_000);
    let flood = (1..=50).map(|at| syn(&format!("192.0.2.{at}"))).collect();
    let delta = take(&mut live, reading(flood, vec![]), 11_000);
    assert!(delta.warnings[0].contains("the map is full"), "{delta:?}");
    assert!(delta.removed_edges.is_empty() && delta.removed_nodes.is_empty(), "{delta:?}");
    check(&live);
    take(&mut live, reading(vec![], vec![]), 12_000);
    assert_eq!((live.edges.len(), live.nodes.len()), (5, 6));
}

#[test]
fn handshakes_that_a_process_of_this_host_began_are_remembered() {
    let mut live = live();
    let asking = Counters { opening: 1, ..Counters::default() };
    let waits = flow(process("curl", "10.0.0.1"), remote("192.0.2.7"), 443);
    let waits = Flow { active: asking, passive: Counters::default(), ..waits };
    let delta = take(&mut live, reading(vec![waits], vec![]), 1_000);
    assert_eq!(live.unsaved(&delta.edges).edges.len(), 1);
}

#[test]
fn what_is_left_between_two_ephemeral_ports_is_not_remembered() {
    let left = |port| Flow { guessed: true, ..ended(local("10.0.0.1"), remote("10.0.0.2"), port) };
    let remembered = |flow: Flow| {
        let mut live = live();
        take(&mut live, reading(vec![flow], vec![]), 1_000);
        let saved = everything(&live) > 0;
        take(&mut live, reading(vec![], vec![]), 2_000);
        check(&live);
        assert_eq!(saved, !live.edges.is_empty());
        assert_eq!(saved, !live.nodes.is_empty());
        saved
    };
    assert!(!remembered(left(32_768)) && !remembered(left(60_999)));
    assert!(remembered(left(32_767)) && remembered(left(61_000)), "ports of services");
    assert!(remembered(Flow { guessed: false, ..left(40_000) }), "a listener proves it");
    let up = Counters { connections: 1, ..Counters::default() };
    assert!(remembered(Flow { active: up, ..left(40_000) }), "it is up");
    let known = ended(process("a", "10.0.0.1"), process("b", "10.0.0.2"), 40_000);
    assert!(remembered(Flow { guessed: true, ..known }), "both ends are known");
}

fn curl_to(port: u16) -> Flow {
    flow(process("curl", "10.0.0.1"), remote("192.0.2.7"), port)
}

fn refused() -> Totals {
    Totals { refused: 1, ..Totals::default() }
}

#[test]
fn a_port_scan_from_this_host_leaves_nothing_behind() {
    let mut live = live();
    let asking = Counters { opening: 1, ..Counters::default() };
    // The last one is filtered: its handshake is under way for long.
    let mut scan: Vec<Flow> = (1..=50).map(|port| counted(curl_to(port), refused())).collect();
    scan.push(Flow { active: asking, passive: Counters::default(), ..curl_to(51) });
    let delta = take(&mut live, reading(scan, vec![]), 1_000);
    assert_eq!((delta.edges.len(), everything(&live)), (51, 0));
    assert_eq!(delta.edges.iter().filter(|edge| edge.failing()).count(), 50);
    check(&live);
    // Nothing is counted just now, but it would be.
    let asks = Flow { active: asking, passive: Counters::default(), ..curl_to(52) };
    let delta = take(&mut live, reading(vec![asks], vec![]), 2_000);
    assert_eq!((delta.removed_edges.len(), everything(&live)), (51, 0));
    let delta = take(&mut live, reading(vec![], vec![]), 3_000);
    assert_eq!((delta.removed_edges.len(), delta.removed_nodes.len()), (1, 2));
    assert_eq!((live.flows, live.nodes.len(), live.pairs.len()), (0, 0, 0));
}

#[test]
fn a_dependency_that_fails_and_has_worked_is_remembered() {
    let mut live = live();
    let opened = Totals { opened: 1, closed: 1, ..Totals::default() };
    take(&mut live, reading(vec![counted(curl_to(443), opened)], vec![]), 1_000);
    take(&mut live, reading(vec![counted(curl_to(443), refused())], vec![]), 2_000);
    take(&mut live, reading(vec![], vec![]), 3_000);
    assert_eq!((live.edges.len(), live.outdated().edges.len()), (1, 1));
    check(&live);
}

#[test]
fn what_shows_that_something_works_is_remembered() {
    let remembered = |totals: Totals| {
        let mut live = live();
        take(&mut live, reading(vec![counted(curl_to(53), totals)], vec![]), 1_000);
        take(&mut live, reading(vec![], vec![]), 2_000);
        check(&live);
        !live.edges.is_empty()
    };
    let none = Totals::default();
    assert!(remembered(Totals { opened: 1, ..none }), "a connection that came up");
    assert!(remembered(Totals { closed: 1, ..refused() }), "one that ended, and no new one");
    assert!(remembered(Totals { datagrams_sent: 1, ..none }), "datagrams without an answer");
    assert!(remembered(Totals { datagrams_received: 1, ..none }), "an answer");
    assert!(!remembered(Totals { datagrams_sent: 1, unreachable: 1, ..none }), "a closed port");
    assert!(!remembered(Totals { retransmits: 1, ..none }), "a handshake that nobody answers");
    for failed in [
        refused(),
        Totals { timed_out: 1, ..none },
        Totals { unreachable: 1, ..none },
        Totals { abandoned: 1, ..none },
    ] {
        assert!(!remembered(failed), "{failed:?}");
    }
}
