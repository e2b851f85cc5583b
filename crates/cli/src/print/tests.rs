use super::*;

#[test]
fn a_span_has_one_unit() {
    let spans = [(0, "0s"), (59_999, "59s"), (60_000, "1m"), (3_600_000, "1h"), (86_400_000, "1d")];
    for (ms, expected) in spans {
        assert_eq!(span(ms), expected);
    }
}

#[test]
fn ports_carry_the_usual_name() {
    assert_eq!(port(Transport::Tcp, 5432), "5432/tcp postgresql");
    assert_eq!(port(Transport::Udp, 5432), "5432/udp");
}

#[test]
fn activity_counts_what_is_up() {
    let graph = sample::graph(&[("psql", "postgres", 5432, 1), ("api", "postgres", 5432, 2)]);
    let activities: Vec<_> =
        graph.edges().iter().map(|edge| activity(edge, sample::NOW_MS)).collect();
    assert_eq!(activities, ["2 connections", "1 connection"]);
}

#[test]
fn only_connected_nodes_are_drawn() {
    let graph = sample::graph(&[("psql", "postgres", 5432, 1)]);
    assert_eq!(connected(&graph).count(), 2);
}

#[test]
fn a_cause_is_said_once() {
    let inner = io::Error::other("disk is full");
    let outer = anyhow::Error::new(inner).context("cannot write: disk is full").context("no map");
    assert_eq!(error(&outer), "no map: cannot write: disk is full");
}
