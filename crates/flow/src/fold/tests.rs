use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{
    Namespace, Owner, Pids, Transport,
    generators::{flow_lists, ip, namespace, process},
};

mod traffic;

/// What was counted per addresses, port and transport; folding must not change it.
fn totals(flows: &[Flow]) -> BTreeMap<String, [u64; 36]> {
    let mut totals = BTreeMap::<_, [u64; 36]>::new();
    for flow in flows {
        let Flow { transport, server_port, client, server, active, passive, .. } = flow;
        let key = format!("{transport} {} > {}:{server_port}", client.address, server.address);
        let counts = [
            active.connections,
            active.opening,
            active.time_wait,
            passive.connections,
            passive.opening,
            passive.time_wait,
        ];
        let traffic = flow.traffic.as_deref().copied().unwrap_or_default();
        let counts = counts.into_iter();
        let counts = counts.chain(traffic.active.counts()).chain(traffic.passive.counts());
        let entry = totals.entry(key).or_insert([0; 36]);
        for (total, count) in entry.iter_mut().zip(counts) {
            *total += count;
        }
    }
    totals
}

type Reporter = (u16, Transport, End);

/// What each known client counted at its own end.
fn reported(flows: &[Flow]) -> BTreeMap<Reporter, [u64; 2]> {
    let mut reported = BTreeMap::<Reporter, [u64; 2]>::new();
    for flow in flows.iter().filter(|flow| !flow.client.is_open()) {
        let party = End { pids: Pids::default(), ..flow.client.clone() };
        let [connections, opened] =
            reported.entry((flow.server_port, flow.transport, party)).or_default();
        *connections += flow.active.connections;
        *opened += flow.traffic.as_ref().map_or(0, |traffic| traffic.active.opened);
    }
    reported
}

fn listed_pids(flows: &[Flow]) -> Vec<u32> {
    let ends = flows.iter().flat_map(|flow| [&flow.client, &flow.server]);
    let mut pids: Vec<u32> = ends.flat_map(|end| end.pids.as_slice()).copied().collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_order_does_not_matter(
        (flows, shuffled) in flow_lists().prop_flat_map(|flows| {
            (Just(flows.clone()), Just(flows).prop_shuffle())
        })
    ) {
        prop_assert_eq!(fold(flows), fold(shuffled));
    }

    #[test]
    fn every_total_is_conserved(flows in flow_lists()) {
        prop_assert_eq!(totals(&flows), totals(&fold(flows)));
    }

    #[test]
    fn folding_twice_changes_nothing(flows in flow_lists()) {
        let once = fold(flows);
        prop_assert_eq!(&once, &fold(once.clone()));
    }

    #[test]
    fn the_result_is_in_order_and_names_each_edge_once(flows in flow_lists()) {
        let folded = fold(flows);
        for pair in folded.windows(2) {
            let order = by_addresses(&pair[0], &pair[1]).then_with(|| by_party(&pair[0], &pair[1]));
            prop_assert_eq!(order, Ordering::Less);
        }
    }

    #[test]
    fn what_a_party_counted_stays_with_it(flows in flow_lists()) {
        let (before, after) = (reported(&flows), reported(&fold(flows)));
        for (reporter, count) in before {
            let kept = |after: &[u64; 2]| after[0] >= count[0] && after[1] >= count[1];
            prop_assert!(after.get(&reporter).is_some_and(kept), "{reporter:?}");
        }
    }

    #[test]
    fn no_process_id_is_lost(flows in flow_lists()) {
        let folded = fold(flows.clone());
        let ends = || folded.iter().flat_map(|flow| [&flow.client, &flow.server]);
        prop_assume!(!ends().any(|end| end.pids.has_more()));
        prop_assert_eq!(listed_pids(&flows), listed_pids(&folded));
    }

    #[test]
    fn loopback_stays_in_its_namespace(flows in flow_lists()) {
        let crosses = |flow: &&Flow| {
            flow.client.address.is_loopback()
                && flow.client.namespace.is_some()
                && flow.server.namespace.is_some()
                && flow.client.namespace != flow.server.namespace
        };
        let flows: Vec<Flow> = flows.into_iter().filter(|flow| !crosses(&flow)).collect();
        let folded = fold(flows);
        prop_assert_eq!(folded.iter().find(crosses), None);
    }
}

fn end(address: &str, owner: Owner) -> End {
    End { namespace: Some(namespace(1)), owner, ..End::unobserved(ip(address)) }
}

fn elsewhere(address: &str) -> End {
    End::unobserved(ip(address))
}

