use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use super::{Endpoint, LIMITS, Limits};
use crate::{
    metrics::{Interval, Metrics, exposition::tests::sample},
    sample::{flow, process, remote},
};

struct Served {
    address: SocketAddr,
    metrics: Metrics,
    _runtime: tokio::runtime::Runtime,
}

impl Served {
    fn new(limits: Limits) -> Self {
        Self::with(sample(), limits)
    }

    fn with(metrics: Metrics, limits: Limits) -> Self {
        let any = "127.0.0.1:0".parse().expect("an address");
        let endpoint = Endpoint { limits, ..Endpoint::bind(any).expect("a port") };
        let address = endpoint.address();
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
        runtime.spawn(endpoint.serve(metrics.clone(), std::future::pending()));
        Self { address, metrics, _runtime: runtime }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connect");
        // Only so that a failure is a failure and not a hang.
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }

    /// Head and body of the answer.
    fn send(&self, request: &str) -> (String, String) {
        let (mut stream, mut text) = (self.connect(), String::new());
        stream.write_all(request.as_bytes()).expect("send");
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        (head.to_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str, host: &str) -> (String, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    }
}

#[test]
fn the_page_is_served() {
    let served = Served::new(LIMITS);
    let (head, body) = served.get("/metrics", "localhost");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(&format!("content-type: {media_type}")), "{head}");
    assert!(head.contains("cache-control: no-store") && head.contains("connection: close"));
    assert_eq!(body, served.metrics.exposition());
    served.metrics.add(&Interval { now_ms: 2_000_000, ..Interval::default() });
    let (_, next) = served.get("/metrics?x=1", "127.0.0.1:9117");
    assert!(next.contains("portolan_reading_count_total 2\n"), "not the page of before");
    let (head, body) = served.send("HEAD /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    assert!(head.starts_with("http/1.1 200") && body.is_empty(), "{head}");
}

#[test]
fn what_is_not_for_here_is_refused() {
    let served = Served::new(LIMITS);
    for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "user@localhost"] {
        let (head, body) = served.get("/metrics", host);
        assert!(head.starts_with("http/1.1 403"), "{host}: {head}");
        assert!(body.contains("for another host") && !body.contains("portolan_flow"), "{body}");
    }
    let (head, _) = served.send("GET /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("http/1.1 403"), "{head}");
    for path in ["/", "/metrics/", "/api/v1/graph"] {
        let (head, body) = served.get(path, "localhost");
        assert!(head.starts_with("http/1.1 404") && body.contains("/metrics only"), "{head}");
    }
    let (head, _) = served.send("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("http/1.1 405") && head.contains("allow: get, head"), "{head}");
}

#[test]
fn many_read_at_the_same_time() {
    let served = Served::new(Limits { connections: 3, ..LIMITS });
    let expected = served.metrics.exposition();
    thread::scope(|scope| {
        let read = || served.get("/metrics", "localhost").1;
        let readers: Vec<_> = (0..40).map(|_| scope.spawn(read)).collect();
        for reader in readers {
            assert_eq!(reader.join().expect("a page"), expected);
        }
    });
}

#[test]
fn slow_readers_block_neither_others_nor_readings() {
    let limits = Limits { connections: 2, connection: Duration::from_secs(1), ..LIMITS };
    // A page that no socket's buffer takes in whole.
    let name = |n: u32| format!("{n:0120}");
    let flows: Vec<_> =
        (0..1_996).map(|n| flow(process(&name(n), "10.0.0.1"), remote("10.0.0.2"), 80)).collect();
    let metrics = Metrics::new(crate::metrics::Settings::default(), 0);
    metrics.add(&Interval { flows: &flows, now_ms: 1, ..Interval::default() });
    assert!(metrics.exposition().len() > 4_000_000);
    let served = Served::with(metrics.clone(), limits);
    let mut slow: Vec<TcpStream> = (0..2).map(|_| served.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("send");
    }
    // Both places are taken, and nobody reads.
    metrics.add(&Interval { now_ms: 2, ..Interval::default() });
    let (head, _) = served.get("/nothing", "localhost");
    assert!(head.starts_with("http/1.1 404"), "{head}");
    for mut stream in slow {
        let mut page = Vec::new();
        // A reset and an early end are both an end.
        let _ = stream.read_to_end(&mut page);
        assert!(!page.ends_with(b"# EOF\n"));
    }
}

#[test]
fn a_request_that_never_ends_is_ended() {
    let request = Duration::from_secs(1);
    let served = Served::new(Limits { connections: 1, request, ..LIMITS });
    let mut stream = served.connect();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n").expect("send");
    let (head, _) = served.get("/metrics", "localhost");
    assert!(head.starts_with("http/1.1 200"), "{head}");
}

#[test]
fn only_loopback_is_served() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9117", "[2001:db8::1]:9117"] {
        let address = address.parse().expect("an address");
        let error = Endpoint::bind(address).expect_err("not loopback").to_string();
        let start = format!("metrics are not served on {address}: the page has no password");
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains(&format!("use 127.0.0.1:{}", address.port())), "{error}");
    }
    let taken = Endpoint::bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let error = Endpoint::bind(taken.address()).expect_err("in use").to_string();
    assert!(error.contains("another program uses the port"), "{error}");
}
