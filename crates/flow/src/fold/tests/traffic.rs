//! What went over an edge, and whose it was.

use super::*;
use crate::{Totals, Traffic};

/// `flow` with so many connections opened and bytes from client to server, at each end.
fn with(flow: Flow, active: [u64; 2], passive: [u64; 2]) -> Flow {
    let [opened, bytes_sent] = active;
    let active = Totals { opened, bytes_sent, ..Totals::default() };
    let [opened, bytes_received] = passive;
    let passive = Totals { opened, bytes_received, ..Totals::default() };
    Flow { traffic: Some(Box::new(Traffic { span_ms: 1_000, active, passive })), ..flow }
}

fn from(name: &str, active: [u64; 2]) -> Flow {
    with(edge(client(name), elsewhere("10.0.0.2"), 0, 0), active, [0; 2])
}

fn to(name: &str, passive: [u64; 2]) -> Flow {
    with(edge(elsewhere("10.0.0.1"), server(name), 0, 0), [0; 2], passive)
}

fn between(active: [u64; 2], name: &str, passive: [u64; 2]) -> Flow {
    with(edge(client(name), server("nginx"), 0, 0), active, passive)
}

#[test]
fn halves_of_traffic_and_of_connections_become_one_record() {
    let folded = fold(vec![
        edge(client("curl"), server("nginx"), 1, 1),
        from("curl", [7, 70]),
        to("nginx", [8, 80]),
        from("curl", [1, 10]),
    ]);
    let whole = edge(client("curl"), server("nginx"), 1, 1);
    assert_eq!(folded, [with(whole, [8, 80], [8, 80])]);
}

#[test]
fn clients_that_came_and_went_are_known_by_their_traffic_alone() {
    let folded = fold(vec![from("curl", [7, 70]), to("nginx", [7, 70])]);
    assert_eq!(folded, [between([7, 70], "curl", [7, 70])]);
    assert_eq!((folded[0].side(), folded[0].connections()), ("both", 0));
}

#[test]
fn two_clients_share_what_the_server_counted_and_the_busier_gets_the_rest() {
    let halves = vec![from("curl", [3, 900]), from("wrk", [50, 500]), to("nginx", [60, 1_500])];
    let folded = fold(halves);
    // The last bytes and connections came when the clients had been read already.
    let expected = [between([3, 900], "curl", [3, 900]), between([50, 500], "wrk", [57, 600])];
    assert_eq!(folded, expected);
}

#[test]
fn two_servers_share_what_the_client_counted() {
    let folded = fold(vec![from("curl", [5, 55]), to("old", [1, 10]), to("new", [3, 30])]);
    let to =
        |name, active, passive| with(edge(client("curl"), server(name), 0, 0), active, passive);
    assert_eq!(folded, [to("new", [4, 45], [3, 30]), to("old", [1, 10], [1, 10])]);
}

#[test]
fn of_two_that_are_connected_the_busier_has_the_traffic() {
    let folded = fold(vec![
        edge(client("idle"), server("nginx"), 1, 1),
        edge(client("pool"), server("nginx"), 20, 20),
        to("nginx", [0, 1_500]),
    ]);
    let idle = edge(client("idle"), server("nginx"), 1, 1);
    let pool = edge(client("pool"), server("nginx"), 20, 20);
    assert_eq!(folded, [idle, with(pool, [0; 2], [0, 1_500])]);
}

#[test]
fn traffic_is_not_given_to_history() {
    let past = |name| edge(client(name), server("nginx"), 0, 0);
    let flows = vec![to("nginx", [2, 20]), past("backup"), past("curl")];
    assert_eq!(fold(flows.clone()), flows);
}

#[test]
fn traffic_is_not_given_to_clients_of_another_namespace() {
    let mut half = to("nginx", [3, 30]);
    half.client.namespace = Some(Namespace::new("netns:blue"));
    let flows = vec![half, between([1, 10], "curl", [0; 2]), between([2, 20], "wrk", [0; 2])];
    let mut folded = fold(flows.clone());
    folded.sort_by_key(|flow| !flow.client.is_open());
    assert_eq!(folded, flows);
}

#[test]
fn what_each_end_measures_for_itself_goes_with_the_rest() {
    let measured = |flow: Flow| {
        let mut traffic = flow.traffic.expect("it has traffic");
        traffic.span_ms = 2_000;
        traffic.passive.retransmits = 4;
        (traffic.passive.rtt_us_sum, traffic.passive.rtt_samples) = (300, 3);
        Flow { traffic: Some(traffic), ..flow }
    };
    let mut again = from("curl", [1, 10]);
    again.traffic.iter_mut().for_each(|traffic| traffic.active.retransmits = 2);
    let folded = fold(vec![again, from("wrk", [2, 20]), measured(to("nginx", [3, 30]))]);
    let mut expected =
        [between([1, 10], "curl", [1, 10]), measured(between([2, 20], "wrk", [2, 20]))];
    expected[0].traffic.iter_mut().for_each(|traffic| traffic.active.retransmits = 2);
    let spans: Vec<_> =
        folded.iter().map(|flow| flow.traffic.as_ref().map(|t| t.span_ms)).collect();
    assert_eq!(spans, [Some(2_000), Some(2_000)]);
    let once = |flows: &[Flow]| -> Vec<_> {
        flows.iter().map(|flow| flow.traffic.as_ref().map(|t| (t.active, t.passive))).collect()
    };
    assert_eq!(once(&folded), once(&expected));
}

#[test]
fn the_connections_of_a_record_stay_where_its_traffic_leaves() {
    let mut half = to("nginx", [3, 30]);
    half.passive = up(9);
    let folded = fold(vec![from("curl", [1, 10]), from("wrk", [2, 20]), half]);
    let rest = edge(elsewhere("10.0.0.1"), server("nginx"), 0, 9);
    let expected = [rest, between([1, 10], "curl", [1, 10]), between([2, 20], "wrk", [2, 20])];
    assert_eq!(folded, expected);
}
