use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

use crate::{
    Config, Hub, Memory,
    api::{DeltaReply, GraphReply},
    sample::{bundle, flow, listener, process, unit},
};

/// A hub that is served on loopback for as long as this lives.
struct Served {
    hub: Hub,
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Served {
    fn new() -> Self {
        let hub = Hub::open(Config::default(), Box::new(Memory::new())).expect("memory");
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
        let bind = tokio::net::TcpListener::bind("127.0.0.1:0");
        let listener = runtime.block_on(bind).expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = hub.router();
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { hub, address, _runtime: runtime }
    }

    fn with_edges(clients: &[&str]) -> Self {
        let served = Self::new();
        served.ingest(clients, 1_000);
        served
    }

    fn ingest(&self, clients: &[&str], now_ms: u64) {
        let postgres = || unit("postgres", "postgresql.service", "127.0.0.1");
        let flows = clients.iter().map(|name| flow(process(name, "127.0.0.1"), postgres(), 5432));
        let bundle = bundle(flows.collect(), vec![listener(postgres(), 5432)]);
        self.hub.ingest(bundle, now_ms, Vec::new(), "test");
    }

    fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("connect");
        // Only so that a failure is a failure and not a hang.
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("send");
        stream
    }

    fn send(&self, request: &str) -> Answer {
        let mut text = String::new();
        self.connect(request).read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.expect("a status"),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    fn events(&self) -> Events {
        let request = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
        Events { lines: BufReader::new(self.connect(request)) }
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        assert!(self.head.contains("content-type: application/json"), "{}", self.head);
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// The text of an error answer, of which everybody expects the same form.
    fn error(&self) -> String {
        self.json()["error"].as_str().expect("an error").to_owned()
    }
}

struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// The next event's name and data.
    fn next(&mut self) -> Option<(String, String)> {
        let (mut name, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            if self.lines.read_line(&mut line).expect("an event") == 0 {
                return None;
            }
            let line = line.trim_end();
            if line == "0" {
                return None;
            } else if let Some(event) = line.strip_prefix("event: ") {
                name = event.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, data.to_owned()));
            }
        }
    }

    fn graph(&mut self) -> GraphReply {
        let (name, data) = self.next().expect("an event");
        assert_eq!(name, "graph");
        serde_json::from_str(&data).expect("a graph")
    }
}

#[test]
fn the_graph_is_served() {
    let served = Served::with_edges(&["psql"]);
    let answer = served.get("/api/v1/graph");
    assert_eq!(answer.status, 200);
    let graph: GraphReply = serde_json::from_value(answer.json()).expect("a graph");
    assert_eq!(graph, served.hub.graph(None).reply());
    assert_eq!(graph.edges.len(), 1);
    let day = 24 * 3_600_000;
    served.ingest(&[], 2 * day);
    let edges = |path| served.get(path).json()["edges"].as_array().map(Vec::len);
    assert_eq!(edges("/api/v1/graph"), Some(0));
    assert_eq!(edges("/api/v1/graph?since_ms=0&unknown=1"), Some(1));
}

#[test]
fn questions_are_answered() {
    let served = Served::with_edges(&["psql", "app"]);
    let answer = served.get("/api/v1/dependents?of=postgresql").json();
    let edge = "process:app>unit:postgresql.service:5432/tcp";
    let root = "unit:postgresql.service";
    assert_eq!(answer["roots"], serde_json::json!([root]));
    let first = serde_json::json!({
        "depth": 1, "edge": edge, "from": root, "node": "process:app", "again": false
    });
    assert_eq!(answer["steps"][0], first);
    assert_eq!(answer["steps"].as_array().map(Vec::len), Some(2));
    let needs = served.get("/api/v1/dependencies?of=process%3Apsql").json();
    assert_eq!(needs["steps"][0]["node"], root);
    let none = served.get("/api/v1/dependencies?of=%3A5432&depth=1&since_ms=0").json();
    assert_eq!(none["steps"], serde_json::json!([]));
}

