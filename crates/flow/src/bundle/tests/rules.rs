//! One example per rule.

use super::*;
use crate::generators::namespace;

fn connected(local: &str, remote: &str, owner: Owner) -> Observation {
    tcp(local, remote, Phase::Connected, owner)
}

/// Bundles sockets that make one edge.
fn only_edge(sockets: &[Observation]) -> Flow {
    let mut flows = bundle(sockets).flows;
    assert_eq!(flows.len(), 1, "{flows:#?}");
    flows.remove(0)
}

fn names(flow: &Flow) -> (&str, &str) {
    let name = |end: &'_ End| end.owner.process().map(|process| process.name.clone());
    let leak = |name: Option<String>| -> &str { name.unwrap_or_else(|| "?".to_owned()).leak() };
    (leak(name(&flow.client)), leak(name(&flow.server)))
}

#[test]
fn a_connection_on_this_host_is_one_edge_with_both_processes() {
    let client = connected("127.0.0.1:40000", "127.0.0.1:5432", process("psql")).by_pid(7);
    let server = client.mirrored(1, Phase::Connected, process("postgres")).by_pid(8);
    let flow = only_edge(&[server, client, listener("0.0.0.0:5432", process("postgres"))]);
    assert_eq!(names(&flow), ("psql", "postgres"));
    assert_eq!((flow.server_port, flow.connections(), flow.side()), (5432, 1, "both"));
    assert_eq!(flow.client.pids.as_slice(), [7]);
    assert_eq!(flow.server.pids.as_slice(), [8]);
    assert!(!flow.guessed);
}

/// `nc -l` closes its listener when somebody came.
#[test]
fn a_listener_that_was_closed_after_accept_leaves_a_guess() {
    for (client, server) in [
        ("10.0.0.1:40000", "10.0.0.1:9000"),
        ("10.0.0.2:40000", "10.0.0.1:9000"),
        ("10.0.0.1:40000", "10.0.0.2:9000"),
        // A client that chose its own port: the lower port serves.
        ("10.0.0.1:20000", "10.0.0.2:9000"),
        ("10.0.0.2:20000", "10.0.0.1:9000"),
    ] {
        let client = connected(client, server, process("nc-client"));
        let server = client.mirrored(1, Phase::Connected, process("nc"));
        let flow = only_edge(&[client, server]);
        assert_eq!(names(&flow), ("nc-client", "nc"));
        assert_eq!((flow.server_port, flow.guessed), (9000, true));
    }
}

#[test]
fn an_accepted_connection_without_its_listener_is_still_the_servers() {
    let flow = only_edge(&[connected("10.0.0.1:9000", "192.0.2.1:40000", process("nc"))]);
    assert_eq!((flow.server_port, flow.side(), flow.guessed), (9000, "passive", true));
}

#[test]
fn time_wait_at_the_client_names_the_server_by_its_listener() {
    let ended = tcp("127.0.0.1:40000", "127.0.0.1:80", Phase::TimeWait, Owner::Unobserved);
    let flow = only_edge(&[ended, listener("0.0.0.0:80", process("nginx")).by_pid(3)]);
    assert_eq!(names(&flow), ("?", "nginx"));
    assert_eq!(flow.server.pids.as_slice(), [3]);
    assert_eq!((flow.server_port, flow.time_wait(), flow.connections()), (80, 1, 0));
    assert_eq!((flow.side(), flow.guessed), ("active", false));
}

#[test]
fn time_wait_at_the_server_is_the_listeners() {
    let ended = tcp("10.0.0.1:80", "192.0.2.1:40000", Phase::TimeWait, Owner::Unobserved);
    let flow = only_edge(&[ended, listener("10.0.0.1:80", process("nginx"))]);
    assert_eq!(names(&flow), ("?", "nginx"));
    assert_eq!((flow.time_wait(), flow.side()), (1, "passive"));
}

#[test]
fn a_connection_in_the_accept_backlog_is_the_listeners() {
    let client = connected("127.0.0.1:40000", "127.0.0.1:80", process("curl"));
    let waiting = client.mirrored(1, Phase::Connected, Owner::Unobserved);
    let half_open = tcp("10.0.0.1:80", "192.0.2.1:40000", Phase::Opening, Owner::Unobserved);
    let listening = listener("0.0.0.0:80", process("nginx")).by_pid(3);

    let flow = only_edge(&[client, waiting, listening.clone()]);
    assert_eq!(names(&flow), ("curl", "nginx"));
    assert_eq!(flow.server.pids.as_slice(), [3]);

    let flow = only_edge(&[half_open, listening]);
    assert_eq!(names(&flow), ("?", "nginx"));
    assert_eq!((flow.opening(), flow.connections()), (1, 0));
}

