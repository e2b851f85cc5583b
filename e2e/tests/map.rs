//! The map of a world that is known: real servers and clients, in two network namespaces.

use std::collections::BTreeSet;

use portolan_e2e::{
    Place, Running, World,
    edges::{Edge, edges, records_in},
    peers::{self, HTTP, POSTGRES, REDIS},
    tcp,
};
use serde_json::Value;

const LOOPBACK: &str = "127.0.0.1";

/// Servers and clients on the host, in another namespace, and across.
struct Scene {
    inside: Place,
    /// Dropped before the servers.
    _clients: Vec<Running>,
    _servers: Vec<Running>,
}

impl Scene {
    fn start(world: &mut World) -> Self {
        let inside = world.add_namespace();
        let mut servers = Vec::new();
        let mut clients = Vec::new();
        for (place, address) in [(&world.host, LOOPBACK), (&inside, "0.0.0.0")] {
            servers.push(peers::postgres(world, place, address));
            servers.push(peers::redis(world, place, address));
            servers.push(peers::nginx(world, place, address));
        }
        let from = [(&world.host, LOOPBACK), (&world.host, &inside.address), (&inside, LOOPBACK)];
        for (place, address) in from {
            clients.push(peers::psql(place, address));
            clients.push(peers::redis_cli(place, address));
            clients.push(peers::curl(place, address, HTTP));
        }
        clients.push(peers::psql(&world.host, LOOPBACK));
        tcp::wait_accepted(&world.host, POSTGRES, 2);
        tcp::wait_accepted(&inside, POSTGRES, 2);
        for port in [REDIS, HTTP] {
            tcp::wait_accepted(&world.host, port, 1);
            tcp::wait_accepted(&inside, port, 2);
        }
        Self { inside, _clients: clients, _servers: servers }
    }

    fn expected(&self, host: &Place) -> BTreeSet<Edge> {
        let inside = &self.inside;
        let ways = [
            // From, its address, to, its address, connections of psql.
            (host, LOOPBACK, host, LOOPBACK, 2),
            (host, host.address.as_str(), inside, inside.address.as_str(), 1),
            (inside, LOOPBACK, inside, LOOPBACK, 1),
        ];
        let edges = ways.into_iter().flat_map(|(from, client, to, server, count)| {
            [
                ("psql", "postgres", POSTGRES, count),
                ("redis-cli", "redis-server", REDIS, 1),
                ("curl", "nginx", HTTP, 1),
            ]
            .map(|(client_name, server_name, port, count)| {
                Edge::new((client_name, client, from), (server_name, server, port, to), count)
            })
        });
        edges.collect()
    }
}

fn check_facts(record: &Value) {
    let service = match record["server_port"].as_u64() {
        Some(5432) => "postgresql",
        Some(6379) => "redis",
        _ => "http",
    };
    assert_eq!(record["version"], 1, "{record}");
    assert_eq!(record["server_service"], service, "{record}");
    assert_eq!(record["network_type"], "ipv4", "{record}");
    assert_eq!(record["side"], "both", "{record}");
    assert_eq!(record["direction_guessed"], false, "{record}");
    assert_eq!((&record["opening"], &record["time_wait"]), (&0.into(), &0.into()), "{record}");
    for end in ["client", "server"] {
        let count = record[format!("{end}_pids")].as_array().map(Vec::len);
        let expected = if end == "client" { record["connections"].as_u64() } else { None };
        assert!(count.is_some_and(|count| count > 0), "{record}");
        assert!(expected.is_none_or(|expected| Some(expected as usize) == count), "{record}");
        assert!(record[format!("{end}_uid")].is_null(), "{record}");
    }
    assert!(record["first_seen_ms"].as_u64() > Some(1_700_000_000_000), "{record}");
    assert_eq!(record["first_seen_ms"], record["last_seen_ms"], "{record}");
}

#[test]
fn real_servers_and_clients_in_two_namespaces() {
    let mut world = World::new();
    let scene = Scene::start(&mut world);
    let expected = scene.expected(&world.host);
    for listing in ["auto", "diag", "procfs"] {
        let arguments = ["map", "--once", "--json", "--no-store", "--listing", listing];
        let ran = world.host.succeed(world.portolan(&arguments));
        let records = records_in(&ran.stdout, &[&world.host, &scene.inside]);
        assert_eq!(edges(&records), expected, "--listing {listing}: {ran}");
        assert_eq!(records.len(), expected.len(), "an edge is listed twice: {ran}");
        records.iter().for_each(check_facts);
    }
}