fn up(connections: u64) -> Counters {
    Counters { connections, ..Counters::default() }
}

/// `client` counted `active` connections, `server` counted `passive`.
fn edge(client: End, server: End, active: u64, passive: u64) -> Flow {
    Flow {
        transport: Transport::Tcp,
        server_port: 5432,
        client,
        server,
        active: up(active),
        passive: up(passive),
        traffic: None,
        guessed: false,
    }
}

fn client(name: &str) -> End {
    end("10.0.0.1", process(name))
}

fn server(name: &str) -> End {
    end("10.0.0.2", process(name))
}

#[test]
fn two_halves_of_one_edge_become_one_record() {
    let active = edge(client("psql"), elsewhere("10.0.0.2"), 3, 0);
    let passive = edge(elsewhere("10.0.0.1"), server("postgres"), 0, 3);
    let folded = fold(vec![passive, active]);
    assert_eq!(folded, [edge(client("psql"), server("postgres"), 3, 3)]);
    assert_eq!(folded[0].connections(), 3);
    assert_eq!(folded[0].side(), "both");
}

#[test]
fn two_clients_share_what_the_server_counted_up_to_what_they_counted() {
    let folded = fold(vec![
        edge(client("psql"), elsewhere("10.0.0.2"), 3, 0),
        edge(client("pgbench"), elsewhere("10.0.0.2"), 4, 0),
        edge(elsewhere("10.0.0.1"), server("postgres"), 0, 9),
    ]);
    assert_eq!(
        folded,
        [
            edge(elsewhere("10.0.0.1"), server("postgres"), 0, 2),
            edge(client("pgbench"), server("postgres"), 4, 4),
            edge(client("psql"), server("postgres"), 3, 3),
        ]
    );
}

#[test]
fn what_moves_to_a_candidate_takes_its_process_ids_and_its_proof_along() {
    let of = |pid, end: End| End { pids: Pids::of(pid), ..end };
    let guess = |client| Flow { guessed: true, ..edge(client, elsewhere("10.0.0.2"), 1, 0) };
    let folded = fold(vec![
        guess(client("psql")),
        guess(client("pgbench")),
        edge(elsewhere("10.0.0.1"), of(7, server("postgres")), 0, 2),
    ]);
    assert_eq!(
        folded,
        [
            edge(client("pgbench"), of(7, server("postgres")), 1, 1),
            edge(client("psql"), of(7, server("postgres")), 1, 1),
        ]
    );
}

#[test]
fn two_servers_share_what_the_client_counted_up_to_what_they_counted() {
    let folded = fold(vec![
        edge(client("psql"), elsewhere("10.0.0.2"), 5, 0),
        edge(elsewhere("10.0.0.1"), server("old"), 0, 2),
        edge(elsewhere("10.0.0.1"), server("new"), 0, 3),
    ]);
    assert_eq!(
        folded,
        [edge(client("psql"), server("new"), 3, 3), edge(client("psql"), server("old"), 2, 2)]
    );
}

#[test]
fn a_hidden_owner_is_not_a_visible_one() {
    let hidden = end("10.0.0.1", Owner::Hidden { uid: 1000 });
    let flows = vec![
        edge(hidden, server("postgres"), 1, 1),
        edge(client("psql"), server("postgres"), 1, 1),
    ];
    assert_eq!(fold(flows.clone()), flows);
}

#[test]
fn an_owner_that_ended_is_taken_for_the_only_one_that_is_left() {
    let ended = Flow {
        active: Counters { time_wait: 1, ..Counters::default() },
        ..edge(end("10.0.0.1", Owner::Unobserved), server("postgres"), 0, 0)
    };
    let folded = fold(vec![ended, edge(client("psql"), server("postgres"), 1, 1)]);
    assert_eq!(folded.len(), 1);
    assert_eq!((folded[0].connections(), folded[0].time_wait()), (1, 1));
}

#[test]
fn loopback_in_two_namespaces_is_two_edges() {
    let blue = Some(Namespace::new("netns:blue"));
    let active = edge(end("127.0.0.1", process("curl")), elsewhere("127.0.0.1"), 1, 0);
    let nginx = End { namespace: blue.clone(), ..end("127.0.0.1", process("nginx")) };
    let passive = edge(elsewhere("127.0.0.1"), nginx, 0, 1);
    let folded = fold(vec![active, passive]);
    assert_eq!(folded.len(), 2);
    let namespaces: Vec<_> =
        folded.iter().map(|flow| (&flow.client.namespace, &flow.server.namespace)).collect();
    let host = Some(namespace(1));
    assert_eq!(namespaces, [(&host, &host), (&blue, &blue)]);
}

