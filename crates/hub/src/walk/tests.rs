use std::{collections::BTreeMap, sync::Arc};

use portolan_flow::Transport;
use proptest::prelude::*;

use super::*;
use crate::{
    api::{Kind, Node},
    edge::{Edge, KnownFlow},
    graph::Header,
    sample::{flow, process},
};

fn node(name: &str) -> Arc<Node> {
    Arc::new(Node {
        id: name.into(),
        kind: Kind::Process,
        name: name.to_owned(),
        processes: Vec::new(),
        pids: Vec::new(),
        unit: None,
        container: None,
        namespace: None,
        user: None,
        addresses: Vec::new(),
        listening: Vec::new(),
        first_seen_ms: 0,
        last_seen_ms: 0,
        live: true,
    })
}

fn edge(client: &str, server: &str, port: u16) -> Arc<Edge> {
    let known = KnownFlow {
        flow: flow(process(client, "127.0.0.1"), process(server, "127.0.0.1"), port),
        first_seen_ms: 0,
        last_seen_ms: 0,
        live: true,
        saved_ms: None,
        lasts: true,
    };
    Arc::new(Edge {
        id: Edge::id_of(client, server, port, Transport::Tcp).into(),
        client: client.into(),
        server: server.into(),
        server_port: port,
        transport: Transport::Tcp,
        flows: vec![known],
    })
}

fn graph(edges: &[(&str, &str, u16)]) -> Graph {
    let names = edges.iter().flat_map(|&(client, server, _)| [client, server]);
    let nodes = names.map(node).collect();
    let edges = edges.iter().map(|&(client, server, port)| edge(client, server, port)).collect();
    Graph::new(Header::default(), 0, nodes, edges)
}

fn at(graph: &Graph, id: &str) -> Selection {
    Selection { nodes: vec![graph.position(id).expect("it is there")], port: None }
}

/// One line per step: depth, node, and `*` for again.
fn lines(graph: &Graph, walk: &Walk) -> Vec<String> {
    let line = |step: &Step| {
        let again = if step.again { "*" } else { "" };
        format!("{} {}{again}", step.depth, graph.nodes()[step.node].id)
    };
    walk.steps.iter().map(line).collect()
}

#[test]
fn a_chain_is_followed_both_ways() {
    let graph = graph(&[("web", "app", 80), ("app", "db", 5432), ("cron", "db", 5432)]);
    let up = graph.walk(&at(&graph, "db"), Direction::Dependents, None);
    assert_eq!(lines(&graph, &up), ["1 app", "2 web", "1 cron"]);
    let down = graph.walk(&at(&graph, "web"), Direction::Dependencies, None);
    assert_eq!(lines(&graph, &down), ["1 app", "2 db"]);
}

#[test]
fn a_cycle_ends_where_it_was_before() {
    let graph = graph(&[("a", "b", 1), ("b", "c", 1), ("c", "a", 1), ("a", "a", 2)]);
    let walk = graph.walk(&at(&graph, "a"), Direction::Dependencies, None);
    assert_eq!(lines(&graph, &walk), ["1 a*", "1 b", "2 c", "3 a*"]);
}

#[test]
fn a_direct_dependent_is_shown_as_one() {
    // b is reached over a too, which comes first; it is still expanded where it is nearer.
    let graph = graph(&[("a", "root", 1), ("b", "root", 1), ("b", "a", 1), ("c", "b", 1)]);
    let walk = graph.walk(&at(&graph, "root"), Direction::Dependents, None);
    assert_eq!(lines(&graph, &walk), ["1 a", "2 b*", "1 b", "2 c"]);
    let near = graph.walk(&at(&graph, "root"), Direction::Dependents, Some(2));
    assert_eq!(lines(&graph, &near), lines(&graph, &walk));
}

#[test]
fn depth_limits_the_hops() {
    let graph = graph(&[("web", "app", 80), ("app", "db", 5432)]);
    let walk = |depth| graph.walk(&at(&graph, "db"), Direction::Dependents, Some(depth));
    assert!(walk(0).steps.is_empty());
    assert_eq!(lines(&graph, &walk(1)), ["1 app"]);
    assert_eq!(lines(&graph, &walk(2)), ["1 app", "2 web"]);
}

