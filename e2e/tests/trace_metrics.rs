//! Metrics of `portolan trace` and `portolan map`, as Prometheus and a receiver of OTLP get them.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    thread::{self, JoinHandle},
};

use portolan_e2e::{PATIENCE, Place, Running, World, program, tcp, wait_for};
use rustix::process::Signal;

/// Where a server is, and where none is.
const PORT: u16 = 7421;
const REFUSED: u16 = 7422;

/// A port that only root may have: it is bound before privileges are given up.
const METRICS: u16 = 964;

/// Answers each five bytes with seven, until the client ends.
const SERVER: &str = r#"
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
while True:
    peer, _ = listener.accept()
    with peer:
        while peer.recv(5, socket.MSG_WAITALL):
            peer.sendall(b"sevenby")
"#;

/// Connects twenty times and asks twice each time, and is refused three times. Says from which
/// ports.
const CLIENT: &str = r#"
import socket, sys
for _ in range(20):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        print(server.getsockname()[1])
        for _ in range(2):
            server.sendall(b"fiveb")
            assert server.recv(7, socket.MSG_WAITALL) == b"sevenby"
        server.shutdown(socket.SHUT_WR)
        assert server.recv(1) == b""
for _ in range(3):
    with socket.socket() as refused:
        assert refused.connect_ex(("127.0.0.1", int(sys.argv[2]))) != 0
"#;

fn python(script: &str, arguments: &[u16]) -> Command {
    let mut command = Command::new(program("python3", "python3"));
    command.arg("-c").arg(script).args(arguments.iter().map(ToString::to_string));
    command
}

fn server(place: &Place) -> Running {
    let mut server = Running::start(place, python(SERVER, &[PORT]));
    tcp::wait_listening(place, &mut server, PORT);
    server
}

/// Makes the traffic that is known; returns the ephemeral ports of it.
fn traffic(place: &Place) -> Vec<String> {
    let ran = place.succeed(python(CLIENT, &[PORT, REFUSED]));
    let ports: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
    assert_eq!(ports.len(), 20, "{ran}");
    ports
}

/// Starts `portolan` with these arguments, and waits until it counts and says where.
fn start(world: &World, arguments: &str, is_on: &str) -> Running {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let mut running = Running::start(&world.host, world.portolan(&arguments));
    running.wait_for(is_on, |running| running.stderr().contains(is_on).then_some(()));
    running
}

/// What is on the page now.
fn scrape(place: &Place) -> String {
    let page = place.enter(|| {
        let mut stream = TcpStream::connect(("127.0.0.1", METRICS)).expect("a page");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("a page");
        page
    });
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("# EOF\n"), "{page}");
    page
}

/// The sum of all series of a metric that have each of these labels.
fn sum(page: &str, metric: &str, labels: &[String]) -> u64 {
    let lines = page.lines().filter_map(|line| line.strip_prefix(metric)?.strip_prefix('{'));
    let has_labels = |line: &&str| labels.iter().all(|label| line.contains(label));
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<u64>().ok());
    lines.filter(has_labels).map(|line| value(line).unwrap_or_else(|| panic!("{line}"))).sum()
}

fn label(name: &str, value: impl std::fmt::Display) -> String {
    format!("{name}=\"{value}\"")
}

fn readings(page: &str) -> u64 {
    let found = page.lines().find_map(|line| line.strip_prefix("portolan_reading_count_total "));
    found.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no readings: {page}"))
}

/// What is known of the traffic, told by a page.
fn assert_known(page: &str, ephemeral: &[String]) {
    let to = |port: u16, more: &[(&str, &str)]| {
        let more = more.iter().map(|(name, value)| label(name, value));
        let mut labels = vec![label("server_port", port)];
        labels.extend(more);
        labels
    };
    let both = [("client_process", "python3"), ("server_process", "python3"), ("role", "both")];
    let up = [("network_io_direction", "transmit")];
    let down = [("network_io_direction", "receive")];
    let refused = [("error_type", "refused"), ("client_process", "python3")];
    for (metric, labels, expected) in [
        ("flow_connection_count_total", to(PORT, &both), 20),
        ("flow_connection_count_total", to(PORT, &[]), 20),
        ("flow_io_bytes_total", to(PORT, &up), 20 * 10),
        ("flow_io_bytes_total", to(PORT, &down), 20 * 14),
        ("flow_connection_active", to(PORT, &[]), 0),
        ("flow_connection_duration_seconds_count", to(PORT, &[]), 20),
        ("flow_connection_reset_total", to(PORT, &[]), 0),
        ("flow_connection_failure_total", to(PORT, &[]), 0),
        ("flow_connection_failure_total", to(REFUSED, &refused), 3),
        ("flow_connection_failure_total", to(REFUSED, &[]), 3),
        ("flow_connection_count_total", to(REFUSED, &[]), 0),
    ] {
        let found = sum(page, &format!("portolan_{metric}"), &labels);
        assert_eq!(found, expected, "{metric} {labels:?}: {page}");
    }
    for port in ephemeral {
        assert!(!page.contains(&format!("\"{port}\"")), "ephemeral port {port} in {page}");
    }
    assert!(!page.contains("client_port"), "{page}");
    assert_eq!(sum(page, "portolan_lost_total", &[label("reason", "overflow")]), 0, "{page}");
}

