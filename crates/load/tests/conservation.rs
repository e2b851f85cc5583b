//! Both ends on loopback: what one says it did, the other saw.

mod own_network;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use portolan_load::{
    Client, ClientOptions, Close, Mode, Server, ServerOptions, ServerSummary, Summary, Transports,
    parse_addresses, parse_sources,
};

const SECOND: Duration = Duration::from_secs(1);

fn server(listen: &str) -> Server {
    let listen = parse_addresses(listen).unwrap();
    Server::start(&ServerOptions { listen, threads: 2, ..ServerOptions::default() }).unwrap()
}

/// Loads the server with `options`, and ends it.
fn load(server: Server, options: ClientOptions) -> (Summary, ServerSummary) {
    let options = ClientOptions { targets: server.addresses().to_vec(), ..options };
    let client = Client::start(&options).unwrap().wait().unwrap();
    adds_up(&client);
    (client, server.stop().unwrap())
}

/// What `counts.rs` promises.
fn adds_up(summary: &Summary) {
    for counts in summary.targets.iter().map(|target| target.counts).chain([summary.total]) {
        let connects = counts.connected + counts.connect_errors.total() + counts.connects_given_up;
        assert_eq!(counts.attempted, connects, "{counts:?}");
        assert_eq!(counts.connected, counts.closed + counts.lost, "{counts:?}");
        let requests = counts.responses + counts.request_errors.total() + counts.requests_given_up;
        assert_eq!(counts.requests, requests, "{counts:?}");
    }
}

/// Each target's counts are what the server counted at that address.
fn agree(client: &Summary, server: &ServerSummary) {
    assert_eq!(client.targets.len(), server.ports.len());
    for (target, port) in client.targets.iter().zip(&server.ports) {
        assert_eq!(target.address, port.address);
        let (mine, theirs) = (target.counts, port.counts);
        if client.mode != Mode::Udp {
            assert_eq!(mine.connected, theirs.accepted, "{target:?} {port:?}");
            assert_eq!(theirs.accepted, theirs.closed, "{port:?}");
            assert_eq!(mine.requests, theirs.requests, "{target:?} {port:?}");
        }
        assert_eq!(mine.bytes_sent, theirs.bytes_received, "{target:?} {port:?}");
        assert_eq!(mine.bytes_received, theirs.bytes_sent, "{target:?} {port:?}");
        assert_eq!(mine.datagrams_sent, theirs.datagrams_received, "{target:?} {port:?}");
        assert_eq!(mine.datagrams_received, theirs.datagrams_sent, "{target:?} {port:?}");
    }
}

#[test]
fn short_lived_connections() {
    own_network::enter();
    let options = ClientOptions { count: Some(1_000), requests: 3, ..ClientOptions::default() };
    let (client, server) = load(server("127.0.0.1:0"), options);
    agree(&client, &server);
    assert_eq!((client.total.connected, client.total.responses), (1_000, 3_000));
    assert_eq!(client.total.bytes_sent, 3_000 * 64);
    assert_eq!((client.total.errors(), server.total.reset), (0, 0));
    assert_eq!((client.connect_ns.count, client.request_ns.count), (1_000, 3_000));
    assert!(client.service_ns.p50 > 0 && client.service_ns.p50 <= client.request_ns.max);
}

#[test]
fn connections_without_a_request_and_with_a_reset() {
    own_network::enter();
    for close in [Close::Fin, Close::Reset] {
        let options = ClientOptions {
            count: Some(500),
            requests: 0,
            rate: Some(5_000.0),
            close,
            ..ClientOptions::default()
        };
        let (client, server) = load(server("127.0.0.1:0"), options);
        agree(&client, &server);
        assert_eq!((client.total.connected, client.total.bytes_sent), (500, 0));
        assert_eq!(server.total.reset, if close == Close::Reset { 500 } else { 0 });
    }
}

#[test]
fn a_rate_and_a_duration_are_a_number_of_connections() {
    own_network::enter();
    let options = ClientOptions {
        rate: Some(2_000.0),
        duration: Some(SECOND / 2),
        connections: 512,
        ..ClientOptions::default()
    };
    let (client, server) = load(server("127.0.0.1:0"), options);
    agree(&client, &server);
    assert_eq!((client.planned, client.started), (Some(1_000), client.completed));
}

#[test]
fn persistent_connections_closed_and_open_loop() {
    own_network::enter();
    for rate in [None, Some(4_000.0)] {
        for threads in [1, 2] {
            let options = ClientOptions {
                mode: Mode::Request,
                count: Some(2_000),
                connections: 7,
                rate,
                threads,
                ..ClientOptions::default()
            };
            let (client, server) = load(server("127.0.0.1:0"), options);
            agree(&client, &server);
            let total = client.total;
            assert_eq!((total.connected, total.closed, total.responses), (7, 7, 2_000));
            assert_eq!((client.completed, total.errors()), (2_000, 0));
        }
    }
}

