use proptest::prelude::*;

use super::*;
use crate::print::sample;

#[test]
fn nodes_and_edges_are_there() {
    let graph = sample::graph(&[("psql", "postgres", 5432, 1)]);
    let mut out = Vec::new();
    write(&graph, &mut out).expect("a vector takes all");
    let text = String::from_utf8(out).expect("names are text");
    assert!(text.starts_with("digraph portolan {\n") && text.ends_with("}\n"), "{text}");
    assert!(text.contains(r#""process:psql" [label="psql", shape=box];"#), "{text}");
    let edge =
        r#""process:psql" -> "process:postgres" [label="5432/tcp postgresql", style=solid];"#;
    assert!(text.contains(edge), "{text}");
}

#[test]
fn traffic_is_below_the_port_and_what_fails_is_red() {
    let mut out = Vec::new();
    write(&sample::busy(), &mut out).expect("a vector takes all");
    let text = String::from_utf8(out).expect("names are text");
    let busy = r#"label="8080/tcp http-alt\n120/s new, 1.2 MB/s, rtt 0.4 ms, 2 retransmits"#;
    assert!(text.contains(busy), "{text}");
    let failing = r#"label="6379/tcp redis\n5 refused, 1 timed out", style=dashed, color=red"#;
    assert!(text.contains(failing), "{text}");
    assert_eq!(text.matches("red,").count(), 1, "{text}");
}

proptest! {
    #[test]
    fn no_name_ends_its_quotes(name in ".{0,40}") {
        let quoted = quote(&name);
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let inner = inner.expect("quoted on both sides");
        let mut escaped = false;
        for c in inner.chars() {
            prop_assert!(!c.is_control());
            prop_assert!(escaped || c != '"', "{}", quoted);
            escaped = !escaped && c == '\\';
        }
        prop_assert!(!escaped, "{} escapes the closing quote", quoted);
    }
}
