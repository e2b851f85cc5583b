//! `portolan load server` against real clients, and against clients that mean no good: everything
//! is counted by kind, nothing is left over, and the server ends when it is told to.

use std::{
    fs,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream, UdpSocket},
    process::Command,
    sync::Barrier,
    time::Duration,
};

use portolan_e2e::{Place, Running, World, portolan, program};
use portolan_load::{PortCounts, ServerInterval, ServerSummary};
use rustix::process::Signal;
use serde_json::Value;

/// A server that runs, and where.
struct Server {
    running: Running,
    addresses: Vec<SocketAddr>,
}

impl Server {
    fn start(world: &World, args: &[&str]) -> Self {
        Self::of(world, world.portolan(&[&["load", "server", "--json"], args].concat()))
    }

    fn of(world: &World, command: Command) -> Self {
        let mut running = Running::start(&world.host, command);
        let addresses = running.wait_for("the server to listen", |running| {
            let text = running.stdout();
            let ready: Value = serde_json::from_str(text.split_once('\n')?.0).ok()?;
            serde_json::from_value(ready["addresses"].clone()).ok()
        });
        Self { running, addresses }
    }

    fn connect(&self, place: &Place) -> TcpStream {
        let stream = place.enter(|| TcpStream::connect(self.addresses[0])).expect("to connect");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addresses[0])
    }

    fn descriptors(&self) -> usize {
        let path = format!("/proc/{}/fd", self.running.pid());
        fs::read_dir(path).expect("its descriptors").count()
    }

    /// Waits until it counted this.
    fn wait_for(&mut self, what: &str, wanted: impl Fn(&PortCounts) -> bool) -> PortCounts {
        self.running.wait_for(what, |running| {
            Some(counts(&running.stdout())).filter(|counts| wanted(counts))
        })
    }

    /// Ends it, and says what it counted. The intervals add up to that.
    fn end(self, signal: Signal) -> ServerSummary {
        self.running.signal(signal);
        let ended = self.running.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        let last = ended.stdout.lines().next_back().unwrap_or_default();
        let summary: ServerSummary =
            serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ended}"));
        assert_eq!(counts(&ended.stdout), summary.total, "{ended}");
        summary
    }
}

/// What was counted in all intervals together.
fn counts(output: &str) -> PortCounts {
    let whole = output.rfind('\n').map_or("", |end| &output[..end]);
    let mut sum = PortCounts::default();
    for line in whole.lines().filter(|line| line.contains("\"server_interval\"")) {
        let interval: ServerInterval = serde_json::from_str(line).expect("an interval");
        sum += interval.total;
    }
    sum
}

/// Everything that comes until the other end closes.
fn rest(mut stream: &TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("to be closed in order");
    String::from_utf8_lossy(&all).into_owned()
}

/// Ends the connection by a reset.
fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("to linger");
    drop(stream);
}

const FAST: [&str; 2] = ["--interval", "20ms"];
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn curl_is_served() {
    let world = World::new();
    let args = ["--serve", "http=10:127.0.0.1:0", FAST[0], FAST[1]];
    let server = Server::start(&world, &args);
    let folder = world.folder("bodies");
    fs::write(folder.join("body"), vec![b'x'; 3_000_000]).expect("a body");
    let body = format!("@{}", folder.join("body").display());
    let curl = |args: &[&str], path: &str| {
        let mut command = Command::new(program("curl", "curl"));
        command.args(["--silent", "--show-error", "--max-time", "30", "--output"]);
        command.arg(folder.join("out")).args(["--write-out", "%{http_code} %{size_download}"]);
        command.args(args).arg(server.url(path));
        world.host.succeed(command).stdout
    };
    assert_eq!(curl(&[], "/"), "200 10");
    assert_eq!(fs::read(folder.join("out")).expect("a body"), b"..........");
    assert_eq!(curl(&[], "/0"), "200 0");
    assert_eq!(curl(&[], "/5000000?q"), "200 5000000");
    assert_eq!(curl(&["--head"], "/77"), "200 0");
    assert_eq!(curl(&["--http1.0"], "/"), "200 10");
    assert_eq!(curl(&["--header", "Connection: close"], "/"), "200 10");
    assert_eq!(curl(&["--data-binary", &body], "/"), "200 10");
    let chunked = ["--header", "Transfer-Encoding: chunked", "--data-binary", &body];
    assert_eq!(curl(&chunked, "/"), "200 10");
    assert_eq!(curl(&[], "/nothing"), "404 10");
    assert_eq!(curl(&["--request", "DELETE"], "/"), "405 19");
    let summary = server.end(Signal::TERM);
    let counts = summary.total;
    assert_eq!((counts.accepted, counts.closed, counts.requests), (10, 10, 10));
    assert_eq!((counts.not_served, counts.malformed, counts.truncated), (2, 0, 0));
    assert!(counts.bytes_received > 6_000_000 && counts.bytes_sent > 5_000_000);
}

