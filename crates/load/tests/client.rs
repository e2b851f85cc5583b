//! What the client does besides counting: several requests at once, connections that are held,
//! intervals.

use std::time::{Duration, Instant};

use portolan_load::{
    Client, ClientOptions, Interval, Measured, Mode, Server, ServerOptions, Summary, TargetCounts,
    parse_addresses,
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
