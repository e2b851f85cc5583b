use std::collections::{BTreeMap, BTreeSet};

use proptest::{
    collection::{btree_set, vec},
    prelude::*,
    sample::select,
};

use super::*;
use crate::{
    PIDS_MAX,
    generators::{
        SERVICE_PORTS, addresses, client_ports, ip, listener, netns_ids, owners, process, readings,
        tcp, transports,
    },
};

mod memory;
mod overlap;
mod rules;

fn bundle(sockets: &[Observation]) -> Bundle {
    let mut bundler = Bundler::new(PortRange::LINUX);
    sockets.iter().cloned().for_each(|seen| bundler.observe(seen));
    bundler.finish()
}

/// Sockets that are not listening, by transport and phase.
fn totals(sockets: &[Observation]) -> BTreeMap<Transport, Counters> {
    let mut totals = BTreeMap::<_, Counters>::new();
    for seen in sockets.iter().filter(|seen| seen.phase != Phase::Listening) {
        totals.entry(seen.transport).or_default().add(seen.counters());
    }
    totals
}

fn bundled_totals(bundle: &Bundle) -> BTreeMap<Transport, Counters> {
    let mut totals = BTreeMap::<_, Counters>::new();
    for flow in &bundle.flows {
        let total = totals.entry(flow.transport).or_default();
        total.add(flow.active);
        total.add(flow.passive);
    }
    totals
}

fn ends(bundle: &Bundle) -> impl Iterator<Item = &End> {
    let of_flows = bundle.flows.iter().flat_map(|flow| [&flow.client, &flow.server]);
    of_flows.chain(bundle.listeners.iter().map(|listener| &listener.end))
}

#[derive(Clone, Copy, Debug)]
enum Seen {
    Client,
    Server,
    Both,
}

fn phases_up() -> impl Strategy<Value = Phase> {
    select(&[Phase::Opening, Phase::Connected])
}

fn sightings() -> impl Strategy<Value = Seen> {
    select(&[Seen::Client, Seen::Server, Seen::Both])
}

