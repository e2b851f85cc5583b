use crate::{
    Direction, Graph, Limits, Live, Users,
    sample::{ended, flow, listener, process, reading, remote, take, unit},
};

fn live() -> Live {
    Live::new("db7", 1_000, Limits::default(), Users::default())
}

fn sample() -> Graph {
    let mut live = live();
    let postgres = || unit("postgres", "postgresql.service", "127.0.0.1");
    let old = flow(process("old", "127.0.0.1"), postgres(), 5432);
    let psql = flow(process("psql", "127.0.0.1"), postgres(), 5432);
    take(&mut live, reading(vec![old], vec![]), 1_000);
    take(&mut live, reading(vec![psql], vec![listener(postgres(), 5432)]), 5_000);
    live.graph(0)()
}

#[test]
fn edges_are_found_at_both_ends() {
    let graph = sample();
    let at = |id| graph.position(id).expect("it is there");
    let clients: Vec<&str> = graph
        .edges_at(at("unit:postgresql.service"), Direction::Dependents)
        .iter()
        .map(|&edge| &*graph.nodes()[graph.far_end(edge, Direction::Dependents)].id)
        .collect();
    assert_eq!(clients, ["process:old", "process:psql"]);
    assert_eq!(graph.edges_at(at("process:psql"), Direction::Dependencies).len(), 1);
    assert!(graph.edges_at(at("process:psql"), Direction::Dependents).is_empty());
}

#[test]
fn what_ended_before_is_left_out() {
    let mut live = live();
    let server = || unit("postgres", "postgresql.service", "127.0.0.1");
    let from = |name| flow(process(name, "127.0.0.1"), server(), 5432);
    take(&mut live, reading(vec![from("old")], vec![]), 1_000);
    take(&mut live, reading(vec![from("psql")], vec![]), 5_000);
    let ids = |since| {
        let graph = live.graph(since)();
        graph.edges().iter().map(|edge| edge.client.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(1_000), ["process:old", "process:psql"]);
    assert_eq!(ids(1_001), ["process:psql"]);
    // What is live is always part of it.
    assert_eq!(ids(9_000), ["process:psql"]);
    assert!(live.graph(9_000)().node("process:old").is_none());
}

#[test]
fn the_reply_is_as_documented() {
    let reply = serde_json::to_value(sample().reply()).expect("JSON");
    assert_eq!(reply["version"], 1);
    assert_eq!(reply["revision"], 2);
    assert_eq!((&reply["host"], &reply["interval_ms"]), (&"db7".into(), &1_000.into()));
    let node = reply["nodes"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|node| node["id"] == "unit:postgresql.service");
    let wanted = serde_json::json!({
        "id": "unit:postgresql.service", "kind": "unit", "name": "postgresql",
        "processes": ["postgres"], "pids": [], "unit": "postgresql.service", "container": null,
        "namespace": "host", "user": null, "addresses": ["127.0.0.1"],
        "listening": [{
            "transport": "tcp", "address": "127.0.0.1", "port": 5432, "service": "postgresql"
        }],
        "first_seen_ms": 1_000, "last_seen_ms": 5_000, "live": true
    });
    assert_eq!(node, Some(&wanted));
    let edge = &reply["edges"][1];
    assert_eq!(edge["id"], "process:psql>unit:postgresql.service:5432/tcp");
    assert_eq!(edge["server_service"], "postgresql");
    assert_eq!(edge["network_transport"], "tcp");
    assert_eq!((&edge["connections"], &edge["live"]), (&1.into(), &true.into()));
    let flow = &edge["flows"][0];
    assert_eq!((&flow["client_process"], &flow["side"]), (&"psql".into(), &"both".into()));
    assert_eq!((&flow["first_seen_ms"], &flow["last_seen_ms"]), (&5_000.into(), &5_000.into()));
}

#[test]
fn records_carry_their_times() {
    let graph = sample();
    let records: Vec<_> = graph.records().collect();
    assert_eq!(records.len(), 2);
    let old = &records[0];
    assert_eq!(old.record.client_process.as_deref(), Some("old"));
    assert_eq!((old.record.connections, &*old.record.side), (0, "none"));
    assert_eq!((old.first_seen_ms, old.last_seen_ms), (1_000, 1_000));
    let text = serde_json::to_string(old).expect("JSON");
    assert!(text.starts_with("{\"version\":1,\"client_address\":\"127.0.0.1\""), "{text}");
}

#[test]
fn counters_add_up_over_flows() {
    let mut live = live();
    let client = || process("curl", "10.0.0.1");
    let flows = vec![
        flow(client(), remote("192.0.2.1"), 80),
        ended(client(), remote("192.0.2.1"), 80),
        flow(process("curl", "10.0.0.2"), remote("192.0.2.1"), 80),
    ];
    take(&mut live, reading(flows, vec![]), 1_000);
    let graph = live.graph(0)();
    let [edge] = graph.edges() else { panic!("one edge, not {:?}", graph.edges()) };
    assert_eq!((edge.connections(), edge.time_wait(), edge.flows.len()), (2, 1, 2));
}