#[test]
fn messages_larger_than_buffers() {
    own_network::enter();
    let bytes = 1 << 20;
    let listen = parse_addresses("127.0.0.1:0").unwrap();
    let options = ServerOptions {
        listen,
        transports: Transports::Tcp,
        request_bytes: bytes,
        response_bytes: bytes,
        threads: 1,
        ..ServerOptions::default()
    };
    let server = Server::start(&options).unwrap();
    let options = ClientOptions {
        mode: Mode::Request,
        count: Some(20),
        connections: 3,
        request_bytes: bytes,
        response_bytes: bytes,
        ..ClientOptions::default()
    };
    let (client, server) = load(server, options);
    agree(&client, &server);
    assert_eq!(client.total.bytes_received, 20 * u64::from(bytes));
}

#[test]
fn requests_that_nobody_answers_are_done_when_sent() {
    own_network::enter();
    for mode in [Mode::Connect, Mode::Request, Mode::Udp] {
        let listen = parse_addresses("127.0.0.1:0").unwrap();
        let options = ServerOptions { listen, response_bytes: 0, ..ServerOptions::default() };
        let server = Server::start(&options).unwrap();
        let options = ClientOptions {
            mode,
            count: Some(200),
            connections: 4,
            response_bytes: 0,
            ..ClientOptions::default()
        };
        let (client, server) = load(server, options);
        agree(&client, &server);
        assert_eq!((client.total.responses, server.total.bytes_sent), (200, 0));
    }
}

#[test]
fn datagrams_connected_and_not() {
    own_network::enter();
    for unconnected in [false, true] {
        for rate in [None, Some(4_000.0)] {
            let options = ClientOptions {
                mode: Mode::Udp,
                count: Some(2_000),
                connections: 8,
                unconnected,
                rate,
                ..ClientOptions::default()
            };
            let (client, server) = load(server("127.0.0.1:0,127.0.0.2:0,127.0.0.3:0"), options);
            agree(&client, &server);
            assert_eq!((client.total.datagrams_sent, client.total.responses), (2_000, 2_000));
            assert_eq!((client.total.datagrams_stale, client.total.errors()), (0, 0));
            if unconnected {
                let each = client.targets.iter().map(|target| target.counts.requests);
                assert!(each.clone().max() <= each.min().map(|least| least + 1));
            }
        }
    }
}

#[test]
fn ipv6_in_every_mode() {
    own_network::enter();
    for mode in [Mode::Connect, Mode::Request, Mode::Udp] {
        let count = Some(300);
        let options = ClientOptions { mode, count, connections: 5, ..ClientOptions::default() };
        let (client, server) = load(server("[::1]:0"), options);
        agree(&client, &server);
        assert_eq!((client.total.responses, client.total.errors()), (300, 0));
    }
}

#[test]
fn two_hundred_ports_in_turns() {
    own_network::enter();
    let targets = "127.0.88.1:20000-20199";
    for mode in [Mode::Connect, Mode::Request, Mode::Udp] {
        let options = ClientOptions {
            mode,
            count: Some(1_000),
            connections: 200,
            sources: parse_sources("127.0.1.0/28").unwrap(),
            ..ClientOptions::default()
        };
        let (client, server) = load(server(targets), options);
        agree(&client, &server);
        assert_eq!((client.targets.len(), client.total.errors()), (200, 0));
        assert_eq!(client.total.responses, 1_000);
        if mode == Mode::Connect {
            assert!(client.targets.iter().all(|target| target.counts.connected == 5));
        }
    }
}

/// An address where nothing listens.
fn nobody() -> SocketAddr {
    SocketAddr::from(([127, 0, 88, 9], 7))
}

fn against(targets: Vec<SocketAddr>, mode: Mode, timeout: Duration) -> Summary {
    let options = ClientOptions {
        mode,
        targets,
        count: Some(60),
        connections: 4,
        timeout,
        ..ClientOptions::default()
    };
    let summary = Client::start(&options).unwrap().wait().unwrap();
    adds_up(&summary);
    summary
}

#[test]
fn who_refuses_is_counted_and_ends_nothing() {
    own_network::enter();
    let server = server("127.0.0.1:0");
    let good = server.addresses()[0];
    for mode in [Mode::Connect, Mode::Udp] {
        let summary = against(vec![good, nobody()], mode, 3 * SECOND);
        let [good, refused] = [&summary.targets[0].counts, &summary.targets[1].counts];
        let errors = [refused.connect_errors, refused.request_errors].map(|it| it.refused);
        let refusals = errors.iter().sum::<u64>();
        assert_eq!((good.responses + refusals, good.errors()), (60, 0), "{summary:?}");
        // A socket for datagrams that is refused is free again sooner than one that is answered.
        assert!(mode == Mode::Udp || refusals == 30, "{summary:?}");
        assert!(refusals > 0);
        assert_eq!(refused.responses, 0);
    }
    let summary = against(vec![nobody()], Mode::Request, 3 * SECOND);
    assert_eq!(summary.total.connect_errors.refused, summary.total.attempted);
    // Four before the run, to establish them, and each start.
    assert_eq!(summary.total.errors(), 64);
}

