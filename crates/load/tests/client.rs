//! What the client does besides counting: several requests at once, connections that are held,
//! intervals.

mod own_network;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use portolan_load::{
    Ask, Client, ClientOptions, Interval, Measured, Mode, Server, ServerOptions, Summary,
    TargetCounts, Url, parse_addresses,
};

fn server() -> Server {
    let listen = parse_addresses("127.0.0.1:0").unwrap();
    Server::start(&ServerOptions { listen, threads: 2, ..ServerOptions::default() }).unwrap()
}

/// A run against a server of its own, and its intervals.
fn run(options: ClientOptions) -> (Summary, Measured, Vec<Interval>) {
    let server = server();
    let options = ClientOptions { targets: server.addresses().to_vec(), ..options };
    let mut intervals = Vec::new();
    let client = Client::start(&options).unwrap();
    let (summary, measured) = client.wait_with(|it, _| intervals.push(it.clone())).unwrap();
    assert_eq!(summary.total.errors(), 0, "{summary:?}");
    assert_eq!(server.stop().unwrap().total.accepted, summary.total.connected);
    (summary, measured, intervals)
}

#[test]
fn several_requests_are_under_way_on_a_connection() {
    own_network::enter();
    for (depth, rate) in [(2, None), (16, None), (16, Some(20_000.0))] {
        let (summary, _, _) = run(ClientOptions {
            mode: Mode::Request,
            count: Some(4_001),
            connections: 3,
            depth,
            rate,
            threads: 2,
            ..ClientOptions::default()
        });
        let total = summary.total;
        assert_eq!((total.connected, total.responses, summary.completed), (3, 4_001, 4_001));
        assert_eq!(total.bytes_received, 4_001 * 64);
    }
}

#[test]
fn requests_larger_than_buffers_may_be_several_too() {
    own_network::enter();
    let (summary, _, _) = run(ClientOptions {
        mode: Mode::Request,
        count: Some(3_000),
        connections: 1,
        depth: 300,
        request_bytes: 64 * 1_000,
        response_bytes: 64 * 1_000,
        ..ClientOptions::default()
    });
    // To the server they are a thousand times as many.
    assert_eq!(summary.total.bytes_received, 3_000 * 64 * 1_000);
}

#[test]
fn held_connections_prove_to_be_alive_again_and_again() {
    own_network::enter();
    let (summary, _, intervals) = run(ClientOptions {
        mode: Mode::Hold,
        connections: 700,
        duration: Some(Duration::from_millis(300)),
        verify_every: Some(Duration::from_millis(50)),
        interval: Duration::from_millis(50),
        threads: 2,
        ..ClientOptions::default()
    });
    assert_eq!((summary.held, summary.verified, summary.started), (700, 700, 700));
    assert!(summary.total.responses >= 1_400, "{summary:?}");
    assert!(intervals.iter().any(|interval| interval.open == 700));
    assert!(summary.is_good());
}

#[test]
fn intervals_add_up_and_the_warm_up_is_not_measured() {
    own_network::enter();
    let (summary, measured, intervals) = run(ClientOptions {
        mode: Mode::Request,
        rate: Some(5_000.0),
        ramp: Duration::from_millis(100),
        duration: Some(Duration::from_millis(500)),
        warm_up: Duration::from_millis(130),
        interval: Duration::from_millis(50),
        connections: 32,
        threads: 2,
        ..ClientOptions::default()
    });
    let mut sum = TargetCounts::default();
    for interval in &intervals {
        sum += interval.total;
    }
    assert_eq!(sum, summary.total);
    assert!(intervals.iter().zip(0..).all(|(interval, nth)| interval.nth == nth));
    assert_eq!(intervals.iter().filter(|interval| interval.is_warm_up).count(), 3);
    let without = intervals.iter().filter(|interval| !interval.is_warm_up);
    let count: u64 = without.map(|interval| interval.request_ns.count).sum();
    assert_eq!((count, count), (summary.request_ns.count, measured.request.count()));
    assert!(count < summary.total.responses, "{summary:?}");
    assert_eq!(summary.connect_ns.count, 32, "that is measured all the same");
    assert_eq!(summary.planned, Some(2_250));
}