#[test]
fn bad_questions_are_errors_in_json() {
    let served = Served::with_edges(&["psql"]);
    let nothing = served.get("/api/v1/dependents?of=nosuch");
    assert_eq!(nothing.status, 404);
    assert!(nothing.error().contains("\"nosuch\""));
    let close = served.get("/api/v1/dependents?of=psq");
    assert!(close.error().contains("did you mean psql?"), "{}", close.error());
    for path in [
        "/api/v1/dependents",
        "/api/v1/dependents?of=psql&depth=-1",
        "/api/v1/graph?since_ms=yesterday",
        "/api/v1/graph?since_ms=99999999999999999999999",
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, 400, "{path}");
        assert!(!answer.error().is_empty());
    }
    for (path, text) in [
        ("dependents?of=psql&depth=x", "depth is a whole number from 1, not \"x\""),
        ("dependents?of=psql&depth=0", "depth is a whole number from 1, not \"0\""),
        ("dependencies?of=psql&since_ms=-1", "since_ms is a whole number in milliseconds"),
        ("graph?since_ms=", "since_ms is a whole number in milliseconds since 1970"),
        ("dependents?depth=2", "add ?of=NAME"),
        ("dependents?of=", "add ?of=NAME"),
        ("dependents?of=a&of=b", "each name once"),
    ] {
        let answer = served.get(&format!("/api/v1/{path}"));
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.error().contains(text), "{path}: {}", answer.error());
    }
    for path in ["/api", "/api/", "/api/v1", "/api/v2/graph", "/api/v1/graph/x"] {
        let answer = served.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.error().contains("no such path"), "{path}");
    }
}