#[test]
fn who_resets_or_closes_is_told_apart() {
    own_network::enter();
    for (linger, requests) in [(true, 20), (false, 20)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                connection.read_exact(&mut [0; 64]).unwrap();
                if linger {
                    rustix::net::sockopt::set_socket_linger(&connection, Some(Duration::ZERO))
                        .unwrap();
                } else {
                    connection.write_all(&[0; 10]).unwrap();
                }
            }
        });
        for mode in [Mode::Connect, Mode::Request] {
            let options = ClientOptions {
                mode,
                targets: vec![target],
                count: Some(requests),
                connections: 4,
                ..ClientOptions::default()
            };
            let summary = Client::start(&options).unwrap().wait().unwrap();
            adds_up(&summary);
            let errors = summary.total.request_errors;
            let (reset, early) = if linger { (requests, 0) } else { (0, requests) };
            assert_eq!((errors.reset, errors.closed_early), (reset, early), "{summary:?}");
            assert_eq!((summary.total.requests, summary.total.lost), (requests, requests));
            assert_eq!(summary.total.bytes_received, early * 10);
        }
    }
}

#[test]
fn who_says_too_much_or_nothing() {
    own_network::enter();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let talker = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let _ = connection.unwrap().write_all(&[7; 100]);
        }
    });
    let talked = against(vec![talker], Mode::Connect, 3 * SECOND);
    assert_eq!(talked.total.request_errors.unexpected, 60, "{talked:?}");

    // The kernel establishes connections that nobody accepts.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let begun = Instant::now();
    let summary = against(vec![silent.local_addr().unwrap()], Mode::Connect, SECOND / 20);
    assert_eq!(summary.total.request_errors.timed_out, 60, "{summary:?}");
    assert!(begun.elapsed() >= 14 * SECOND / 20, "each of 4 slots waited 15 times");

    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let summary = against(vec![silent.local_addr().unwrap()], Mode::Udp, SECOND / 20);
    assert_eq!(summary.total.request_errors.timed_out, 60, "{summary:?}");
}

#[test]
fn a_server_outlives_garbage_and_tells_what_it_saw() {
    own_network::enter();
    let server = server("127.0.0.1:0");
    let address = server.addresses()[0];
    let mut connection = std::net::TcpStream::connect(address).unwrap();
    connection.write_all(&[0xff; 100]).unwrap();
    connection.read_exact(&mut [0; 64]).unwrap();
    assert_eq!(server.ports()[0].counts.open(), 1);
    rustix::net::sockopt::set_socket_linger(&connection, Some(Duration::ZERO)).unwrap();
    drop(connection);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.send_to(&[], address).unwrap();
    udp.send_to(b"tagged", address).unwrap();
    let mut answer = [1; 70];
    assert_eq!(udp.recv(&mut answer).unwrap(), 64);
    assert_eq!(udp.recv(&mut answer).unwrap(), 64);
    assert_eq!(&answer[..7], b"tagged\0");
    let summary = server.stop().unwrap();
    let total = summary.total;
    assert_eq!((total.accepted, total.closed, total.reset, total.requests), (1, 1, 1, 1));
    assert_eq!((total.bytes_received, total.bytes_sent), (106, 192));
    assert_eq!((total.datagrams_received, total.datagrams_sent), (2, 2));
}

#[test]
fn a_run_can_be_ended_from_outside() {
    own_network::enter();
    let server = server("127.0.0.1:0");
    for mode in [Mode::Connect, Mode::Request, Mode::Udp] {
        let options = ClientOptions {
            mode,
            targets: server.addresses().to_vec(),
            duration: Some(3600 * SECOND),
            rate: Some(10.0),
            connections: 2,
            ..ClientOptions::default()
        };
        let client = Client::start(&options).unwrap();
        let stop = client.stop_handle();
        thread::sleep(SECOND / 20);
        stop.ask();
        let summary = client.wait().unwrap();
        adds_up(&summary);
        assert!(summary.is_interrupted && summary.started < 100, "{summary:?}");
    }
}

#[test]
fn a_port_that_is_taken_is_an_error_even_by_another_server() {
    own_network::enter();
    let first = server("127.0.0.1:0");
    let listen = first.addresses().to_vec();
    for transports in [Transports::Tcp, Transports::Udp] {
        let options = ServerOptions { listen: listen.clone(), transports, ..Default::default() };
        let said = Server::start(&options).unwrap_err().to_string();
        assert!(said.contains(&listen[0].to_string()) && said.contains("in use"), "{said}");
    }
}

#[test]
fn a_source_address_that_is_not_ours_is_an_error() {
    own_network::enter();
    let sources = parse_sources("192.0.2.1").unwrap();
    let count = Some(1);
    let options =
        ClientOptions { targets: vec![nobody()], sources, count, ..ClientOptions::default() };
    let said = Client::start(&options).unwrap_err().to_string();
    assert!(said.contains("192.0.2.1") && said.contains("this host's"), "{said}");
}
