//! Source ports, as the client uses them and the server sees them.

mod own_network;

use std::{
    collections::BTreeSet,
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use portolan_load::{
    Client, ClientOptions, Close, Mode, Server, ServerOptions, Summary, parse_addresses,
    parse_sources,
    source_ports::{Advice, Host, Strategy},
};

/// Each test has addresses of its own, where it has no network of its own: what is in TIME-WAIT
/// stays.
fn server(address: &str) -> Server {
    let listen = parse_addresses(address).unwrap();
    Server::start(&ServerOptions { listen, threads: 1, ..ServerOptions::default() }).unwrap()
}

fn options(server: &Server, sources: &str, strategy: Strategy) -> ClientOptions {
    ClientOptions {
        targets: server.addresses().to_vec(),
        sources: parse_sources(sources).unwrap(),
        ports: strategy,
        ..ClientOptions::default()
    }
}

fn run(options: &ClientOptions) -> Summary {
    Client::start(options).unwrap().wait().unwrap()
}

#[test]
fn every_strategy_connects_and_says_who_it_is() {
    own_network::enter();
    for (nth, strategy) in [Strategy::Kernel, Strategy::Explicit, Strategy::Range, Strategy::Auto]
        .into_iter()
        .enumerate()
    {
        let server = server("127.92.0.1:0");
        let sources = format!("127.92.{}.0/30", nth + 1);
        let summary = run(&ClientOptions {
            count: Some(400),
            threads: 2,
            ..options(&server, &sources, strategy)
        });
        assert_eq!((summary.total.connected, summary.total.errors()), (400, 0), "{strategy}");
        assert_eq!(server.stop().unwrap().total.accepted, 400);
        let used = summary.source_ports.unwrap();
        let expected = if strategy == Strategy::Auto { Strategy::Explicit } else { strategy };
        assert_eq!(used.strategy, expected);
        assert!(!used.why.is_empty());
    }
}

/// The server's view of where its clients come from; it keeps their connections meanwhile.
fn peers(listener: &TcpListener, count: usize) -> BTreeSet<u16> {
    let accepted: Vec<_> = (0..count).map(|_| listener.accept().unwrap()).collect();
    accepted.iter().map(|(_, peer)| peer.port()).collect()
}

/// A port that the kernel passes over for its bucket's sake is one less: also those of others in
/// TIME-WAIT, to wherever.
#[test]
fn within_a_range_the_kernel_chooses_each_port_once() {
    own_network::enter();
    let listener = TcpListener::bind("127.93.0.1:0").unwrap();
    let targets = vec![listener.local_addr().unwrap()];
    let accepted = thread::spawn(move || peers(&listener, 100));
    let first = *Host::read().ephemeral.start();
    // Fewer than the listener's backlog, so that none waits for whoever accepts.
    let range = first..=first + 119;
    let summary = run(&ClientOptions {
        mode: Mode::Connect,
        targets,
        sources: parse_sources("127.93.0.2").unwrap(),
        ports: Strategy::Range,
        source_ports: Some(range.clone()),
        close: Close::Fin,
        count: Some(100),
        requests: 0,
        ..ClientOptions::default()
    });
    assert_eq!(summary.total.connected, 100, "{summary:?}");
    let ports = accepted.join().unwrap();
    assert!(ports.len() == 100 && ports.iter().all(|port| range.contains(port)), "{ports:?}");
}

#[test]
fn what_somebody_listens_on_is_passed_over_and_the_rest_used_up() {
    own_network::enter();
    let server = server("127.94.0.1:0");
    // Two of forty ports are taken at the source address; it finds out, whether they were there
    // before it looked or not.
    let _before = TcpListener::bind("127.94.0.2:23005").unwrap();
    let mut options = ClientOptions {
        mode: Mode::Request,
        connections: 50,
        count: Some(1_000),
        source_ports: Some(23_000..=23_039),
        timeout: Duration::from_secs(20),
        ..options(&server, "127.94.0.2", Strategy::Explicit)
    };
    let summary = run(&options);
    let total = summary.total;
    assert!(total.connect_errors.no_source_port > 0, "39 ports for 50 connections: {total:?}");
    assert_eq!(total.errors(), total.connect_errors.no_source_port, "nothing else: {total:?}");
    assert!(summary.source_ports_skipped > 0, "the listener's: {summary:?}");
    let advice = summary.source_ports.unwrap().advice;
    assert!(advice.iter().any(|it| matches!(it, Advice::Crowded { .. })), "{advice:?}");
    // Another source address has forty more.
    options.sources = parse_sources("127.94.0.3,127.94.0.4").unwrap();
    let summary = run(&options);
    assert_eq!((summary.total.responses, summary.total.errors()), (1_000, 0));
    server.stop().unwrap();
}

/// Ports that sockets were bound to are taken from all who connect without naming one, whatever
/// the destination, as long as TIME-WAIT lasts: not all may be.
#[test]
fn others_can_connect_after_a_run_that_used_all_ports_that_it_may() {
    // The host's own range is not to be touched.
    if !own_network::enter() {
        return;
    }
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "33000 33999").unwrap();
    let server = server("127.0.0.1:7000");
    let other = TcpListener::bind("127.0.0.1:7001").unwrap();
    let summary = run(&ClientOptions {
        count: Some(2_000),
        requests: 0,
        // Its ports twice around.
        ..options(&server, "127.0.0.1", Strategy::Auto)
    });
    let used = summary.source_ports.unwrap();
    assert!(summary.total.connected >= used.free, "all were used: {used:?}");
    for _ in 0..20 {
        TcpStream::connect(other.local_addr().unwrap()).unwrap();
        TcpListener::bind("127.0.0.1:0").unwrap();
    }
    server.stop().unwrap();
}
