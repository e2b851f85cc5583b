use proptest::prelude::*;

use super::*;
use crate::print::sample;

#[test]
fn nodes_and_edges_are_there() {
    let graph = sample::graph(&[("psql", "postgres", 5432, 1)]);
    let mut out = Vec::new();
    write(&graph, &mut out).expect("a vector takes all");
    let text = String::from_utf8(out).expect("names are text");
    let expected = "flowchart LR\n  n0[\"postgres\"]\n  n1[\"psql\"]\n  \
                    n1 -->|\"5432/tcp postgresql\"| n0\n";
    assert_eq!(text, expected);
}

#[test]
fn traffic_is_below_the_port_and_what_fails_is_red() {
    let mut out = Vec::new();
    write(&sample::busy(), &mut out).expect("a vector takes all");
    let text = String::from_utf8(out).expect("names are text");
    assert!(text.contains("-->|\"8080/tcp http-alt<br/>0.5/s new, 1 retransmit\"|"), "{text}");
    assert!(text.contains("-.->|\"6379/tcp redis<br/>5 refused, 1 timed out\"|"), "{text}");
    assert!(text.ends_with("\n  linkStyle 0 stroke:red,color:red\n"), "{text}");
}

proptest! {
    #[test]
    fn no_name_is_markup(name in ".{0,40}") {
        let escaped = escape(&name);
        prop_assert!(!escaped.contains(['"', '<', '>', '`', '|', '\n', '\\', '&']), "{}", escaped);
    }
}