/// The last response of a turn may be there before anybody waits for it: the next start must not
/// wait for an event that does not come.
#[test]
fn a_response_that_is_there_at_once_is_no_standstill() {
    own_network::enter();
    let begin = Instant::now();
    let (summary, _, _) = run(ClientOptions {
        count: Some(5_000),
        connections: 4,
        threads: 2,
        timeout: Duration::from_secs(40),
        interval: Duration::from_secs(40),
        ..ClientOptions::default()
    });
    assert_eq!(summary.completed, 5_000);
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

/// A server that does the same with every connection, as long as the test's process lives.
fn peer(what: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let each = move |stream| drop(thread::spawn(move || what(stream)));
    thread::spawn(move || listener.incoming().flatten().for_each(each));
    address
}

fn against(target: SocketAddr, options: ClientOptions) -> Summary {
    let timeout = Duration::from_millis(200);
    let options = ClientOptions { targets: vec![target], timeout, ..options };
    Client::start(&options).unwrap().wait().unwrap()
}

/// The peer's buffers are full at some time: then the request waits, and not the client.
#[test]
fn who_does_not_read_holds_up_nothing_but_the_request() {
    own_network::enter();
    let silent = peer(|stream| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    for mode in [Mode::Connect, Mode::Request] {
        let summary = against(
            silent,
            ClientOptions {
                mode,
                duration: Some(Duration::from_millis(300)),
                connections: 2,
                requests: u32::MAX,
                request_bytes: 1 << 20,
                response_bytes: 0,
                ..ClientOptions::default()
            },
        );
        let total = summary.total;
        assert!(total.responses > 0 && total.request_errors.timed_out > 0, "{total:?}");
        assert_eq!(total.errors(), total.request_errors.timed_out, "{total:?}");
    }
}

/// Requests that are done when they are sent, and responses that never end, could go on for ever.
#[test]
fn no_connection_keeps_the_run_from_its_end() {
    own_network::enter();
    let reader = peer(|mut stream| while stream.read(&mut [0; 1 << 16]).is_ok_and(|it| it > 0) {});
    let options = ClientOptions {
        duration: Some(Duration::from_millis(100)),
        connections: 1,
        requests: u32::MAX,
        request_bytes: 1,
        response_bytes: 0,
        ..ClientOptions::default()
    };
    let total = against(reader, options).total;
    assert_eq!((total.connected, total.closed, total.requests_given_up), (1, 1, 1), "{total:?}");

    let endless = peer(|mut stream| {
        let _ = stream.read(&mut [0; 1 << 10]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'a'; 1 << 18]).is_ok() {}
    });
    let total = against(endless, http(endless, Vec::new())).total;
    assert_eq!((total.request_errors.timed_out, total.errors()), (1, 1), "{total:?}");
}

/// One request over HTTP with such a body.
fn http(target: SocketAddr, body: Vec<u8>) -> ClientOptions {
    let ask = Ask { method: "POST".to_owned(), body, ..Ask::default() };
    let request = Url::parse(&format!("http://{target}/")).unwrap().request(&ask).unwrap();
    let (mode, count) = (Mode::Http, Some(1));
    ClientOptions { mode, http: vec![request], count, connections: 1, ..ClientOptions::default() }
}

/// A server that has seen enough of a request says so before it is complete.
#[test]
fn a_response_may_come_before_the_request_is_sent() {
    own_network::enter();
    let fussy = peer(|mut stream| {
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno\n");
        thread::sleep(Duration::from_secs(60));
    });
    let total = against(fussy, http(fussy, vec![0; 30 << 20])).total;
    assert_eq!((total.request_errors.status, total.errors()), (1, 1), "{total:?}");
    assert_eq!((total.closed, total.lost), (1, 0), "nothing can follow half a request: {total:?}");
}

#[test]
fn no_thread_was_busy_for_longer_than_it_ran() {
    own_network::enter();
    for _ in 0..20 {
        let (summary, _, _) = run(ClientOptions { count: Some(1), ..ClientOptions::default() });
        assert!(summary.busiest_thread <= 1.01, "{summary:?}");
    }
}
