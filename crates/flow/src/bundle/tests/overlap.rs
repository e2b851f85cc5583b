//! Namespaces that use the same addresses without a way from one to the other: two pairs of them,
//! `s1` and `c1` (1 and 2), `s2` and `c2` (3 and 4), each pair with a cable of its own.

use super::*;
use crate::generators::namespace;

const SERVER: &str = "10.9.0.1:50000";

/// A client's socket in a namespace.
fn client(port: u16, name: &str, netns: NetnsId) -> Observation {
    let local = format!("10.9.0.2:{port}");
    tcp(&local, SERVER, Phase::Connected, process(name)).in_netns(netns)
}

fn ended(seen: Observation) -> Observation {
    Observation { phase: Phase::TimeWait, owner: Owner::Unobserved, ..seen }
}

fn server(netns: NetnsId) -> Observation {
    listener("0.0.0.0:50000", process(&format!("server{netns}"))).in_netns(netns)
}

/// A client, the server's end of its connection, and the listener.
fn connected(port: u16, client_netns: NetnsId, netns: NetnsId) -> [Observation; 3] {
    let one = client(port, &format!("client{client_netns}"), client_netns);
    let other = one.mirrored(netns, Phase::Connected, process(&format!("server{netns}")));
    [one, other, server(netns)]
}

/// The namespaces of each edge: the client's and the server's, where they are known.
fn namespaces(flows: &[Flow]) -> Vec<(Option<Namespace>, Option<Namespace>)> {
    flows
        .iter()
        .map(|flow| (flow.client.namespace.clone(), flow.server.namespace.clone()))
        .collect()
}

fn known(one: NetnsId, other: NetnsId) -> (Option<Namespace>, Option<Namespace>) {
    (Some(namespace(one)), Some(namespace(other)))
}

#[test]
fn a_client_whose_server_stopped_is_not_given_to_the_other_pairs() {
    for phase in [Phase::TimeWait, Phase::Opening] {
        let left = Observation { phase, ..client(40000, "client2", 2) };
        for port in [40000, 40001] {
            let mut sockets = connected(port, 4, 3).to_vec();
            sockets.push(left.clone());
            let flows = bundle(&sockets).flows;
            let crossing = flows.iter().find(|flow| {
                (&flow.client.namespace, &flow.server.namespace)
                    == (&Some(namespace(2)), &Some(namespace(3)))
            });
            assert_eq!(crossing, None, "{phase:?} {port}");
            assert_eq!(fold(flows.clone()), flows);
        }
    }
}

/// The same with a server that was only bound to a wildcard, and no connection of the other pair.
#[test]
fn a_listener_is_not_reached_from_an_address_of_two_namespaces() {
    let other = tcp("10.9.0.2:40009", "10.9.0.7:80", Phase::Connected, process("x")).in_netns(4);
    let bound = listener("10.9.0.1:50000", process("server3")).in_netns(3);
    let flows = bundle(&[ended(client(40000, "client2", 2)), other, bound]).flows;
    assert!(flows.iter().all(|flow| flow.server.namespace.is_none()), "{flows:#?}");
}

#[test]
fn two_pairs_with_other_source_ports_are_two_edges() {
    let sockets = [connected(40000, 2, 1), connected(40001, 4, 3)].concat();
    assert_eq!(namespaces(&bundle(&sockets).flows), [known(2, 1), known(4, 3)]);
}

#[test]
fn the_same_source_port_on_both_pairs_is_never_paired_across() {
    // Whatever the numbers of the namespaces are.
    for [c1, s1, c2, s2] in [[2, 1, 4, 3], [4, 1, 2, 3], [2, 3, 4, 1]] {
        let sockets = [connected(40000, c1, s1), connected(40000, c2, s2)].concat();
        let flows = bundle(&sockets).flows;
        assert_eq!(flows.len(), 4, "{flows:#?}");
        assert!(
            flows
                .iter()
                .all(|flow| { flow.client.namespace.is_none() != flow.server.namespace.is_none() })
        );

        // One connection whose ends are certain tells which namespaces have a way.
        let more = [sockets, connected(40001, c1, s1).into(), connected(40002, c2, s2).into()];
        let flows = bundle(&more.concat()).flows;
        let expected = BTreeSet::from([known(c1, s1), known(c2, s2)]);
        assert_eq!(namespaces(&flows).into_iter().collect::<BTreeSet<_>>(), expected);
        assert!(flows.iter().all(|flow| flow.active.connections == 2));
        assert!(flows.iter().all(|flow| flow.passive.connections == 2));
    }
}

/// Both addresses belong to one namespace, so the connection never left it.
#[test]
fn a_tuple_whose_ends_are_in_one_namespace_is_paired_there() {
    let sockets = [connected(40000, 1, 1), connected(40000, 3, 3)].concat();
    assert_eq!(namespaces(&bundle(&sockets).flows), [known(1, 1), known(3, 3)]);
}