/// The edges of the worlds' hosts, seen from the first one.
fn seen_from(world: &World, places: &[&Place]) -> (BTreeSet<Edge>, Vec<Value>) {
    let ran = world.host.succeed(world.portolan(&["map", "--once", "--json", "--no-store"]));
    let records = records_in(&ran.stdout, places);
    (edges(&records), records)
}

#[test]
fn ipv6_and_ipv4_on_an_ipv6_socket() {
    let world = World::new();
    let host = &world.host;
    let _redis = peers::redis(&world, host, "::1");
    // The server's end of this is ::ffff:127.0.0.1, the client's is 127.0.0.1.
    let _nginx = peers::nginx_on(&world, host, "listen [::]:80 ipv6only=off");
    let _clients = [peers::redis_cli(host, "::1"), peers::curl(host, LOOPBACK, HTTP)];
    tcp::wait_accepted(host, REDIS, 1);
    tcp::wait_accepted(host, HTTP, 1);
    let (found, records) = seen_from(&world, &[host]);
    let expected = [
        Edge::new(("redis-cli", "::1", host), ("redis-server", "::1", REDIS, host), 1),
        Edge::new(("curl", LOOPBACK, host), ("nginx", LOOPBACK, HTTP, host), 1),
    ];
    assert_eq!(found, BTreeSet::from(expected));
    for record in records {
        let is_redis = record["client_process"] == "redis-cli";
        assert_eq!(record["network_type"], if is_redis { "ipv6" } else { "ipv4" }, "{record}");
        assert_eq!(
            (&record["side"], &record["direction_guessed"]),
            (&"both".into(), &false.into())
        );
    }
}

#[test]
fn a_connected_datagram_socket_is_an_edge() {
    let world = World::new();
    let host = &world.host;
    let _server = peers::datagrams(host, "Local", 514);
    let _client = peers::datagrams(host, "Peer", 514);
    let (found, records) = seen_from(&world, &[host]);
    let expected = Edge {
        network_transport: "udp".to_owned(),
        ..Edge::new(("perl", LOOPBACK, host), ("perl", LOOPBACK, 514, host), 1)
    };
    assert_eq!(found, BTreeSet::from([expected]));
    assert_eq!(records[0]["direction_guessed"], false, "{}", records[0]);
}

#[test]
fn the_same_addresses_in_a_namespace_without_a_name() {
    let (here, there) = (World::new(), World::new());
    let mut unnamed = there.host.clone();
    unnamed.namespace = format!("netns:{}", unnamed.inode());
    let _servers = [&here, &there].map(|world| peers::redis(world, &world.host, LOOPBACK));
    let _clients = [&here.host, &there.host].map(|host| peers::redis_cli(host, LOOPBACK));
    let _another = peers::redis_cli(&there.host, LOOPBACK);
    tcp::wait_accepted(&here.host, REDIS, 1);
    tcp::wait_accepted(&there.host, REDIS, 2);
    let edge = |place: &Place, connections| {
        let server = ("redis-server", LOOPBACK, REDIS, place);
        Edge::new(("redis-cli", LOOPBACK, place), server, connections)
    };
    let (found, _) = seen_from(&here, &[&here.host, &unnamed]);
    assert_eq!(found, BTreeSet::from([edge(&here.host, 1), edge(&unnamed, 2)]));
    let own = here.portolan(&["map", "--once", "--json", "--no-store", "--own-namespace"]);
    let own = here.host.succeed(own);
    assert_eq!(edges(&records_in(&own.stdout, &[&unnamed])), BTreeSet::new(), "{own}");
}

#[test]
fn a_connection_that_just_closed_is_no_guess() {
    let world = World::new();
    let host = &world.host;
    let _redis = peers::redis(&world, host, LOOPBACK);
    // It closes first, so its end is in TIME-WAIT, and nobody's.
    let closed = host.enter(|| std::net::TcpStream::connect((LOOPBACK, REDIS)));
    drop(closed.expect("a connection"));
    tcp::wait_accepted(host, REDIS, 0);
    let (found, records) = seen_from(&world, &[host]);
    let [edge] = &found.iter().collect::<Vec<_>>()[..] else { panic!("one edge: {found:?}") };
    assert_eq!((edge.server_port, edge.connections), (REDIS, 0), "{edge:?}");
    assert_eq!(edge.client_process, None, "nobody holds it any more: {edge:?}");
    assert_eq!(edge.server_process.as_deref(), Some("redis-server"), "{edge:?}");
    assert_eq!(records[0]["time_wait"], 1, "{}", records[0]);
    assert_eq!(records[0]["direction_guessed"], false, "{}", records[0]);
}
