use super::*;
use crate::{
    Pids,
    generators::{ip, process},
};

fn flow(active: Counters, passive: Counters) -> Flow {
    Flow {
        transport: Transport::Tcp,
        server_port: 80,
        client: End::unobserved(ip("10.0.0.1")),
        server: End::unobserved(ip("10.0.0.2")),
        active,
        passive,
        traffic: None,
        guessed: true,
    }
}

const NONE: Counters = Counters { connections: 0, opening: 0, time_wait: 0 };
const SOME: Counters = Counters { connections: 3, opening: 2, time_wait: 1 };

#[test]
fn a_connection_that_was_seen_at_both_ends_counts_once() {
    let more = Counters { connections: 5, opening: 1, time_wait: 4 };
    let flow = flow(SOME, more);
    assert_eq!((flow.connections(), flow.opening()), (5, 2));
    assert_eq!(flow.time_wait(), 5, "only one end keeps TIME-WAIT");
}

#[test]
fn the_side_says_who_was_observed() {
    let sides = [(SOME, SOME), (SOME, NONE), (NONE, SOME), (NONE, NONE)]
        .map(|(active, passive)| flow(active, passive).side());
    assert_eq!(sides, ["both", "active", "passive", "none"]);
}

#[test]
fn absorbing_adds_up_and_keeps_the_proof() {
    let mut sum = flow(SOME, NONE);
    sum.client.pids = Pids::of(9);
    let mut proven = Flow { guessed: false, ..flow(SOME, SOME) };
    proven.client.pids = Pids::of(8);
    sum.absorb(proven);
    assert_eq!(sum.active, Counters { connections: 6, opening: 4, time_wait: 2 });
    assert_eq!(sum.passive, SOME);
    assert_eq!(sum.client.pids.as_slice(), [8, 9]);
    assert!(!sum.guessed);
}

#[test]
fn an_edge_is_its_ends_its_port_and_its_transport() {
    let one = flow(SOME, NONE);
    assert!(one.same_edge(&Flow { guessed: false, ..flow(NONE, SOME) }));
    assert!(!one.same_edge(&Flow { server_port: 81, ..one.clone() }));
    assert!(!one.same_edge(&Flow { transport: Transport::Udp, ..one.clone() }));
    let mut other = one.clone();
    other.client.owner = process("curl");
    assert!(!one.same_edge(&other));
}

#[test]
fn a_transport_is_shown_by_its_name() {
    assert_eq!(Transport::Tcp.to_string(), "tcp");
    assert_eq!(Transport::Udp.to_string(), "udp");
}
