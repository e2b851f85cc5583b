//! A small map for the tests of what is printed.

use std::{net::IpAddr, sync::Arc};

use portolan_flow::{
    Bundle, Counters, End, Flow, Listener, Namespace, Owner, Pids, Process, Totals, Traffic,
    Transport,
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
    take(bundle)
}

/// A map of a busy edge, a failing one, one that is only connected, and one that never is.
pub fn busy() -> Graph {
    let with = |flow: Flow, active: Totals| {
        let traffic = Traffic { span_ms: 2_000, active, passive: Totals::default() };
        Flow { traffic: Some(Box::new(traffic)), ..flow }
    };
    let rtt = Totals { rtt_us_sum: 800, rtt_samples: 2, ..Totals::default() };
    let busy = Totals { opened: 240, bytes_sent: 400_000, bytes_received: 2_000_000, ..rtt };
    let refused = Totals { refused: 5, timed_out: 1, ..Totals::default() };
    let brief = Totals { opened: 1, closed: 1, retransmits: 1, ..Totals::default() };
    take(Bundle {
        flows: vec![
            flow("psql", "postgres", 5432, 1),
            with(flow("nginx", "api", 8080, 3), Totals { refused: 5, retransmits: 2, ..busy }),
            with(flow("api", "redis", 6379, 0), refused),
            with(flow("cron", "api", 8080, 0), brief),
        ],
        listeners: Vec::new(),
    })
}

fn take(bundle: Bundle) -> Graph {
    let hub = Hub::open(Config::default(), Box::new(Memory::new())).expect("memory opens");
    hub.ingest(bundle, NOW_MS, Vec::new(), "test");
    hub.graph(None)
}