#[test]
fn a_server_that_may_not_be_seen_is_not_its_visible_listener() {
    let client = connected("127.0.0.1:40000", "127.0.0.1:80", process("curl"));
    let hidden = client.mirrored(1, Phase::Connected, Owner::Hidden { uid: 33 });
    let other = connected("127.0.0.1:40001", "127.0.0.1:80", process("curl"));
    let visible = other.mirrored(1, Phase::Connected, process("nginx"));
    let listening = listener("0.0.0.0:80", process("nginx"));
    let flows = bundle(&[client, hidden, other, visible, listening]).flows;
    let owners: Vec<_> = flows.iter().map(|flow| flow.server.owner.clone()).collect();
    assert_eq!(owners, [Owner::Hidden { uid: 33 }, process("nginx")]);
    assert!(flows.iter().all(|flow| flow.active == flow.passive));
}

#[test]
fn two_client_processes_of_one_server_are_two_edges() {
    let mut sockets = vec![listener("127.0.0.1:5432", process("postgres"))];
    for (port, name) in [(40000, "psql"), (40001, "pgbench"), (40002, "pgbench")] {
        let client = connected(&format!("127.0.0.1:{port}"), "127.0.0.1:5432", process(name));
        sockets.push(client.mirrored(1, Phase::Connected, process("postgres")));
        sockets.push(client);
    }
    let flows = bundle(&sockets).flows;
    let edges: Vec<_> = flows.iter().map(|flow| (names(flow), flow.connections())).collect();
    assert_eq!(edges, [(("pgbench", "postgres"), 2), (("psql", "postgres"), 1)]);
}

#[test]
fn listeners_that_share_a_port_are_one_with_all_process_ids() {
    let one = listener("0.0.0.0:80", process("nginx")).by_pid(4);
    let other = listener("0.0.0.0:80", process("nginx")).by_pid(3);
    let listeners = bundle(&[one, other]).listeners;
    assert_eq!(listeners.len(), 1);
    assert_eq!(listeners[0].end.pids.as_slice(), [3, 4]);
}

#[test]
fn the_same_loopback_tuple_in_two_namespaces_is_two_edges() {
    let client = connected("127.0.0.1:40000", "127.0.0.1:80", process("curl"));
    let server = client.mirrored(1, Phase::Connected, process("nginx"));
    let listening = listener("127.0.0.1:80", process("nginx"));
    let mut sockets = vec![client, server, listening];
    sockets.extend(sockets.clone().into_iter().map(|seen| seen.in_netns(2)));
    let flows = bundle(&sockets).flows;
    assert_eq!(flows.len(), 2);
    for (flow, netns) in flows.iter().zip([1, 2]) {
        assert_eq!(flow.client.namespace, Some(namespace(netns)));
        assert_eq!(flow.server.namespace, Some(namespace(netns)));
        assert_eq!((flow.active.connections, flow.passive.connections), (1, 1));
    }
}

/// A client whose server's socket was missed must not be given that of another namespace.
#[test]
fn loopback_halves_in_two_namespaces_stay_apart() {
    let client = connected("127.0.0.1:40000", "127.0.0.1:80", process("curl"));
    let server = connected("127.0.0.1:80", "127.0.0.1:40001", process("nginx")).in_netns(2);
    let flows = bundle(&[client, server]).flows;
    assert_eq!(flows.iter().map(names).collect::<Vec<_>>(), [("curl", "?"), ("?", "nginx")]);
}

#[test]
fn a_connection_across_namespaces_is_one_edge() {
    let client = connected("10.0.0.1:40000", "10.0.0.2:80", process("curl")).in_netns(2);
    let server = client.mirrored(3, Phase::Connected, process("nginx"));
    let listening = listener("0.0.0.0:80", process("nginx")).in_netns(3);
    let flow = only_edge(&[client, server, listening]);
    assert_eq!(names(&flow), ("curl", "nginx"));
    assert_eq!(flow.client.namespace, Some(namespace(2)));
    assert_eq!(flow.server.namespace, Some(namespace(3)));
    assert!(!flow.guessed);
}

#[test]
fn a_client_reaches_the_listener_of_another_namespace_by_its_address() {
    let ended = tcp("10.0.0.1:40000", "10.0.0.2:80", Phase::TimeWait, Owner::Unobserved);
    let listening = listener("10.0.0.2:80", process("nginx")).in_netns(3);
    let flow = only_edge(&[ended.clone(), listening.clone()]);
    assert_eq!((names(&flow), flow.guessed), (("?", "nginx"), false));
    assert_eq!(flow.server.namespace, Some(namespace(3)));

    let twin = listening.clone().in_netns(2);
    let flow = only_edge(&[ended, listening, twin]);
    assert_eq!(flow.server, End::unobserved(ip("10.0.0.2")), "it could be either");
}

/// A client may be bound to a loopback address and call another address of its host.
#[test]
fn a_connection_from_loopback_to_an_outer_address_is_one_edge() {
    let mut sockets = vec![listener("0.0.0.0:80", process("nginx"))];
    for port in [40000, 40001] {
        let client = connected(&format!("127.0.0.1:{port}"), "10.0.0.1:80", process("curl"));
        sockets.push(client.mirrored(1, Phase::Connected, process("nginx")));
        sockets.push(client);
    }
    let other = connected("127.0.0.1:40002", "10.0.0.1:80", process("wget"));
    sockets.push(other.mirrored(1, Phase::Connected, Owner::Hidden { uid: 33 }));
    sockets.push(other);
    let flows = bundle(&sockets).flows;
    let edges: Vec<_> = flows.iter().map(|flow| (names(flow), flow.connections())).collect();
    assert_eq!(edges, [(("wget", "?"), 1), (("curl", "nginx"), 2)]);
}