#[test]
fn requests_that_h2load_made_are_requests_that_were_counted() {
    let world = World::new();
    let server = Server::start(&world, &["--serve", "http=100:127.0.0.1:0", FAST[0], FAST[1]]);
    let mut command = Command::new(program("h2load", "nghttp2-client"));
    command.args(["--h1", "-n", "20000", "-c", "50", "-m", "4", &server.url("/")]);
    let ran = world.host.succeed(command);
    assert!(ran.stdout.contains("20000 succeeded, 0 failed, 0 errored"), "{ran}");
    let counts = server.end(Signal::INT).total;
    assert_eq!((counts.accepted, counts.requests), (50, 20_000));
    assert_eq!((counts.not_served, counts.malformed), (0, 0));
}

#[test]
fn pipelined_requests_are_answered_in_order_however_slowly_they_are_read() {
    let world = World::new();
    let server = Server::start(&world, &["--serve", "http:127.0.0.1:0", FAST[0], FAST[1]]);
    let stream = server.connect(&world.host);
    // More than the socket's buffers hold, both ways; and nothing is read while it is written.
    let sizes: Vec<u64> = (0..3_000).map(|nth| [0, 64, 3_000, 20_000][nth % 4]).collect();
    let mut writer = stream.try_clone().expect("a second handle");
    let requests: String =
        sizes.iter().map(|size| format!("GET /{size} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    let writing = std::thread::spawn(move || writer.write_all(requests.as_bytes()));
    std::thread::sleep(Duration::from_millis(50));
    let mut parser = portolan_load::http::ResponseParser::new();
    let (mut read, mut buffer) = (Vec::new(), [0; 1 << 16]);
    while read.len() < sizes.len() {
        let count = (&stream).read(&mut buffer).expect("responses");
        assert!(count > 0, "closed after {} responses", read.len());
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let some = parser.read(rest).expect("a response");
            rest = &rest[some.used..];
            if let Some(response) = some.message {
                assert_eq!((response.status, response.is_persistent), (200, true));
                read.push(response.body_bytes);
                parser.begin(false);
            }
        }
    }
    assert_eq!(read, sizes);
    writing.join().expect("no panic").expect("all to be written");
    drop(stream);
    let counts = server.end(Signal::TERM).total;
    assert_eq!((counts.accepted, counts.closed, counts.requests), (1, 1, 3_000));
    assert_eq!((counts.truncated, counts.reset), (0, 0));
}

#[test]
fn clients_that_mean_no_good_are_counted_by_kind_and_nothing_is_left() {
    let world = World::new();
    let args = ["--serve", "http:127.0.0.1:0", "--timeout", "1s", "--threads", "1"];
    let mut server = Server::start(&world, &[&args[..], &FAST].concat());
    let before = server.descriptors();
    let say = |bytes: &[u8]| {
        let mut stream = server.connect(&world.host);
        stream.write_all(bytes).expect("to write");
        stream
    };
    // Refused, and told so, although there is more to be read than the server looks at.
    for (bytes, status) in [
        (b"\x16\x03\x01\x00garbage\r\n\r\n".to_vec(), "400"),
        ([GET, b"GET / nonsense\r\n", GET].concat(), "400"),
        ([b"GET / HTTP/1.1\r\nHost: ", &[b'x'; 100_000][..]].concat(), "431"),
        ([b"GET /", &[b'x'; 100_000][..]].concat(), "414"),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), "505"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n".to_vec(), "501"),
    ] {
        let answer = rest(&say(&bytes));
        assert!(answer.contains(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
    // Half a request, and the end: in order, and by a reset.
    let half = say(b"GET / HTTP/1.1\r\nHo");
    half.shutdown(Shutdown::Write).expect("to end it");
    assert_eq!(rest(&half), "");
    reset(say(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123"));
    // One that never goes on, one that never reads; and one that says nothing, as it may.
    let slow = say(b"GET / HTTP/1.1\r\nHo");
    let silent = say(b"");
    let deaf = say(b"GET /1000000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(rest(&slow), "");
    server.wait_for("two to be given up", |counts| counts.timed_out == 2);
    drop((deaf, silent));
    let counts = server.wait_for("all to end", |counts| counts.open() == 0);
    assert_eq!(counts.timed_out, 2);
    assert_eq!((counts.malformed, counts.truncated, counts.reset), (6, 2, 1));
    assert_eq!((counts.accepted, counts.closed, counts.requests), (11, 11, 2));
    assert_eq!(server.descriptors(), before);
    assert_eq!(server.end(Signal::TERM).total.open(), 0);
}

#[test]
fn thousands_of_idle_connections_cost_little_and_do_not_keep_it_from_ending() {
    const IDLE: u64 = 3_000;
    let world = World::new();
    let mut server = Server::start(&world, &["--serve", "http:127.0.0.1:0", FAST[0], FAST[1]]);
    let own_memory = |server: &Server| {
        let path = format!("/proc/{}/smaps_rollup", server.running.pid());
        let text = fs::read_to_string(path).expect("its memory");
        let line = text.lines().find(|line| line.starts_with("Anonymous:")).expect("a line");
        line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number")
    };
    let before = own_memory(&server);
    let idle: Vec<TcpStream> = (0..IDLE)
        .map(|_| {
            let mut stream = server.connect(&world.host);
            stream.write_all(GET).expect("to write");
            stream
        })
        .collect();
    server.wait_for("all requests", |counts| counts.requests == IDLE);
    let each = (own_memory(&server).saturating_sub(before) * 1024) / IDLE;
    assert!(each < 2048, "{each} bytes for each connection");
    // Between two requests nothing is waited for.
    let summary = server.end(Signal::TERM);
    assert_eq!((summary.total.open(), summary.total.timed_out), (IDLE, 0));
    drop(idle);
}

#[test]
fn without_descriptors_nobody_is_left_to_wait_whatever_thread_it_came_to() {
    const CLIENTS: usize = 8;
    const EACH: usize = 100;
    let world = World::new();
    let mut command = Command::new("prlimit");
    command.args(["--nofile=120:120"]).arg(portolan());
    command.args(["load", "server", "--json", "--listen", "127.0.0.1:0", "--transport", "tcp"]);
    command.args(["--threads", "2", "--interval", "20ms"]);
    let mut server = Server::of(&world, command);
    let ended = |error: &io::Error| {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
    };
    let exchange = |mut stream: &TcpStream| {
        stream.write_all(&[b'x'; 64])?;
        stream.read_exact(&mut [0; 64])
    };
    let all_at_once = Barrier::new(CLIENTS);
    let run = || {
        all_at_once.wait();
        let streams: Vec<_> = (0..EACH).map(|_| server.connect(&world.host)).collect();
        let results = streams.iter().map(exchange);
        let lost =
            results.filter_map(Result::err).inspect(|error| assert!(ended(error), "{error}"));
        // Those that are served stay until all know.
        (lost.count(), streams)
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|it| it.join().expect("nobody to wait")).collect()
    });
    let lost: usize = results.iter().map(|(lost, _)| lost).sum();
    let all = CLIENTS * EACH;
    assert!(lost < all && lost > all / 2, "{lost}");
    drop(results);
    server.wait_for("all to end", |counts| counts.open() == 0);
    let counts = server.end(Signal::TERM).total;
    assert_eq!((counts.accepted, counts.turned_away), (all as u64, lost as u64));
    assert_eq!(counts.requests, (all - lost) as u64);
}

#[test]
fn each_service_at_its_own_address_over_both_protocols() {
    let world = World::new();
    let mut args = vec!["--listen", "127.0.0.1:0"];
    for serve in ["echo:127.0.0.1:0", "rr=4/9:[::1]:0", "sink:127.0.0.1:0"] {
        args.extend(["--serve", serve]);
    }
    let server = Server::start(&world, &[&args[..], &FAST].concat());
    world.host.enter(|| {
        for (address, sent, received) in [
            (server.addresses[0], 128, 128),
            (server.addresses[1], 100, 100),
            (server.addresses[2], 8, 18),
            (server.addresses[3], 100_000, 0),
        ] {
            let mut stream = TcpStream::connect(address).expect("to connect");
            stream.write_all(&vec![b'7'; sent]).expect("to write");
            stream.shutdown(Shutdown::Write).expect("to end it");
            assert_eq!(rest(&stream).len(), received, "{address}");
        }
        for (address, answer) in [
            (server.addresses[0], Some(64)),
            (server.addresses[1], Some(3)),
            (server.addresses[2], Some(9)),
            (server.addresses[3], None),
        ] {
            let own = if address.is_ipv6() { "[::1]:0" } else { "127.0.0.1:0" };
            let socket = UdpSocket::bind(own).expect("a socket");
            socket.connect(address).expect("a way there");
            socket.send(b"abc").expect("to send");
            let Some(length) = answer else { continue };
            socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
            let mut buffer = [1; 100];
            assert_eq!(socket.recv(&mut buffer).expect("an answer"), length, "{address}");
            assert_eq!(&buffer[..3], b"abc");
        }
    });
    let summary = server.end(Signal::TERM);
    let bytes = |nth: usize| {
        let counts = summary.ports[nth].counts;
        (counts.requests, counts.bytes_received, counts.bytes_sent)
    };
    assert_eq!(bytes(0), (2, 128 + 3, 128 + 64));
    assert_eq!(bytes(1), (0, 100 + 3, 100 + 3));
    assert_eq!(bytes(2), (2, 8 + 3, 18 + 9));
    assert_eq!(bytes(3), (0, 100_000 + 3, 0));
    let counts = summary.total;
    assert_eq!((counts.accepted, counts.closed, counts.truncated), (4, 4, 0));
    assert_eq!((counts.datagrams_received, counts.datagrams_sent), (4, 3));
}

#[test]
fn a_thousand_ports_and_what_cannot_be_listened_on() {
    let world = World::new();
    let server = Server::start(&world, &["--listen", "127.0.0.1:9000-9999", FAST[0], FAST[1]]);
    assert_eq!(server.addresses.len(), 1_000);
    let run = |args: &[&str]| world.host.run(world.portolan(&[&["load", "server"], args].concat()));
    run(&["--serve", "http:9500"]).assert_failed(2, &["127.0.0.1:9500", "TCP", "another port"]);
    run(&["--listen", "80,80"]).assert_failed(2, &["127.0.0.1:80", "named twice"]);
    run(&["--listen", "192.0.2.1:80"]).assert_failed(2, &["192.0.2.1:80", "this host's"]);
    run(&["--serve", "smtp:9500"]).assert_failed(2, &["echo, rr, http or sink"]);
    run(&["--serve", "http:1", "--transport", "udp"]).assert_failed(2, &["HTTP is over TCP"]);
    let summary = server.end(Signal::INT);
    assert_eq!((summary.ports.len(), summary.total), (1_000, PortCounts::default()));
}