/// Both ends of a connection may fall into two readings, and then one reading cannot know it: here
/// all happens within one, on a machine however slow. So many are taken before the first interval.
fn within_one_reading(arguments: &str, at_once: u64) {
    for interval in [2, 8, 32] {
        let world = World::new();
        let _server = server(&world.host);
        let arguments = format!("{arguments} --interval {interval}s --metrics 127.0.0.1:{METRICS}");
        let running = start(&world, &arguments, "metrics are on http://127.0.0.1:964/metrics");
        let before = wait_for("the first reading", || {
            let before = readings(&scrape(&world.host));
            (before >= at_once).then_some(before)
        });
        let ephemeral = traffic(&world.host);
        if readings(&scrape(&world.host)) > before {
            continue;
        }
        let page = wait_for("a reading", || {
            let page = scrape(&world.host);
            (readings(&page) > before).then_some(page)
        });
        assert_known(&page, &ephemeral);
        assert!(page.contains("portolan_series_max 7\n"), "{page}");
        // Readings in which nothing happens add nothing.
        let page = wait_for("two more readings", || {
            let page = scrape(&world.host);
            (readings(&page) > before + 2).then_some(page)
        });
        assert_known(&page, &ephemeral);
        running.signal(Signal::TERM);
        let ended = running.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        return;
    }
    panic!("the traffic took longer than half a minute");
}

#[test]
fn trace_counts_exactly() {
    within_one_reading("trace --json --own-namespace --metrics-series-max 7", 0);
}

#[test]
fn the_map_counts_exactly_and_each_reading_once() {
    let arguments = "map --json --own-namespace --no-store --no-page --metrics-series-max 7";
    within_one_reading(arguments, 1);
}

#[test]
fn a_snapshot_feeds_what_is_up_and_says_so() {
    for arguments in ["trace --json", "map --json --no-store --no-page"] {
        let world = World::new();
        let _server = server(&world.host);
        let _up = portolan_e2e::peers::redis(&world, &world.host, "127.0.0.1");
        let _client = portolan_e2e::peers::redis_cli(&world.host, "127.0.0.1");
        let arguments = format!(
            "{arguments} --own-namespace --method snapshot --interval 100ms \
             --metrics 127.0.0.1:{METRICS}"
        );
        let is_on = "only flow.connection.active is told";
        let running = start(&world, &arguments, is_on);
        let labels = [label("server_port", 6379), label("client_process", "redis-cli")];
        let page = wait_for("the connection", || {
            let page = scrape(&world.host);
            (sum(&page, "portolan_flow_connection_active", &labels) == 1).then_some(page)
        });
        assert_eq!(sum(&page, "portolan_flow_connection_count_total", &[]), 0, "{page}");
        running.stop();
    }
}

/// Takes requests in, of which the last is the last one.
fn receiver(place: &Place, requests: usize) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = place.enter(|| TcpListener::bind("127.0.0.1:0")).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let received = thread::spawn(move || {
        let mut body = Vec::new();
        for _ in 0..requests {
            let (mut stream, _) = listener.accept().expect("a request");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            body = request(&mut stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("an answer");
            // Read to the end, or closing would be a reset that the answer can be lost in.
            let _ = stream.read_to_end(&mut Vec::new());
        }
        body
    });
    (port, received)
}

fn request(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("a head of text").to_ascii_lowercase();
    assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf\r\n"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|it| it.parse().ok()).expect("a length")];
    stream.read_exact(&mut body).expect("a body");
    body
}

/// The fields of a message of protocol buffers: numbers of 64 bits, and what has a length.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first().expect("a number");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let (number, part) = match key & 7 {
            0 => (varint(&mut bytes), &[][..]),
            1 => {
                let (number, rest) = bytes.split_first_chunk().expect("eight bytes");
                bytes = rest;
                (u64::from_le_bytes(*number), &[][..])
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).expect("a length");
                let (part, rest) = bytes.split_at(length);
                bytes = rest;
                (0, part)
            }
            kind => panic!("wire type {kind}"),
        };
        found.push((key >> 3, number, part));
    }
    found
}

fn parts(bytes: &[u8], field: u64) -> impl Iterator<Item = &[u8]> {
    fields(bytes).into_iter().filter(move |(number, ..)| *number == field).map(|(.., part)| part)
}

