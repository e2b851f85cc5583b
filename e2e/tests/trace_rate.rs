//! A tracer under load: what both ends of the load generator did is what was counted.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use portolan_e2e::{
    World,
    traced::{Side, Traced},
};
use portolan_flow::{Totals, Transport};
use portolan_load::{
    Client, ClientOptions, Close, Mode, Server, ServerOptions, ServerSummary, Summary, Transports,
};
use portolan_trace::TraceOptions;

/// How often a reading is taken under load.
const INTERVAL: Duration = Duration::from_millis(200);

/// One load at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn server(listen: Vec<SocketAddr>, transports: Transports, client: &ClientOptions) -> Server {
    let ClientOptions { request_bytes, response_bytes, .. } = *client;
    let options = ServerOptions {
        listen,
        transports,
        request_bytes,
        response_bytes,
        threads: 1,
        ..ServerOptions::default()
    };
    Server::start(&options).unwrap_or_else(|error| panic!("{error}"))
}

/// Generates the load in this thread's namespace while a tracer is read.
fn under_load(transports: Transports, options: ClientOptions) -> (Summary, ServerSummary, Traced) {
    let listen: Vec<SocketAddr> =
        ["127.0.0.1:7000", "[::1]:7001"].map(|address| address.parse().expect("valid")).into();
    let server = server(listen.clone(), transports, &options);
    let mut traced = Traced::open();
    let client = Client::start(&ClientOptions { targets: listen, ..options })
        .unwrap_or_else(|error| panic!("{error}"));
    let waiter = thread::spawn(|| client.wait());
    while !waiter.is_finished() {
        thread::sleep(INTERVAL);
        traced.read();
    }
    let client = waiter.join().expect("it does not panic").expect("it can go on");
    let server = server.stop().expect("it can go on");
    traced.read();
    (client, server, traced)
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
        let world = World::new();
        let (client, server, traced) = world.host.enter(|| under_load(Transports::Tcp, options));
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

/// Datagrams that were dropped for want of room in a socket's queue, in this namespace.
fn dropped() -> u64 {
    let sum = |file: &str, name: &str| {
        let text =
            fs::read_to_string(format!("/proc/thread-self/net/{file}")).expect("it is there");
        let mut lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
        let found = lines.find_map(|(word, number)| (word == name).then(|| number.trim()));
        found.expect("it is counted").parse::<u64>().expect("a number")
    };
    let text = fs::read_to_string("/proc/thread-self/net/snmp").expect("it is there");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, numbers) = (lines.next().expect("names"), lines.next().expect("numbers"));
    let at = names.split(' ').position(|name| name == "RcvbufErrors").expect("it is counted");
    let ipv4: u64 = numbers.split(' ').nth(at).expect("a number").parse().expect("a number");
    ipv4 + sum("snmp6", "Udp6RcvbufErrors")
}

#[test]
fn datagrams_as_fast_as_they_go() {
    let _alone = alone();
    // With an answer to each, and without any: then the server's queue runs over.
    for response_bytes in [200, 0] {
        let options = ClientOptions {
            mode: Mode::Udp,
            duration: Some(Duration::from_secs(2)),
            connections: 64,
            request_bytes: 100,
            response_bytes,
            ..ClientOptions::default()
        };
        let world = World::new();
        let (client, server, traced, dropped) = world.host.enter(|| {
            let (client, server, traced) = under_load(Transports::Udp, options);
            (client, server, traced, dropped())
        });
        report(&format!("datagrams, answered by {response_bytes} bytes"), &client, &traced);
        let sum = |side| traced.sum(side, |half| half.transport == Transport::Udp).totals;
        let (active, passive) = (sum(Side::Active), sum(Side::Passive));
        let (mine, theirs) = (client.total, server.total);
        assert_eq!(active.datagrams_sent, mine.datagrams_sent, "{traced:?}");
        assert_eq!(active.bytes_sent, mine.bytes_sent);
        // All of them have come to the socket; what it dropped, the server has not seen.
        let came = theirs.datagrams_received + dropped;
        assert_eq!(passive.datagrams_received, came, "{dropped} dropped: {traced:?}");
        assert_eq!(passive.bytes_received, 100 * came);
        assert_eq!((passive.datagrams_sent, passive.bytes_sent), {
            (theirs.datagrams_sent, theirs.bytes_sent)
        });
        assert_eq!(active.datagrams_received, theirs.datagrams_sent);
        assert_eq!(active.bytes_received, theirs.bytes_sent);
        assert!(traced.halves.keys().all(|half| !half.guessed), "{traced:?}");
        for (target, port) in client.targets.iter().zip(&server.ports) {
            let of = |side| traced.sum(side, |half| half.server == target.address).totals;
            assert_eq!(of(Side::Active).datagrams_sent, target.counts.datagrams_sent);
            assert_eq!(of(Side::Passive).datagrams_sent, port.counts.datagrams_sent);
        }
    }
}

