//! A network namespace of its own, in which nothing happens but what a test does.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    panic, thread,
};

use portolan_flow::{Flow, Namespace, Totals, Transport, fold};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    netns,
};
use portolan_trace::{Attach, MethodName, Reading, TraceOptions, Tracer};

/// Runs a test in a namespace of its own. Says so where that is not possible.
pub fn alone(test: impl FnOnce() + Send + 'static) {
    if !capabilities::has(CapabilitySet::SYS_ADMIN) {
        eprintln!("skipped: needs root, to trace and for a network namespace");
        return;
    }
    let inside = move || {
        netns::unshare_thread().expect("root may");
        netns::loopback_up().expect("it is ours");
        test();
    };
    if let Err(panicked) = thread::spawn(inside).join() {
        panic::resume_unwind(panicked);
    }
}

/// A tracer of the method with small maps.
pub fn tracer(method: MethodName) -> Tracer {
    open(TraceOptions { method, ..TraceOptions::default() })
}

/// Whether tracers are attached to the root control group alone: in `conservation_by_cgroup.rs`.
pub fn is_by_cgroup() -> bool {
    module_path!().starts_with("conservation_by_cgroup")
}

/// A tracer with these options, and a queue that is not too small.
pub fn open(options: TraceOptions) -> Tracer {
    let attach = is_by_cgroup().then_some(Attach::Cgroup);
    Tracer::open(TraceOptions { attach, ..options }).unwrap_or_else(|error| panic!("{error}"))
}

/// Both ends of a connection, from one address.
pub fn connect(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().expect("it listens")).expect("loopback");
    let (server, _) = listener.accept().expect("it was just opened");
    (client, server)
}

/// Moves so many bytes from one end to the other.
pub fn move_bytes(mut from: &TcpStream, mut to: &TcpStream, bytes: usize) {
    let mut left = bytes;
    while left > 0 {
        let part = left.min(16_384);
        from.write_all(&vec![7; part]).expect("it is up");
        to.read_exact(&mut vec![0; part]).expect("it is up");
        left -= part;
    }
}

/// Ends a connection; the one that closes first says so to the other.
pub fn close(first: TcpStream, mut second: TcpStream) {
    first.shutdown(Shutdown::Write).expect("it is up");
    assert_eq!(second.read(&mut [0; 1]).expect("its end"), 0);
    drop(second);
    drop(first);
}

/// What was seen in this namespace under each {transport, server, port}, from both ends, and the
/// connections that are up.
#[derive(Debug, Default)]
pub struct Seen {
    pub edges: BTreeMap<(bool, SocketAddr), (Totals, Totals)>,
    pub up: BTreeMap<SocketAddr, (u64, u64)>,
    pub flows: Vec<Flow>,
    pub overflow: Totals,
}

impl Seen {
    /// Adds a reading.
    pub fn add(&mut self, reading: Reading) {
        let lost = reading.losses;
        assert_eq!((lost.queue_full, lost.not_counted, lost.no_room), (0, 0, 0));
        self.overflow.add(&reading.overflow);
        self.up.clear();
        let here = |flow: &Flow| {
            let ends = [&flow.client, &flow.server];
            ends.iter().any(|end| end.namespace.as_ref().is_some_and(Namespace::is_host))
        };
        self.flows = fold(reading.flows).into_iter().filter(here).collect();
        for flow in &self.flows {
            let server = SocketAddr::new(flow.server.address, flow.server_port);
            let traffic = flow.traffic.as_ref().expect("a trace counts");
            let (active, passive) =
                self.edges.entry((flow.transport == Transport::Tcp, server)).or_default();
            active.add(&traffic.active);
            passive.add(&traffic.passive);
            let up = self.up.entry(server).or_default();
            up.0 += flow.active.connections;
            up.1 += flow.passive.connections;
        }
    }

    /// What both ends counted on TCP towards a server.
    pub fn tcp(&self, server: SocketAddr) -> (Totals, Totals) {
        self.edges.get(&(true, server)).copied().unwrap_or_default()
    }

    /// What both ends counted on UDP towards a server.
    pub fn udp(&self, server: SocketAddr) -> (Totals, Totals) {
        self.edges.get(&(false, server)).copied().unwrap_or_default()
    }
}

/// Without what depends on time.
pub fn timeless(totals: Totals) -> Totals {
    Totals { rtt_us_sum: 0, rtt_samples: 0, duration_us_sum: 0, ..totals }
}

/// An address with a port of the kernel's choice.
pub fn any_port(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse::<IpAddr>().expect("an address"), 0)
}
