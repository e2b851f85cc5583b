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