/// More edges than there is room for, in one interval.
const EDGES: u32 = 70_000;

#[test]
fn more_edges_than_there_is_room_for() {
    let _alone = alone();
    let world = World::new();
    world.host.enter(|| {
        let any: SocketAddr = "0.0.0.0:7000".parse().expect("valid");
        let first = u32::from(Ipv4Addr::new(127, 1, 0, 0));
        let target = |number| SocketAddr::new(IpAddr::V4(Ipv4Addr::from(first + number)), 7000);
        let options = ClientOptions {
            targets: (0..EDGES).map(target).collect(),
            sources: vec![Ipv4Addr::LOCALHOST.into()],
            source_ports: Some(10_000..=60_000),
            count: Some(EDGES.into()),
            request_bytes: 10,
            response_bytes: 20,
            ..ClientOptions::default()
        };
        let server = server(vec![any], Transports::Tcp, &options);
        // It has room for all, so it tells how much of the overflow is other people's.
        let mut wide = Traced::with(TraceOptions { edges_max: 400_000, ..Default::default() });
        wide.namespaces.clear();
        let mut traced = Traced::open();
        let client = Client::start(&options).and_then(Client::wait).expect("it goes on");
        let server = server.stop().expect("it goes on");
        traced.read();
        wide.read();
        report("edges", &client, &traced);
        assert_eq!(client.total.responses, u64::from(EDGES), "{:?}", client.total);
        traced.assert_whole();
        assert!(traced.halves.len() <= 65_536 && traced.losses.overflow > 0);
        assert_eq!((wide.losses.overflow, wide.overflow), (0, Totals::default()));

        let all = |traced: &Traced| {
            let mut sum = traced.overflow;
            for side in [Side::Active, Side::Passive] {
                sum.add(&traced.sum(side, |half| half.namespace == "host").totals);
            }
            [sum.opened, sum.closed, sum.bytes_sent, sum.bytes_received]
        };
        let bytes = client.total.bytes_sent + server.total.bytes_sent;
        let truth = [2 * u64::from(EDGES), 2 * u64::from(EDGES), bytes, bytes];
        assert_eq!(all(&wide), truth, "with room for all");
        let mut others = Totals::default();
        for (half, sum) in &wide.halves {
            if half.namespace != "host" {
                others.add(&sum.totals);
            }
        }
        let others = [others.opened, others.closed, others.bytes_sent, others.bytes_received];
        eprintln!("{} rows, other people's: {others:?}", traced.halves.len());
        for ((counted, truth), others) in all(&traced).into_iter().zip(truth).zip(others) {
            assert!(counted >= truth, "{counted} of {truth}");
            assert!(counted <= truth + others, "{counted} of {truth}, others' {others}");
        }

        // The next interval has room again.
        let overflow = traced.losses.overflow;
        let again = server_of(&options);
        traced.read();
        assert_eq!(traced.losses.overflow, overflow);
        let (active, passive) = traced.tcp(target(EDGES));
        assert_eq!((active.opened, passive.opened), (again, again));
    });
}

/// A few connections more, each to the address after the last one.
fn server_of(options: &ClientOptions) -> u64 {
    let target = SocketAddr::new(Ipv4Addr::from(0x7f01_0000 + EDGES).into(), 7000);
    let server = server(vec![target], Transports::Tcp, options);
    let options = ClientOptions { targets: vec![target], count: Some(10), ..options.clone() };
    let client = Client::start(&options).and_then(Client::wait).expect("it goes on");
    server.stop().expect("it goes on");
    client.total.connected
}