/// An address of a host is delivered to over loopback: whoever calls himself never leaves.
#[test]
fn a_call_to_ones_own_address_stays_in_the_namespace() {
    let own = "10.0.0.1";
    let nginx = End { namespace: Some(Namespace::new("netns:blue")), ..end(own, process("nginx")) };
    let folded = fold(vec![
        edge(end(own, process("curl")), elsewhere(own), 1, 0),
        edge(elsewhere(own), nginx, 0, 1),
    ]);
    assert_eq!(folded.iter().map(Flow::side).collect::<Vec<_>>(), ["active", "passive"]);
}

#[test]
fn a_half_is_not_given_to_a_client_of_another_namespace() {
    let blue = End { namespace: Some(Namespace::new("netns:blue")), ..elsewhere("10.0.0.1") };
    let flows =
        vec![edge(client("psql"), server("postgres"), 1, 0), edge(blue, server("postgres"), 0, 1)];
    assert_eq!(fold(flows.clone()), flows);
}

#[test]
fn a_client_of_two_servers_is_one_candidate() {
    let folded = fold(vec![
        edge(client("psql"), server("old"), 1, 1),
        edge(client("psql"), server("new"), 1, 1),
        edge(elsewhere("10.0.0.1"), server("new"), 0, 1),
    ]);
    assert_eq!(
        folded,
        [edge(client("psql"), server("new"), 1, 2), edge(client("psql"), server("old"), 1, 1)]
    );
}

#[test]
fn an_edge_from_history_survives_a_live_one() {
    let history = edge(client("backup"), server("postgres"), 0, 0);
    let live = edge(client("psql"), server("postgres"), 1, 1);
    assert_eq!(fold(vec![live.clone(), history.clone()]), [history, live]);
}

#[test]
fn ports_and_transports_stay_apart() {
    let tcp = edge(client("dig"), elsewhere("10.0.0.2"), 1, 0);
    let udp = Flow { transport: Transport::Udp, ..tcp.clone() };
    let other = Flow { server_port: 6432, ..tcp.clone() };
    assert_eq!(fold(vec![other.clone(), udp.clone(), tcp.clone()]), [tcp, udp, other]);
}

fn in_namespace(name: &str, end: End) -> End {
    End { namespace: Some(Namespace::new(name)), ..end }
}

/// Two pairs of namespaces with the same addresses and no way from one to the other.
#[test]
fn a_half_is_not_completed_by_the_other_pair_with_its_addresses() {
    let left = edge(in_namespace("netns:c1", client("curl")), elsewhere("10.0.0.2"), 1, 0);
    let client2 = in_namespace("netns:c2", client("curl"));
    let server2 = in_namespace("netns:s2", server("nginx"));
    let other = edge(client2, server2.clone(), 1, 1);
    let flows = vec![left.clone(), other];
    assert_eq!(fold(flows.clone()), flows);

    // The same seen from a server whose client is gone.
    let server1 = in_namespace("netns:s1", server("nginx"));
    let left = edge(elsewhere("10.0.0.1"), server1.clone(), 0, 1);
    let flows = vec![left, flows[1].clone()];
    assert_eq!(fold(flows.clone()), flows);

    // Only another port shows that the address is used twice.
    let call = edge(in_namespace("netns:c1", client("curl")), elsewhere("10.0.0.2"), 1, 0);
    let bound = edge(elsewhere("10.0.0.1"), server2, 0, 1);
    let third = edge(elsewhere("10.0.0.3"), server1, 0, 1);
    let flows = vec![call, bound, Flow { server_port: 6000, ..third }];
    assert!(fold(flows).iter().all(|flow| flow.side() != "both"));
}

/// What is certain about two namespaces lets their halves find each other.
#[test]
fn halves_of_namespaces_that_are_known_to_be_joined_are_completed() {
    let of = |n: u8| {
        let client = in_namespace(&format!("netns:c{n}"), client("curl"));
        (client, in_namespace(&format!("netns:s{n}"), server("nginx")))
    };
    let ((client1, server1), (client2, server2)) = (of(1), of(2));
    let folded = fold(vec![
        edge(client1.clone(), server1.clone(), 1, 1),
        edge(client2.clone(), server2.clone(), 1, 1),
        edge(client1.clone(), elsewhere("10.0.0.2"), 2, 0),
        edge(elsewhere("10.0.0.1"), server2.clone(), 0, 3),
    ]);
    assert_eq!(folded, [edge(client1, server1, 3, 1), edge(client2, server2, 1, 4)]);
}