prop_compose! {
    /// A server and its clients, some of them seen at one end only.
    fn services()(
        transport in transports(),
        // A UDP socket on an ephemeral port proves nothing.
        port in select(&SERVICE_PORTS[..3]),
        tcp_port in select(&SERVICE_PORTS),
        netns in netns_ids(),
        address in addresses(),
        wildcard: bool,
        clients in vec((40000..50000_u16, owners(), sightings()), 1..6),
        server_owner in owners(),
    ) -> Vec<Observation> {
        let port = if transport == Transport::Tcp { tcp_port } else { port };
        let address = address.to_canonical();
        let bound = match (wildcard, address) {
            (false, _) => address,
            (true, IpAddr::V4(_)) => ip("0.0.0.0"),
            (true, IpAddr::V6(_)) => ip("::"),
        };
        let to = SocketAddr::new(address, port);
        let mut listening = listener("0.0.0.0:1", server_owner.clone()).in_netns(netns);
        listening.local = SocketAddr::new(bound, port);
        let mut sockets = vec![listening];
        for (client_port, owner, seen) in clients {
            let mut client = tcp("0.0.0.0:1", "0.0.0.0:1", Phase::Connected, owner).in_netns(netns);
            client.local = SocketAddr::new(address, client_port);
            client.remote = to;
            let server = client.mirrored(netns, Phase::Connected, server_owner.clone());
            match seen {
                Seen::Client => sockets.push(client),
                Seen::Server => sockets.push(server),
                Seen::Both => sockets.extend([client, server]),
            }
        }
        sockets.into_iter().map(|seen| Observation { transport, ..seen }).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_order_does_not_matter(
        (sockets, shuffled) in readings().prop_flat_map(|sockets| {
            (Just(sockets.clone()), Just(sockets).prop_shuffle())
        })
    ) {
        prop_assert_eq!(bundle(&sockets), bundle(&shuffled));
    }

    #[test]
    fn every_socket_counts_exactly_once(sockets in readings()) {
        prop_assert_eq!(bundled_totals(&bundle(&sockets)), totals(&sockets));
    }

    #[test]
    fn folding_a_bundle_changes_nothing(sockets in readings()) {
        let flows = bundle(&sockets).flows;
        prop_assert_eq!(&flows, &fold(flows.clone()));
    }

    #[test]
    fn addresses_come_out_in_one_spelling(sockets in readings()) {
        let respelled: Vec<Observation> = sockets
            .iter()
            .cloned()
            .map(|mut seen| {
                seen.local.set_ip(seen.local.ip().to_canonical());
                seen.remote.set_ip(seen.remote.ip().to_canonical());
                seen
            })
            .collect();
        let bundle_of_both = bundle(&sockets);
        prop_assert_eq!(&bundle_of_both, &bundle(&respelled));
        prop_assert!(ends(&bundle_of_both).all(|end| end.address == end.address.to_canonical()));
    }

    #[test]
    fn process_ids_are_bounded_and_in_order(sockets in readings()) {
        for end in ends(&bundle(&sockets)) {
            prop_assert!(end.pids.as_slice().len() <= PIDS_MAX);
            prop_assert!(end.pids.as_slice().is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn loopback_stays_in_its_namespace(sockets in readings()) {
        for flow in bundle(&sockets).flows {
            if flow.client.address.is_loopback() || flow.server.address.is_loopback() {
                prop_assert_eq!(flow.client.namespace, flow.server.namespace);
            }
        }
    }

    #[test]
    fn a_listener_proves_the_direction(sockets in services()) {
        let (port, address) = (sockets[0].local.port(), sockets[0].local.ip());
        let bundle = bundle(&sockets);
        prop_assert_eq!(bundle.listeners.len(), 1);
        for flow in bundle.flows {
            prop_assert_eq!(flow.server_port, port);
            prop_assert!(!flow.guessed, "{:?}", flow);
            prop_assert!(address.is_unspecified() || flow.server.address == address);
        }
    }

    #[test]
    fn both_ends_of_an_edge_are_one_record(
        transport in transports(),
        (client_netns, server_netns) in (netns_ids(), netns_ids()),
        client_ports in btree_set(40000..60000_u16, 1..20),
        port in select(&SERVICE_PORTS[..3]),
        (client_owner, server_owner) in (owners(), owners()),
        listening: bool,
    ) {
        let mut sockets = Vec::new();
        for &client_port in &client_ports {
            let (owner, phase) = (client_owner.clone(), Phase::Connected);
            let mut client = tcp("10.0.0.1:1", "10.0.0.2:1", phase, owner).in_netns(client_netns);
            client.local.set_port(client_port);
            client.remote.set_port(port);
            sockets.push(client.mirrored(server_netns, Phase::Connected, server_owner.clone()));
            sockets.push(client);
        }
        if listening {
            let mut listening = listener("0.0.0.0:1", server_owner).in_netns(server_netns);
            listening.local.set_port(port);
            sockets.push(listening);
        }
        sockets.iter_mut().for_each(|seen| seen.transport = transport);
        let flows = bundle(&sockets).flows;
        prop_assert_eq!(flows.len(), 1);
        let count = client_ports.len() as u64;
        prop_assert_eq!(flows[0].active.connections, count);
        prop_assert_eq!(flows[0].passive.connections, count);
        prop_assert_eq!(flows[0].connections(), count);
        prop_assert_eq!((flows[0].server_port, flows[0].guessed), (port, !listening));
    }

    /// As when two hosts bundle what they see, and somebody else folds it.
    #[test]
    fn halves_that_were_bundled_apart_fold_to_what_is_bundled_together(
        client_ports in btree_set(40000..50000_u16, 1..20),
        port in select(&SERVICE_PORTS),
        (client_netns, server_netns) in (netns_ids(), netns_ids()),
        (client_phase, server_phase) in (phases_up(), phases_up()),
    ) {
        let mut listening = listener("0.0.0.0:1", process("nginx")).in_netns(server_netns);
        listening.local.set_port(port);
        let (mut clients, mut servers) = (Vec::new(), vec![listening]);
        for &client_port in &client_ports {
            let mut client = tcp("10.0.0.1:1", "10.0.0.2:1", client_phase, process("curl"));
            client.local.set_port(client_port);
            client.remote.set_port(port);
            servers.push(client.mirrored(server_netns, server_phase, process("nginx")));
            clients.push(client.in_netns(client_netns));
        }
        let apart = [bundle(&servers).flows, bundle(&clients).flows].concat();
        let together = bundle(&[clients, servers].concat()).flows;
        prop_assert_eq!(together.len(), 1);
        prop_assert_eq!(fold(apart), together);
    }

    /// Which address is the smaller one is no reason to call it the client.
    #[test]
    fn a_guess_does_not_depend_on_the_addresses(
        (one_port, other_port) in (
            prop_oneof![select(&SERVICE_PORTS), client_ports()],
            prop_oneof![select(&SERVICE_PORTS), client_ports()],
        ).prop_filter("equal ports are a tie", |(one, other)| one != other),
    ) {
        let guess = |one: &str, other: &str| {
            let mut client = tcp("10.0.0.1:1", "10.0.0.1:1", Phase::Connected, process("p"));
            client.local = SocketAddr::new(ip(one), one_port);
            client.remote = SocketAddr::new(ip(other), other_port);
            let server = client.mirrored(2, Phase::Connected, process("q"));
            let flows = bundle(&[client, server]).flows;
            (flows[0].server_port, flows[0].guessed)
        };
        prop_assert_eq!(guess("10.0.0.1", "10.0.0.2"), guess("10.0.0.2", "10.0.0.1"));
    }
}