/// gRPC's usual port lies in the range of the ephemeral ones.
#[test]
fn a_client_of_an_ephemeral_port_elsewhere_is_a_client() {
    for port in [40000, 55000] {
        let local = format!("10.0.0.1:{port}");
        let flow = only_edge(&[connected(&local, "192.0.2.1:50051", process("grpc-client"))]);
        assert_eq!((flow.server_port, flow.side(), flow.guessed), (50051, "active", true));
    }
}

#[test]
fn a_socket_that_is_connected_to_itself_counts_once() {
    let flow = only_edge(&[connected("127.0.0.1:40000", "127.0.0.1:40000", process("loop"))]);
    assert_eq!(names(&flow), ("loop", "loop"));
    assert_eq!((flow.active.connections, flow.passive.connections), (1, 0));
}

#[test]
fn a_tuple_that_was_listed_twice_pairs_once() {
    let client = connected("127.0.0.1:40000", "127.0.0.1:80", process("curl"));
    let server = client.mirrored(1, Phase::Connected, process("nginx"));
    let listening = listener("127.0.0.1:80", process("nginx"));
    let flow = only_edge(&[client.clone(), client, server, listening]);
    assert_eq!((flow.active.connections, flow.passive.connections), (2, 1));
}

#[test]
fn the_exact_address_is_preferred_to_the_wildcard() {
    let ended = tcp("127.0.0.1:40000", "127.0.0.2:80", Phase::TimeWait, Owner::Unobserved);
    let any = listener("0.0.0.0:80", process("any"));
    let flow = only_edge(&[ended.clone(), any.clone(), listener("127.0.0.2:80", process("one"))]);
    assert_eq!(names(&flow), ("?", "one"));
    let flow = only_edge(&[ended.clone(), listener("127.0.0.3:80", process("one")), any]);
    assert_eq!(names(&flow), ("?", "any"));
    let flow = only_edge(&[ended, listener("[::]:80", process("dual"))]);
    assert_eq!(names(&flow), ("?", "dual"));
}

#[test]
fn a_udp_client_that_uses_sendto_is_no_service() {
    let resolver = listener("0.0.0.0:53", process("unbound")).udp();
    let client = listener("0.0.0.0:40000", process("dig")).udp();
    // A reply socket of the server, connected to the client's port.
    let reply = connected("127.0.0.1:53", "127.0.0.1:40000", process("unbound")).udp();
    let seen = bundle(&[resolver, client.clone(), reply.clone()]);
    assert_eq!(seen.listeners.iter().map(|listener| listener.port).collect::<Vec<_>>(), [53]);
    assert_eq!((seen.flows[0].server_port, seen.flows[0].guessed), (53, false));

    let seen = bundle(&[client, reply]);
    assert_eq!((seen.flows[0].server_port, seen.flows[0].guessed), (53, true));
}

#[test]
fn a_udp_client_that_uses_connect_beside_sendto_is_no_service() {
    let bound = listener("0.0.0.0:40000", process("dig")).udp();
    let call = connected("10.0.0.1:40000", "192.0.2.1:53", process("dig")).udp();
    let flow = only_edge(&[bound, call]);
    assert_eq!((flow.server_port, flow.side(), flow.guessed), (53, "active", false));
}

#[test]
fn the_same_link_local_tuple_in_two_namespaces_is_two_edges() {
    let client = connected("[fe80::1]:40000", "[fe80::2]:80", process("curl"));
    let server = client.mirrored(1, Phase::Connected, process("nginx"));
    let mut sockets = vec![client, server];
    sockets.extend(sockets.clone().into_iter().map(|seen| seen.in_netns(2)));
    let flows = bundle(&sockets).flows;
    assert_eq!(flows.len(), 2);
    assert!(flows.iter().all(|flow| flow.client.namespace == flow.server.namespace));
}

#[test]
fn tcp_and_udp_on_one_port_are_two_edges() {
    let over_tcp = connected("10.0.0.1:40000", "192.0.2.1:53", process("dig"));
    let over_udp = over_tcp.clone().udp();
    let flows = bundle(&[over_udp, over_tcp]).flows;
    let transports: Vec<_> = flows.iter().map(|flow| flow.transport).collect();
    assert_eq!(transports, [Transport::Tcp, Transport::Udp]);
}

#[test]
fn many_workers_are_one_edge_with_a_bounded_list_of_process_ids() {
    let sockets: Vec<Observation> = (0..40)
        .rev()
        .map(|n| {
            let local = format!("10.0.0.1:{}", 40000 + n);
            connected(&local, "192.0.2.1:443", process("worker")).by_pid(100 + n)
        })
        .collect();
    let flow = only_edge(&sockets);
    assert_eq!(flow.connections(), 40);
    assert_eq!(flow.client.pids.as_slice(), (100..116).collect::<Vec<u32>>());
    assert!(flow.client.pids.has_more());
}
