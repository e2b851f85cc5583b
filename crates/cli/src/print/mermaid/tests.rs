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

proptest! {
    #[test]
    fn no_name_is_markup(name in ".{0,40}") {
        let escaped = escape(&name);
        prop_assert!(!escaped.contains(['"', '<', '>', '`', '|', '\n', '\\', '&']), "{}", escaped);
    }
}