#[test]
fn a_port_limits_the_first_hop_of_dependents_only() {
    let graph = graph(&[("a", "db", 1), ("b", "db", 2), ("c", "a", 3), ("db", "disk", 9)]);
    let selected = Selection { port: Some(1), ..at(&graph, "db") };
    let up = graph.walk(&selected, Direction::Dependents, None);
    assert_eq!(lines(&graph, &up), ["1 a", "2 c"]);
    let down = graph.walk(&selected, Direction::Dependencies, None);
    assert_eq!(lines(&graph, &down), ["1 disk"]);
}

#[test]
fn a_hundred_thousand_hops_are_no_problem() {
    let name = |at: usize| format!("{at:06}");
    let names: Vec<String> = (0..100_000).map(name).collect();
    let nodes = names.iter().map(|name| node(name)).collect();
    let edges = names.windows(2).map(|pair| edge(&pair[0], &pair[1], 80)).collect();
    let graph = Graph::new(Header::default(), 0, nodes, edges);
    let walk = graph.walk(&at(&graph, &names[0]), Direction::Dependencies, None);
    assert_eq!(walk.steps.len(), 99_999);
    assert_eq!(walk.steps.last().map(|step| step.depth), Some(99_999));
    assert_eq!(graph.walk_reply(&walk).steps.len(), 99_999);
}

/// The distance of every node in reach, found by trying all edges until nothing changes.
fn distances(
    edges: &[(usize, usize, u16)],
    roots: &[usize],
    port: Option<u16>,
    depth: u32,
) -> BTreeMap<usize, u32> {
    let mut known: BTreeMap<usize, u32> = roots.iter().map(|&root| (root, 0)).collect();
    loop {
        let before = known.clone();
        for &(client, server, to) in edges {
            let Some(&hops) = known.get(&server) else { continue };
            let counts = hops < depth && (hops > 0 || port.is_none_or(|port| port == to));
            let next = hops.saturating_add(1);
            if counts && known.get(&client).is_none_or(|&hops| hops > next) {
                known.insert(client, next);
            }
        }
        if known == before {
            return known;
        }
    }
}

proptest! {
    #[test]
    fn a_walk_finds_what_trying_everything_finds(
        edges in prop::collection::btree_set((0..9usize, 0..9usize, 1..4u16), 0..40),
        roots in prop::collection::btree_set(0..9usize, 1..3),
        port in prop::option::of(1..4u16),
        depth in prop::option::of(0..6u32),
    ) {
        let edges: Vec<_> = edges.into_iter().collect();
        let nodes = (0..9).map(|at| node(&at.to_string())).collect();
        let built = edges.iter().map(|&(client, server, port)| {
            edge(&client.to_string(), &server.to_string(), port)
        });
        let graph = Graph::new(Header::default(), 0, nodes, built.collect());
        let roots: Vec<usize> = roots.into_iter().collect();
        let selection = Selection { nodes: roots.clone(), port };
        let walk = graph.walk(&selection, Direction::Dependents, depth);
        let limit = depth.unwrap_or(u32::MAX);
        let oracle = distances(&edges, &roots, port, limit);

        // Every node in reach is expanded once, at its distance.
        let mut expanded: BTreeMap<usize, u32> = roots.iter().map(|&root| (root, 0)).collect();
        for step in walk.steps.iter().filter(|step| !step.again) {
            prop_assert_eq!(expanded.insert(step.node, step.depth), None);
        }
        prop_assert_eq!(&expanded, &oracle);

        // Every edge of a node in reach is listed once.
        let mut listed: Vec<usize> = walk.steps.iter().map(|step| step.edge).collect();
        listed.sort_unstable();
        let mut expected: Vec<usize> = Vec::new();
        for (at, edge) in graph.edges().iter().enumerate() {
            let server = graph.far_end(at, Direction::Dependencies);
            let Some(&hops) = oracle.get(&server) else { continue };
            if hops < limit && (hops > 0 || port.is_none_or(|port| port == edge.server_port)) {
                expected.push(at);
            }
        }
        prop_assert_eq!(listed, expected);

        // The order is that of a tree: a step hangs on the last step that is one less deep.
        let mut path: Vec<usize> = Vec::new();
        for step in &walk.steps {
            path.truncate(step.depth as usize - 1);
            match path.last() {
                Some(&above) => prop_assert_eq!(above, step.from),
                None => prop_assert!(roots.contains(&step.from)),
            }
            path.push(step.node);
        }
    }
}
