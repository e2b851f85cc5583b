//! A small map for the tests of what is printed.

use std::{net::IpAddr, sync::Arc};

use portolan_flow::{
    Bundle, Counters, End, Flow, Listener, Namespace, Owner, Pids, Process, Transport,
};
use portolan_hub::{Config, Graph, Hub, Memory};

/// When the sample's reading was taken.
pub const NOW_MS: u64 = 1_795_222_800_000;

fn end(name: &str) -> End {
    let process = Process { name: name.to_owned(), unit: None, container: None };
    End {
        address: IpAddr::from([127, 0, 0, 1]),
        namespace: Some(Namespace::new(Namespace::HOST)),
        owner: Owner::Process(Arc::new(process)),
        pids: Pids::of(7),
    }
}

fn flow(client: &str, server: &str, server_port: u16, connections: u64) -> Flow {
    let counters = Counters { connections, ..Counters::default() };
    Flow {
        transport: Transport::Tcp,
        server_port,
        client: end(client),
        server: end(server),
        active: counters,
        passive: counters,
        traffic: None,
        guessed: false,
    }
}

/// A map of `(client, server, port, connections)`; each server listens.
pub fn graph(edges: &[(&str, &str, u16, u64)]) -> Graph {
    let mut bundle = Bundle::default();
    for &(client, server, port, connections) in edges {
        bundle.flows.push(flow(client, server, port, connections));
        let listener = Listener { transport: Transport::Tcp, port, end: end(server) };
        bundle.listeners.push(listener);
    }
    let hub = Hub::open(Config::default(), Box::new(Memory::new())).expect("memory opens");
    hub.ingest(bundle, NOW_MS, Vec::new(), "test");
    hub.graph(None)
}