#[test]
fn only_loopback_names_are_served() {
    let served = Served::with_edges(&["psql"]);
    let status = |host: &str| {
        served
            .send(&format!("GET /api/v1/graph HTTP/1.1\r\n{host}Connection: close\r\n\r\n"))
            .status
    };
    for host in ["localhost", "LocalHost:7117", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:7117"]
    {
        assert_eq!(status(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:7117",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "0.0.0.0",
        "192.0.2.1",
        "[::]",
        "user@localhost",
        "",
        "local host",
    ] {
        assert_eq!(status(&format!("Host: {host}\r\n")), 403, "{host}");
    }
    assert_eq!(status("Host: localhost\r\nHost: evil.example\r\n"), 403);
    let absolute = "GET http://evil.example/api/v1/graph HTTP/1.1\r\nHost: localhost\r\n\
                    Connection: close\r\n\r\n";
    assert_eq!(served.send(absolute).status, 403);
    let without = served.send("GET /api/v1/graph HTTP/1.0\r\n\r\n");
    assert_eq!(without.status, 403);
    assert!(without.error().contains("http://localhost"));
    assert_eq!(served.send("GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n").status, 403);
}

#[test]
fn only_reading_is_possible() {
    let served = Served::with_edges(&["psql"]);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        for path in ["/", "/api/v1/graph", "/api/nosuch"] {
            let answer = served.send(&format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            ));
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(answer.head.contains("allow: get, head"), "{}", answer.head);
            assert!(!answer.error().is_empty());
        }
    }
    let head =
        served.send("HEAD /api/v1/graph HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((head.status, &*head.body), (200, ""));
}

#[test]
fn requests_are_bounded() {
    let served = Served::with_edges(&["psql"]);
    let long = format!("/api/v1/dependents?of={}", "x".repeat(5_000));
    assert_eq!(served.get(&long).status, 414);
    let head = "GET /api/v1/graph HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    for body in ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"] {
        assert_eq!(served.send(&format!("{head}{body}")).status, 413);
    }
}

#[test]
fn every_answer_is_marked() {
    let served = Served::with_edges(&["psql"]);
    for path in ["/", "/nosuch.js", "/api/v1/graph", "/api/nosuch"] {
        let head = served.get(path).head;
        for line in [
            "content-security-policy: default-src 'self'; style-src 'self' 'unsafe-inline'; \
             frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(head.contains(line), "{path}: {head}");
        }
        assert_eq!(head.contains("cache-control: no-store"), path.starts_with("/api"), "{head}");
    }
    let refused = served.send("GET /api/v1/graph HTTP/1.0\r\n\r\n");
    assert!(refused.head.contains("nosniff"));
}

#[test]
fn the_page_is_served() {
    let served = Served::new();
    let page = served.get("/");
    assert!(page.head.contains("content-type: text/html"), "{}", page.head);
    if page.status == 503 {
        assert!(page.body.contains("built without its page"));
        return;
    }
    assert_eq!(page.status, 200);
    assert_eq!(served.get("/index.html").body, page.body);
    let etag = page.head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("an etag");
    let again = served.send(&format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {etag}\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!((again.status, &*again.body), (304, ""));
    for path in ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "/nosuch.js", "//etc/passwd"] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
}

#[test]
fn events_are_the_graph_and_then_deltas() {
    let served = Served::with_edges(&["psql"]);
    let mut events = served.events();
    let graph = events.graph();
    assert_eq!((graph.revision, graph.edges.len()), (1, 1));
    served.ingest(&["psql"], 2_000); // changes nothing, and is not told
    served.ingest(&["psql", "app"], 3_000);
    let (name, data) = events.next().expect("an event");
    let delta: DeltaReply = serde_json::from_str(&data).expect("a delta");
    assert_eq!((&*name, delta.revision, delta.now_ms), ("delta", 2, 3_000));
    assert_eq!(&*delta.edges[0].client, "process:app");
    assert_eq!(delta.nodes.len(), 1);
}

#[test]
fn another_method_is_told_with_the_graph() {
    let served = Served::new();
    let mut events = served.events();
    assert_eq!((events.graph().revision, served.hub.graph(None).header().now_ms), (0, 0));
    served.ingest(&["psql"], 1_000);
    let graph = events.graph();
    assert_eq!((&*graph.method, graph.revision, graph.edges.len()), ("test", 1, 1));
}

#[test]
fn a_reader_that_falls_behind_gets_the_graph_again() {
    let served = Served::with_edges(&["psql"]);
    let mut events = served.events();
    let mut revision = events.graph().revision;
    // Far more than the connection holds, unread.
    let names: Vec<String> = (0..200).map(|at| format!("client-{at}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut now_ms = 2_000;
    for round in 0..400 {
        served.ingest(if round % 2 == 0 { &all } else { &[] }, now_ms);
        now_ms += 1_000;
    }
    let last = served.hub.graph(None).header().revision;
    let mut graphs = 0;
    while revision < last {
        let (name, data) = events.next().expect("an event");
        let told: Value = serde_json::from_str(&data).expect("JSON");
        let told = told["revision"].as_u64().expect("a revision");
        if name == "graph" {
            graphs += 1;
            assert!(told > revision);
        } else {
            assert_eq!(told, revision + 1);
        }
        revision = told;
    }
    assert!(graphs > 0);
}

#[test]
fn streams_are_limited_and_given_back() {
    let served = Served::with_edges(&["psql"]);
    let mut streams: Vec<Events> = (0..64).map(|_| served.events()).collect();
    for events in &mut streams {
        events.graph();
    }
    let refused = served.get("/api/v1/events");
    assert_eq!(refused.status, 503);
    assert!(refused.error().contains("too many"));
    drop(streams);
    // The places are free as soon as the server has seen the ends of the connections.
    while served.hub.streams().available_permits() < 64 {
        std::thread::yield_now();
    }
    served.events().graph();
}

#[test]
fn closing_the_hub_ends_the_streams() {
    let served = Served::with_edges(&["psql"]);
    let mut events = served.events();
    events.graph();
    served.hub.close().expect("memory does not fail");
    assert_eq!(events.next(), None);
    assert_eq!(served.get("/api/v1/events").status, 503);
}