/// The numbers of a sum in a request, each with the texts and integers of its attributes, by the
/// field numbers of opentelemetry-proto.
fn points(body: &[u8], metric: &str) -> Vec<(Vec<String>, u64)> {
    let scopes = parts(body, 1).flat_map(|resource| parts(resource, 2));
    let metrics = scopes.flat_map(|scope| parts(scope, 2));
    let named = metrics.filter(|it| parts(it, 1).any(|name| name == metric.as_bytes()));
    let points = named.flat_map(|it| parts(it, 7)).flat_map(|sum| parts(sum, 1));
    points
        .map(|point| {
            let attributes = parts(point, 7).map(|attribute| {
                let key = parts(attribute, 1).next().expect("a key");
                let value = parts(attribute, 2).next().expect("a value");
                let value = match fields(value)[0] {
                    (1, _, text) => String::from_utf8_lossy(text).into_owned(),
                    (_, number, _) => number.to_string(),
                };
                format!("{}={value}", String::from_utf8_lossy(key))
            });
            let value = fields(point).into_iter().find(|(number, ..)| *number == 6);
            (attributes.collect(), value.expect("an integer").1)
        })
        .collect()
}

/// The last interval is cut short, and what was counted in it is sent at the end, too.
#[test]
fn a_receiver_gets_what_was_counted_until_the_end() {
    let world = World::new();
    let _server = server(&world.host);
    let (port, received) = receiver(&world.host, 1);
    let arguments = format!(
        "trace --json --own-namespace --interval 1h --otlp http://127.0.0.1:{port} \
         --otlp-interval 1h"
    );
    let running =
        start(&world, &arguments, &format!("metrics are sent to http://127.0.0.1:{port}"));
    let ephemeral = traffic(&world.host);
    running.signal(Signal::TERM);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
    let body = received.join().expect("a request");
    let sum = |metric: &str, wanted: &[&str]| -> u64 {
        let points = points(&body, metric).into_iter();
        let is_wanted = |(attributes, _): &(Vec<String>, u64)| {
            wanted.iter().all(|wanted| attributes.iter().any(|it| it == wanted))
        };
        points.filter(is_wanted).map(|(_, value)| value).sum()
    };
    let to = format!("server.port={PORT}");
    assert_eq!(sum("flow.connection.count", &[&to, "role=both"]), 20);
    assert_eq!(sum("flow.connection.count", &[&to]), 20);
    assert_eq!(sum("flow.io", &[&to, "network.io.direction=transmit"]), 200);
    assert_eq!(sum("flow.io", &[&to, "network.io.direction=receive"]), 280);
    let refused = format!("server.port={REFUSED}");
    assert_eq!(sum("flow.connection.failure", &[&refused, "error.type=refused"]), 3);
    for (attributes, _) in points(&body, "flow.connection.count") {
        let is_ephemeral =
            |it: &String| ephemeral.iter().any(|port| it.ends_with(&format!("={port}")));
        assert!(!attributes.iter().any(is_ephemeral), "{attributes:?}");
    }
}

#[test]
fn who_cannot_send_says_so_and_goes_on() {
    let world = World::new();
    let arguments = "trace --json --own-namespace --interval 100ms --otlp http://127.0.0.1:4318 \
                     --otlp-interval 100ms";
    let mut running = start(&world, arguments, "metrics were not sent to http://127.0.0.1:4318");
    assert!(running.stderr().contains("the next attempt tells the same"), "{}", running.stderr());
    let told = running.stdout().lines().count();
    running.wait_for("further intervals", |running| {
        (running.stdout().lines().count() > told + 2).then_some(())
    });
    running.signal(Signal::TERM);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
}

#[test]
fn what_cannot_be_had_is_an_error_at_the_start() {
    let world = World::new();
    let _server = server(&world.host);
    for (arguments, parts) in [
        (
            "--metrics 127.0.0.1:7421",
            ["cannot serve metrics on 127.0.0.1:7421", "port 0 takes any"],
        ),
        ("--metrics 192.0.2.1:9464", ["only loopback may read it", "127.0.0.1:9464"]),
        ("--otlp https://127.0.0.1:4318", ["no TLS", "OpenTelemetry Collector on this host"]),
        ("--metrics-fold 10.0.0.0/8=/24", ["--metrics <ADDRESS:PORT>", "--otlp <URL>"]),
    ] {
        for command in ["trace", "map"] {
            let arguments = std::iter::once(command).chain(arguments.split_whitespace());
            let ran = world.host.run(world.portolan(&arguments.collect::<Vec<_>>()));
            ran.assert_failed(2, &parts);
            assert_eq!(ran.stdout, "", "{ran}");
        }
    }
}
