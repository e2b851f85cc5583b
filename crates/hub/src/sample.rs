//! Flows, listeners and readings for tests.

use std::sync::Arc;

use portolan_flow::{
    Bundle, Counters, End, Flow, Listener, Namespace, Owner, Pids, Process, Totals, Traffic,
    Transport, fold,
};
use proptest::prelude::*;

use crate::live::{Delta, Live, Reading};

/// The end of a process in the observer's namespace.
pub fn process(name: &str, address: &str) -> End {
    End { pids: Pids::of(7), ..owned(address, name, None, None) }
}

/// The end of a process of a systemd unit.
pub fn unit(name: &str, unit: &str, address: &str) -> End {
    owned(address, name, Some(unit), None)
}

/// The end of a process in a container.
pub fn container(name: &str, id: &str, address: &str) -> End {
    owned(address, name, Some("docker-1.scope"), Some(id))
}

/// The end of a process that may not be seen.
pub fn hidden(uid: u32, address: &str) -> End {
    End { owner: Owner::Hidden { uid }, ..local(address) }
}

/// An end on this host without an owner, as of TIME-WAIT.
pub fn local(address: &str) -> End {
    End { namespace: Some(Namespace::new("host")), ..remote(address) }
}

/// An end elsewhere.
pub fn remote(address: &str) -> End {
    End::unobserved(address.parse().expect("an address"))
}

/// The same end in a namespace of its own.
pub fn within(namespace: &str, end: End) -> End {
    End { namespace: Some(Namespace::new(namespace)), ..end }
}

fn owned(address: &str, name: &str, unit: Option<&str>, container: Option<&str>) -> End {
    let process = Process {
        name: name.to_owned(),
        unit: unit.map(str::to_owned),
        container: container.map(str::to_owned),
    };
    End { owner: Owner::Process(Arc::new(process)), ..local(address) }
}

/// One connection that is up, seen from both ends.
pub fn flow(client: End, server: End, server_port: u16) -> Flow {
    let one = Counters { connections: 1, ..Counters::default() };
    Flow {
        transport: Transport::Tcp,
        server_port,
        client,
        server,
        active: one,
        passive: one,
        traffic: None,
        guessed: false,
    }
}

/// One connection in TIME-WAIT on the client's end.
pub fn ended(client: End, server: End, server_port: u16) -> Flow {
    let one = Counters { time_wait: 1, ..Counters::default() };
    Flow { active: one, passive: Counters::default(), ..flow(client, server, server_port) }
}

/// The same flow without sockets, and with this traffic in a second at the client's end.
pub fn counted(flow: Flow, active: Totals) -> Flow {
    let traffic = Traffic { span_ms: 1_000, active, passive: Totals::default() };
    let (active, passive) = (Counters::default(), Counters::default());
    Flow { active, passive, traffic: Some(Box::new(traffic)), ..flow }
}

/// A listening port.
pub fn listener(end: End, port: u16) -> Listener {
    Listener { transport: Transport::Tcp, port, end }
}

/// A reading without warnings.
pub fn reading(flows: Vec<Flow>, listeners: Vec<Listener>) -> Reading {
    Reading { bundle: bundle(flows, listeners), warnings: Vec::new(), method: "test".to_owned() }
}

/// Has a reading sorted and applied.
pub fn take(live: &mut Live, reading: Reading, now_ms: u64) -> Delta {
    let sorted = live.sort(reading);
    live.apply(sorted, now_ms)
}

/// A bundle as `portolan_flow` hands it over: folded and in order.
pub fn bundle(flows: Vec<Flow>, mut listeners: Vec<Listener>) -> Bundle {
    listeners.sort();
    listeners.dedup_by(|a, b| a.end.same_party(&b.end) && a.port == b.port);
    Bundle { flows: fold(flows), listeners }
}

/// Any of a few ends, so that they meet again and again.
pub fn any_end() -> impl Strategy<Value = End> {
    let address = prop_oneof![Just("127.0.0.1"), Just("10.0.0.1"), Just("10.0.0.9"), Just("::1")];
    (0..10, address, 0..3u32).prop_map(|(kind, address, pid)| {
        let mut end = match kind {
            0 => process("psql", address),
            1 => process("curl", address),
            2 => unit("postgres", "postgresql@15-main.service", address),
            3 => unit("nginx", "nginx.service", address),
            4 => container("redis", "0123456789abcdef", address),
            5 => hidden(70, address),
            6 => local(address),
            7 => within("netns:blue", process("nginx", address)),
            8 => within("netns:blue", local(address)),
            _ => remote(address),
        };
        if end.owner.process().is_some() && pid > 0 {
            end.pids = Pids::of(pid);
        }
        end
    })
}

/// Any flow between [`any_end`]s.
pub fn any_flow() -> impl Strategy<Value = Flow> {
    let port = prop_oneof![Just(80_u16), Just(5432)];
    let counts = (0..3u64, 0..2u64, 0..2u64)
        .prop_map(|(connections, opening, time_wait)| Counters { connections, opening, time_wait });
    let counts = (counts.clone(), counts);
    (any_end(), any_end(), port, counts, any_traffic(), any::<bool>()).prop_map(
        |(client, server, port, (active, passive), traffic, guessed)| {
            let mut flow = Flow { active, passive, traffic, guessed, ..flow(client, server, port) };
            if flow.counts_nothing() {
                flow.active.connections = 1;
            }
            flow
        },
    )
}

/// Any traffic, often none.
fn any_traffic() -> impl Strategy<Value = Option<Box<Traffic>>> {
    let totals = (0..2u64, 0..2u64, 0..3u64, 0..3u64).prop_map(
        |(opened, refused, bytes_sent, bytes_received)| Totals {
            opened,
            refused,
            bytes_sent,
            bytes_received,
            ..Totals::default()
        },
    );
    let traffic = (prop_oneof![Just(1_000_u64), Just(1_003), Just(2_000)], totals.clone(), totals)
        .prop_map(|(span_ms, active, passive)| Box::new(Traffic { span_ms, active, passive }));
    prop::option::of(traffic)
}

/// Any reading of up to a few flows and listeners.
pub fn any_reading() -> impl Strategy<Value = Reading> {
    let listeners = prop::collection::vec((any_end(), 1..4u16), 0..4);
    (prop::collection::vec(any_flow(), 0..8), listeners, 0..3usize).prop_map(
        |(flows, listeners, warnings)| {
            let listeners = listeners.into_iter().map(|(end, port)| listener(end, port)).collect();
            let warnings = vec!["a warning".to_owned(); warnings];
            Reading { warnings, ..reading(flows, listeners) }
        },
    )
}
