//! A tracer under load: what both ends of the load generator did is what was counted.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use portolan_e2e::{
    World,
    traced::{Half, Side, Traced, timeless},
};
use portolan_flow::{Totals, Transport};
use portolan_load::{
    Client, ClientOptions, Close, Mode, Server, ServerOptions, ServerSummary, Summary, Transports,
};

/// How often a reading is taken under load.
const INTERVAL: Duration = Duration::from_millis(200);

/// One load at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn server(listen: Vec<SocketAddr>, transports: Transports, response_bytes: u32) -> Server {
    let options =
        ServerOptions { listen, transports, response_bytes, threads: 1, ..Default::default() };
    Server::start(&options).unwrap_or_else(|error| panic!("{error}"))
}

/// Generates the load in a world of its own while a tracer is read.
fn load(
    transports: Transports,
    options: ClientOptions,
    traced: &mut Option<Traced>,
) -> (Summary, ServerSummary) {
    let world = World::new();
    world.host.enter(|| {
        let listen: Vec<SocketAddr> =
            ["127.0.0.1:7000", "[::1]:7001"].map(|address| address.parse().expect("valid")).into();
        let server = server(listen.clone(), transports, options.response_bytes);
        let mut tracer = Traced::open();
        let client = Client::start(&ClientOptions { targets: listen, ..options })
            .unwrap_or_else(|error| panic!("{error}"));
        let waiter = thread::spawn(|| client.wait());
        while !waiter.is_finished() {
            thread::sleep(INTERVAL);
            tracer.read();
        }
        let client = waiter.join().expect("it does not panic").expect("it can go on");
        let server = server.stop().expect("it can go on");
        tracer.read();
        *traced = Some(tracer);
        (client, server)
    })
}

fn report(what: &str, client: &Summary, traced: &Traced) {
    let slowest = traced.took.iter().max().copied().unwrap_or_default();
    eprintln!(
        "{what}: {:.0} per second in {:.1} s, {} readings, the slowest {slowest:?}; {:?}",
        client.achieved_per_second,
        client.seconds,
        traced.took.len(),
        traced.losses.by_reason()
    );
}

/// What a connection that is not seen in its beginning or in its end costs at most.
fn within(counted: u64, truth: u64, slack: u64, what: &str) {
    assert!(counted.abs_diff(truth) <= slack, "{what}: {counted} counted, {truth} happened");
}

#[test]
fn short_lived_connections_as_fast_as_they_go() {
    let _alone = alone();
    for close in [Close::Fin, Close::Reset] {
        let options = ClientOptions {
            rate: Some(20_000.0),
            duration: Some(Duration::from_secs(if close == Close::Fin { 5 } else { 2 })),
            connections: 128,
            request_bytes: 100,
            response_bytes: 300,
            source_ports: Some(1024..=65_535),
            close,
            ..ClientOptions::default()
        };
        let mut traced = None;
        let (client, server) = load(Transports::Tcp, options, &mut traced);
        let traced = traced.expect("it was open");
        report(&format!("connections, ended by {close:?}"), &client, &traced);
        let lost = traced.losses;
        let untold = lost.missed + lost.untracked + lost.no_room + lost.stale;
        for (target, port) in client.targets.iter().zip(&server.ports) {
            let (mine, theirs) = (target.counts, port.counts);
            assert_eq!((mine.connected, theirs.accepted), (theirs.accepted, theirs.closed));
            let (active, passive) = traced.tcp(target.address);
            let what = format!("{} {untold} untold", target.address);
            for (end, sent, received) in [
                (active, mine.bytes_sent, mine.bytes_received),
                (passive, theirs.bytes_sent, theirs.bytes_received),
            ] {
                within(end.opened, mine.connected, untold, &what);
                within(end.closed, mine.connected, untold, &what);
                within(end.bytes_sent, sent, untold * 300, &what);
                within(end.bytes_received, received, untold * 300, &what);
                assert_eq!((end.refused, end.timed_out, end.unreachable), (0, 0, 0), "{what}");
                let resets = if close == Close::Reset { mine.closed } else { 0 };
                within(end.resets, resets, untold, &what);
            }
            // Ports that turned out to be taken.
            assert!(active.abandoned <= client.source_ports_skipped + mine.connects_given_up);
        }
    }
}
