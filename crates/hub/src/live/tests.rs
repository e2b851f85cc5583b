use std::collections::{BTreeMap, BTreeSet};

use portolan_flow::{Counters, End, Totals, Traffic, Transport};
use proptest::prelude::*;

use super::*;
use crate::{
    api::{DeltaReply, GraphReply},
    sample::{
        any_reading, counted, ended, flow, hidden, listener, local, process, reading, remote, take,
        unit, within,
    },
    store::{Memory, Rows, Store},
};

mod passing;
mod traffic;

fn live() -> Live {
    Live::new("h", 1_000, Limits::default(), Users::default())
}

fn postgres() -> End {
    unit("postgres", "postgresql.service", "127.0.0.1")
}

fn psql() -> Flow {
    flow(process("psql", "127.0.0.1"), postgres(), 5432)
}

const PSQL: &str = "process:psql>unit:postgresql.service:5432/tcp";

fn edge_ids(live: &Live) -> Vec<&str> {
    let mut ids: Vec<&str> = live.edges.keys().map(|id| &**id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_reading_like_the_last_one_changes_nothing() {
    let mut live = live();
    let same = || reading(vec![psql()], vec![listener(postgres(), 5432)]);
    let first = take(&mut live, same(), 1_000);
    assert_eq!((first.revision, first.nodes.len(), first.edges.len()), (1, 2, 1));
    let second = take(&mut live, same(), 2_000);
    assert!(second.is_empty(), "{second:?}");
    assert_eq!(second.revision, 1);
    // Time moves on all the same.
    assert_eq!(live.edges[PSQL].last_seen_ms(), 2_000);
    assert_eq!(live.nodes["process:psql"].last_seen_ms, 2_000);
}

#[test]
fn what_does_not_change_is_announced_after_ten_seconds() {
    let mut live = live();
    let same = || reading(vec![psql()], vec![]);
    take(&mut live, same(), 1_000);
    assert!(take(&mut live, same(), 10_999).is_empty());
    let refreshed = take(&mut live, same(), 11_000);
    assert_eq!(refreshed.edges[0].last_seen_ms(), 11_000);
    assert_eq!((refreshed.revision, refreshed.nodes.len()), (2, 2));
    assert!(take(&mut live, same(), 12_000).is_empty());
}

#[test]
fn an_edge_that_ends_stays_as_history() {
    let mut live = live();
    take(&mut live, reading(vec![psql()], vec![]), 1_000);
    take(&mut live, reading(vec![psql()], vec![]), 2_000);
    let delta = take(&mut live, reading(vec![], vec![]), 3_000);
    let [edge] = &delta.edges[..] else { panic!("{delta:?}") };
    assert!(!edge.live());
    assert_eq!((edge.connections(), edge.first_seen_ms(), edge.last_seen_ms()), (0, 1_000, 2_000));
    assert_eq!(delta.nodes.len(), 2);
    assert!(delta.nodes.iter().all(|node| !node.live && node.pids.is_empty()));
    assert!(delta.removed_edges.is_empty());

    let back = take(&mut live, reading(vec![psql()], vec![]), 4_000);
    assert!(back.edges[0].live());
    assert_eq!(back.edges[0].first_seen_ms(), 1_000);
}

#[test]
fn counters_are_those_of_the_last_reading() {
    let mut live = live();
    let three = Counters { connections: 3, ..Counters::default() };
    take(&mut live, reading(vec![Flow { active: three, passive: three, ..psql() }], vec![]), 1_000);
    let delta = take(&mut live, reading(vec![psql()], vec![]), 2_000);
    assert_eq!(delta.edges[0].connections(), 1);
    assert!(delta.nodes.is_empty());
}

#[test]
fn time_wait_belongs_to_the_client_that_is_known() {
    let mut live = live();
    take(&mut live, reading(vec![psql()], vec![]), 1_000);
    let unknown = ended(local("127.0.0.1"), postgres(), 5432);
    let delta = take(&mut live, reading(vec![unknown], vec![]), 2_000);
    assert_eq!(edge_ids(&live), [PSQL]);
    assert_eq!((delta.edges[0].connections(), delta.edges[0].time_wait()), (0, 1));
    assert!(delta.edges[0].live());
    assert_eq!(live.nodes.len(), 2);
}

#[test]
fn time_wait_belongs_to_a_client_of_the_same_reading() {
    let mut live = live();
    let unknown = ended(local("127.0.0.1"), postgres(), 5432);
    let delta = take(&mut live, reading(vec![unknown, psql()], vec![]), 1_000);
    assert_eq!((delta.edges[0].connections(), delta.edges[0].time_wait()), (1, 1));
    assert_eq!(edge_ids(&live), [PSQL]);
}

#[test]
fn time_wait_to_a_host_elsewhere_finds_its_client() {
    let mut live = live();
    let curl = process("curl", "10.0.0.1");
    take(&mut live, reading(vec![flow(curl, remote("192.0.2.7"), 443)], vec![]), 1_000);
    let unknown = ended(local("10.0.0.1"), remote("192.0.2.7"), 443);
    take(&mut live, reading(vec![unknown], vec![]), 2_000);
    assert_eq!(edge_ids(&live), ["process:curl>address:192.0.2.7:443/tcp"]);
}

#[test]
fn of_several_clients_the_last_seen_is_taken() {
    let mut live = live();
    let from = |name| flow(process(name, "127.0.0.1"), postgres(), 5432);
    take(&mut live, reading(vec![from("app")], vec![]), 1_000);
    take(&mut live, reading(vec![from("backup")], vec![]), 2_000);
    take(&mut live, reading(vec![from("app")], vec![]), 3_000);
    take(&mut live, reading(vec![], vec![]), 4_000);
    let unknown = ended(local("127.0.0.1"), postgres(), 5432);
    let delta = take(&mut live, reading(vec![unknown], vec![]), 5_000);
    assert_eq!(&*delta.edges[0].client, "process:app");
    assert_eq!(live.edges.len(), 2);
}

#[test]
fn an_open_end_that_disagrees_stays_open() {
    let mut live = live();
    take(&mut live, reading(vec![psql()], vec![]), 1_000);
    let others = [
        ended(local("127.0.0.1"), postgres(), 5433),
        ended(local("10.0.0.1"), postgres(), 5432),
        ended(within("netns:blue", local("127.0.0.1")), postgres(), 5432),
        ended(local("127.0.0.1"), unit("mysqld", "mysql.service", "127.0.0.1"), 5432),
        Flow { transport: Transport::Udp, ..ended(local("127.0.0.1"), postgres(), 5432) },
    ];
    for (at, other) in others.into_iter().enumerate() {
        take(&mut live, reading(vec![other.clone()], vec![]), 2_000);
        assert_eq!(live.edges.len(), at + 2, "{:?}", edge_ids(&live));
        assert_eq!(live.edges[PSQL].time_wait(), 0);

        let mut together = self::live();
        take(&mut together, reading(vec![psql(), other], vec![]), 1_000);
        assert_eq!(together.edges.len(), 2, "{:?}", edge_ids(&together));
    }
}

#[test]
fn an_unanswered_client_does_not_get_the_server_of_another_namespace() {
    let known = flow(
        within("netns:c2", process("client2", "10.9.0.2")),
        within("netns:s2", process("server2", "10.9.0.1")),
        8080,
    );
    let asking = Counters { opening: 1, ..Counters::default() };
    let phantoms = [process("client1", "10.9.0.2"), process("client2", "10.9.0.2")];
    for end in phantoms.into_iter().chain([local("10.9.0.2")]) {
        let mut phantom = flow(within("netns:c1", end), remote("10.9.0.1"), 8080);
        (phantom.active, phantom.passive) = (asking, Counters::default());
        // Beside each other, and after each other. Not folded: that is not the hub's.
        for past in [vec![], vec![known.clone()]] {
            let mut live = live();
            let mut now = vec![known.clone(), phantom.clone()];
            if !past.is_empty() {
                now.remove(0);
                take(&mut live, reading(past, vec![]), 1_000);
            }
            let bundle = Bundle { flows: now, listeners: vec![] };
            take(&mut live, Reading { bundle, ..reading(vec![], vec![]) }, 2_000);
            let ids = edge_ids(&live);
            assert!(ids.iter().any(|id| id.ends_with(">address:10.9.0.1:8080/tcp")), "{ids:?}");
            assert_eq!(ids.len(), 2, "{ids:?}");
            let known = &live.edges["process:client2@netns:c2>process:server2@netns:s2:8080/tcp"];
            assert_eq!(known.opening(), 0);
        }
    }
}

#[test]
fn what_is_known_is_not_confused_with_what_is_hidden() {
    let mut live = live();
    take(&mut live, reading(vec![psql()], vec![]), 1_000);
    take(&mut live, reading(vec![flow(hidden(70, "127.0.0.1"), postgres(), 5432)], vec![]), 2_000);
    assert_eq!(live.edges.len(), 2);
}

#[test]
fn a_change_of_warnings_or_method_is_told() {
    let mut live = live();
    let warned = || Reading { warnings: vec!["half".to_owned()], ..reading(vec![], vec![]) };
    take(&mut live, warned(), 1_000);
    assert!(take(&mut live, warned(), 2_000).is_empty());
    let delta = take(&mut live, reading(vec![], vec![]), 3_000);
    assert!(!delta.is_empty() && delta.warnings.is_empty());
    let other = Reading { method: "other".to_owned(), ..reading(vec![], vec![]) };
    assert!(!take(&mut live, other, 4_000).is_empty());
    live.set_own_warning(Some("disk full".to_owned()));
    let other = Reading { method: "other".to_owned(), ..reading(vec![], vec![]) };
    assert_eq!(take(&mut live, other, 5_000).warnings, ["disk full"]);
}

#[test]
fn a_listener_that_ends_is_taken_from_a_node_that_lives() {
    let mut live = live();
    take(&mut live, reading(vec![psql()], vec![listener(postgres(), 5432)]), 1_000);
    let delta = take(&mut live, reading(vec![psql()], vec![]), 2_000);
    assert_eq!(delta.nodes.len(), 1);
    assert!(delta.nodes[0].live && delta.nodes[0].listening.is_empty());
}

#[test]
fn history_is_forgotten_when_it_is_too_old() {
    let limits = Limits { retention_ms: 100_000, ..Limits::default() };
    let mut live = Live::new("h", 1_000, limits, Users::default());
    take(&mut live, reading(vec![psql()], vec![]), 1_000);
    take(&mut live, reading(vec![], vec![]), 2_000);
    assert!(take(&mut live, reading(vec![], vec![]), 101_000).removed_edges.is_empty());
    let delta = take(&mut live, reading(vec![], vec![]), 162_000);
    assert_eq!(delta.removed_edges, [PSQL.into()]);
    assert_eq!(delta.removed_nodes, ["process:psql".into(), "unit:postgresql.service".into()]);
    assert_eq!((live.flows, live.pairs.len()), (0, 0));
}

#[test]
fn a_full_map_drops_the_oldest_history_first() {
    let limits = Limits { flows_max: 10, nodes_max: 100, ..Limits::default() };
    let mut live = Live::new("h", 1_000, limits, Users::default());
    let from = |at: u64| flow(process(&format!("p{at:02}"), "127.0.0.1"), postgres(), 5432);
    for at in 0..10 {
        take(&mut live, reading(vec![from(at)], vec![]), at * 1_000);
    }
    let delta = take(&mut live, reading(vec![from(10)], vec![]), 10_000);
    assert_eq!(delta.removed_edges.len(), 1);
    assert!(delta.removed_edges[0].starts_with("process:p00>"));
    assert_eq!((live.flows, delta.warnings.len()), (10, 0));
}

#[test]
fn what_finds_no_room_is_counted_and_shown() {
    let limits = Limits { flows_max: 4, nodes_max: 100, ..Limits::default() };
    let mut live = Live::new("h", 1_000, limits, Users::default());
    let from = |at: u64| flow(process(&format!("p{at}"), "127.0.0.1"), postgres(), 5432);
    let all = || reading((0..7).map(from).collect(), vec![]);
    let delta = take(&mut live, all(), 1_000);
    assert_eq!(live.edges.len(), 4);
    assert!(delta.warnings[0].starts_with("the map is full: 3 nodes and flows"), "{delta:?}");
    assert!(take(&mut live, all(), 2_000).is_empty());
    // When there is room again, the warning goes.
    let fewer = take(&mut live, reading((0..4).map(from).collect(), vec![]), 3_000);
    assert!(fewer.warnings.is_empty());
}

#[test]
fn nodes_are_limited_too() {
    let limits = Limits { flows_max: 100, nodes_max: 5, ..Limits::default() };
    let mut live = Live::new("h", 1_000, limits, Users::default());
    for at in 0..50 {
        let end = process(&format!("p{at:02}"), "127.0.0.1");
        take(&mut live, reading(vec![flow(end, postgres(), 5432)], vec![]), at * 1_000);
        check(&live);
    }
    assert!(live.nodes.contains_key("process:p49"));
    assert!(!live.nodes.contains_key("process:p00"));
}

#[test]
fn a_clock_that_is_set_back_does_no_harm() {
    let mut live = live();
    take(&mut live, reading(vec![psql()], vec![]), 1_000_000);
    take(&mut live, reading(vec![psql()], vec![]), 1_000);
    assert_eq!(live.edges[PSQL].first_seen_ms(), 1_000);
    assert_eq!(live.edges[PSQL].last_seen_ms(), 1_000_000);
    take(&mut live, reading(vec![], vec![]), 500);
    check(&live);
}

#[test]
fn what_was_stored_comes_back() {
    let mut before = live();
    let listeners = || vec![listener(postgres(), 5432)];
    take(&mut before, reading(vec![psql()], listeners()), 1_000);
    take(&mut before, reading(vec![psql()], listeners()), 5_000);
    let rows = before.outdated();
    let mut after = live();
    after.restore(rows.clone());
    check(&after);
    let edge = &after.edges[PSQL];
    assert_eq!((edge.live(), edge.first_seen_ms(), edge.last_seen_ms()), (false, 1_000, 5_000));
    let node = &after.nodes["unit:postgresql.service"];
    assert_eq!((&node.processes[..], node.unit.is_some()), (&["postgres".to_owned()][..], true));
    assert_eq!(node.listening.len(), 1);
    assert_eq!((node.live, node.last_seen_ms), (false, 5_000));
    // Nothing of it needs to be saved again, until it is seen again.
    assert!(after.outdated().is_empty());
    take(&mut after, reading(vec![psql()], vec![]), 9_000);
    assert_eq!(after.outdated().edges.len(), 1);
    assert_eq!(after.outdated().edges[0].first_seen_ms, 1_000);
}

#[test]
fn only_what_is_new_is_unsaved() {
    let mut live = live();
    let delta = take(&mut live, reading(vec![psql()], vec![]), 1_000);
    let rows = live.unsaved(&delta.edges);
    assert_eq!(rows.edges.len(), 1);
    assert!(rows.edges[0].what.active.is_zero());
    live.mark_saved(&rows);
    let delta = take(&mut live, reading(vec![], vec![]), 2_000);
    assert!(live.unsaved(&delta.edges).is_empty());
    assert!(live.outdated().is_empty());
}

/// What has to hold at any time.
fn check(live: &Live) {
    let flows: usize = live.edges.values().map(|edge| edge.flows.len()).sum();
    assert_eq!(live.flows, flows);
    assert!(live.flows <= live.limits.flows_max && live.nodes.len() <= live.limits.nodes_max);
    let mut pairs: BTreeMap<Pair, BTreeSet<Arc<str>>> = BTreeMap::new();
    for edge in live.edges.values() {
        assert!(!edge.flows.is_empty());
        assert!(edge.flows.is_sorted_by(|a, b| flow_cmp(&a.flow, &b.flow).is_lt()));
        for id in [&edge.client, &edge.server] {
            let node = live.nodes.get(id).expect("an edge joins nodes");
            assert!(node.last_seen_ms >= edge.last_seen_ms());
            assert!(node.live || !edge.live());
        }
        assert_eq!(live.live_edges.contains(&edge.id), edge.live());
        for known in &edge.flows {
            pairs.entry(pair_of(&known.flow)).or_default().insert(Arc::clone(&edge.id));
        }
    }
    for node in live.nodes.values() {
        assert_eq!(live.live_nodes.contains(&node.id), node.live);
    }
    let index: BTreeMap<Pair, BTreeSet<Arc<str>>> =
        live.pairs.iter().map(|(pair, ids)| (*pair, ids.iter().cloned().collect())).collect();
    assert_eq!(index, pairs);
}

/// A page's copy of the graph, kept by deltas alone.
struct Copy {
    revision: u64,
    nodes: BTreeMap<Arc<str>, Arc<Node>>,
    edges: BTreeMap<Arc<str>, crate::api::Edge>,
}

impl Copy {
    fn of(reply: GraphReply) -> Self {
        let nodes = reply.nodes.into_iter().map(|node| (Arc::clone(&node.id), node)).collect();
        let edges = reply.edges.into_iter().map(|edge| (Arc::clone(&edge.id), edge)).collect();
        Self { revision: reply.revision, nodes, edges }
    }

    fn apply(&mut self, delta: DeltaReply) {
        assert_eq!(delta.revision, self.revision + 1);
        self.revision = delta.revision;
        for id in delta.removed_nodes {
            assert!(!delta.nodes.iter().any(|node| node.id == id));
            self.nodes.remove(&id);
        }
        for id in delta.removed_edges {
            assert!(!delta.edges.iter().any(|edge| edge.id == id));
            self.edges.remove(&id);
        }
        self.nodes.extend(delta.nodes.into_iter().map(|node| (Arc::clone(&node.id), node)));
        self.edges.extend(delta.edges.into_iter().map(|edge| (Arc::clone(&edge.id), edge)));
    }

    /// Without the times of what is live, which move silently.
    fn settled(mut self) -> (Vec<Node>, Vec<crate::api::Edge>) {
        for edge in self.edges.values_mut().filter(|edge| edge.live) {
            edge.last_seen_ms = 0;
            edge.flows.iter_mut().for_each(|flow| flow.last_seen_ms = 0);
        }
        for node in self.nodes.values_mut().filter(|node| node.live) {
            Arc::make_mut(node).last_seen_ms = 0;
        }
        let nodes = self.nodes.into_values().map(Arc::unwrap_or_clone);
        (nodes.collect(), self.edges.into_values().collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_copy_kept_by_deltas_is_the_graph(
        readings in prop::collection::vec((any_reading(), 0..5usize), 1..12),
        flows_max in 3..40usize,
        nodes_max in 3..40usize,
    ) {
        let limits = Limits { flows_max, nodes_max, retention_ms: 200_000 };
        let mut live = Live::new("h", 1_000, limits, Users::default());
        let mut copy = Copy::of(live.graph(0)().reply());
        let mut now_ms = 1_000_000;
        for (reading, pause) in readings {
            now_ms += [0, 1_000, 5_000, 61_000, 300_000][pause];
            let again = reading.clone();
            let delta = take(&mut live, reading, now_ms);
            check(&live);
            if !delta.is_empty() {
                copy.apply(delta.reply());
            }
            // The same reading at the same time is no news.
            if delta.warnings == again.warnings {
                let second = take(&mut live, again, now_ms);
                prop_assert!(second.is_empty(), "{:?}", second);
                check(&live);
            }
            let kept = Copy { nodes: copy.nodes.clone(), edges: copy.edges.clone(), ..copy };
            prop_assert_eq!(kept.settled(), Copy::of(live.graph(0)().reply()).settled());
        }
    }

    #[test]
    fn connections_are_neither_lost_nor_invented(reading in any_reading()) {
        let mut live = live();
        let counted = |flows: &mut dyn Iterator<Item = &Flow>| {
            let mut traffic = Traffic::default();
            let sums = (Counters::default(), Counters::default());
            let (active, passive) = flows.fold(sums, |(mut a, mut p), flow| {
                a.add(flow.active);
                p.add(flow.passive);
                flow.traffic.iter().for_each(|more| traffic.add(more));
                (a, p)
            });
            (active, passive, traffic.active, traffic.passive)
        };
        let before = counted(&mut reading.bundle.flows.iter());
        take(&mut live, reading, 1_000);
        let after = counted(
            &mut live.edges.values().flat_map(|edge| &edge.flows).map(|known| &known.flow),
        );
        prop_assert_eq!(before, after);
    }

    #[test]
    fn history_survives_a_restart(readings in prop::collection::vec(any_reading(), 1..6)) {
        let mut live = live();
        let mut rows = Rows::default();
        for (at, reading) in readings.into_iter().enumerate() {
            take(&mut live, reading, 1_000 * (at as u64 + 1));
            let outdated = live.outdated();
            live.mark_saved(&outdated);
            rows.edges.extend(outdated.edges);
        }
        // What only passes is not stored, and ends with the readings.
        let end_ms = live.now_ms() + 1_000;
        take(&mut live, reading(vec![], vec![]), end_ms);
        let mut store = Memory::new();
        store.save(&rows).expect("memory does not fail");
        let mut after = self::live();
        after.restore(store.load(0, 1_000).expect("memory does not fail"));
        check(&after);
        let times = |live: &Live| {
            let times = |edge: &Arc<Edge>| {
                (Arc::clone(&edge.id), edge.first_seen_ms(), edge.last_seen_ms(), edge.flows.len())
            };
            live.edges.values().map(times).collect::<BTreeSet<_>>()
        };
        prop_assert_eq!(times(&live), times(&after));
    }
}
