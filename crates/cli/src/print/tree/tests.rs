use super::*;
use crate::print::sample;

fn tree(edges: &[(&str, &str, u16, u64)], of: &str, direction: Direction) -> String {
    let graph = sample::graph(edges);
    let selection = graph.select(of).expect("it is on the map");
    let walk = graph.walk(&selection, direction, None);
    let mut out = Vec::new();
    write(&graph, &walk, direction, &mut out).expect("a vector takes all");
    String::from_utf8(out).expect("names are text")
}

const SHOP: &[(&str, &str, u16, u64)] = &[
    ("api", "postgres", 5432, 2),
    ("nginx", "api", 8080, 1),
    ("curl", "nginx", 80, 1),
    ("psql", "postgres", 5432, 1),
];

#[test]
fn dependents_hang_below_what_they_use() {
    let expected = "\
postgres  listens on 5432/tcp postgresql
├── api (process)  uses 5432/tcp postgresql  2 connections
│   └── nginx (process)  uses 8080/tcp http-alt  1 connection
│       └── curl (process)  uses 80/tcp http  1 connection
└── psql (process)  uses 5432/tcp postgresql  1 connection
";
    assert_eq!(tree(SHOP, "postgres", Direction::Dependents), expected);
}

#[test]
fn dependencies_hang_below_what_needs_them() {
    let expected = "\
curl
└── nginx (process)  on 80/tcp http  1 connection
    └── api (process)  on 8080/tcp http-alt  1 connection
        └── postgres (process)  on 5432/tcp postgresql  2 connections
";
    assert_eq!(tree(SHOP, "curl", Direction::Dependencies), expected);
}

#[test]
fn a_cycle_is_said_once() {
    let cycle = [("a", "b", 1000, 1), ("b", "a", 2000, 1)];
    let expected = "\
a  listens on 2000/tcp
└── b (process)  uses 2000/tcp  1 connection
    └── a (process)  uses 1000/tcp  1 connection  (listed elsewhere)
";
    assert_eq!(tree(&cycle, "a", Direction::Dependents), expected);
}

#[test]
fn what_goes_over_an_edge_and_what_fails_is_said() {
    let graph = sample::busy();
    let selection = graph.select("api").expect("it is on the map");
    let tree = |direction| {
        let mut out = Vec::new();
        let walk = graph.walk(&selection, direction, None);
        write(&graph, &walk, direction, &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("names are text")
    };
    let expected = "\
api
├── cron (process)  uses 8080/tcp http-alt  0.5/s new, 1 retransmit
└── nginx (process)  uses 8080/tcp http-alt  3 connections, 120/s new, 1.2 MB/s, rtt 0.4 ms, \
2 retransmits, 5 refused
";
    assert_eq!(tree(Direction::Dependents), expected);
    let expected = "api\n└── redis (process)  on 6379/tcp redis  5 refused, 1 timed out\n";
    assert_eq!(tree(Direction::Dependencies), expected);
}
