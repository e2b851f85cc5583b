//! The host as a client of the kernel's servers.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    process::Command,
    thread,
};

use portolan_e2e::{
    Random, bulk,
    capture::Seen,
    kernel::Counted,
    link::{Link, Offload, Wire},
    peers, program,
};
use portolan_host::blocking::Endpoint;

#[test]
fn it_downloads_from_nginx() {
    for (wire, v6) in [(Wire::Tap, true), (Wire::Veth, false)] {
        let link = Link::new(wire, 1_500, Offload::On);
        let mut random = Random::new(3);
        let content: Vec<u8> = (0..8_000_000).map(|_| random.below(256) as u8).collect();
        let folder = link.world.folder("files");
        fs::write(folder.join("file"), &content).expect("a file");
        let server = SocketAddr::new(if v6 { link.peer_v6() } else { link.peer_v4() }, peers::HTTP);
        let nginx = peers::nginx_files(&link.world, &link.peer, server, &folder);
        let capture = link.world.file("client.pcapng");
        let endpoint = Endpoint::start(&link.config(), vec![link.open("", &capture)]);
        let endpoint = endpoint.expect("the host begins");
        for _ in 0..3 {
            let mut connection = endpoint.connect(server).expect("to connect");
            connection.set_timeout(Some(bulk::PATIENCE));
            write!(connection, "GET /file HTTP/1.0\r\n\r\n").expect("to ask");
            let mut answer = Vec::new();
            connection.read_to_end(&mut answer).expect("the answer");
            let body = answer.windows(4).position(|it| it == b"\r\n\r\n").expect("a header") + 4;
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", answer[..body].escape_ascii());
            assert!(answer[body..] == content, "{} other bytes came", answer.len() - body);
        }
        endpoint.stop().expect("an end in order");
        let (tcp, kernel) = (endpoint.readings()[0].tcp, Counted::of(&link.peer));
        drop((endpoint, nginx));
        let seen = Seen::read(&capture);
        assert_eq!(seen.resets, 0, "{tcp:?} {} {seen:?}", kernel.trouble());
        assert_eq!(tcp.active_opened, 3, "{tcp:?}");
    }
}

#[test]
fn a_server_of_the_kernel_echoes() {
    let link = Link::new(Wire::Tap, 1_500, Offload::On);
    let at = SocketAddr::new(link.peer_v4(), 7);
    let listener = link.peer.enter(|| TcpListener::bind(at)).expect("to listen");
    let capture = link.world.file("client.pcapng");
    let endpoint = Endpoint::start(&link.config(), vec![link.open("", &capture)]);
    let endpoint = endpoint.expect("the host begins");
    let connection = endpoint.connect(at).expect("to connect");
    connection.set_timeout(Some(bulk::PATIENCE));
    thread::scope(|scope| {
        scope.spawn(|| {
            let stream = bulk::patient(listener.accept().expect("a client").0).expect("a time");
            std::io::copy(&mut &stream, &mut &stream).expect("to echo");
        });
        let sending = scope.spawn(|| bulk::send(&connection, 1, 10_000_000).expect("to send"));
        let (received, came) = bulk::receive(&connection).expect("the echo");
        assert_eq!((received, came), (10_000_000, sending.join().expect("to send")));
    });
    drop(connection);
    endpoint.stop().expect("an end in order");
    drop(endpoint);
    assert_eq!(Seen::read(&capture).resets, 0);
}

#[test]
fn nobody_listens_there() {
    let link = Link::new(Wire::Tap, 1_500, Offload::On);
    let capture = link.world.file("client.pcapng");
    let endpoint = Endpoint::start(&link.config(), vec![link.open("", &capture)]);
    let endpoint = endpoint.expect("the host begins");
    for to in [link.peer_v4(), link.peer_v6()] {
        let refused = endpoint.connect(SocketAddr::new(to, 9)).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "{to}: {refused}");
    }
}

/// A real iperf3 in both directions, several streams at a time.
#[test]
fn iperf3_runs_in_every_direction() {
    let link = Link::new(Wire::Tap, 1_500, Offload::On);
    let address = format!("{}/24", link.host_v4());
    let mut command = Command::new(portolan_e2e::example("iperf3"));
    command.args(["tap:ptl0", &address]);
    let mut server = portolan_e2e::Running::start(&link.world.host, command);
    server.wait_for("the server to listen", |it| it.stderr().contains("port").then_some(()));
    link.wait_until_it_runs();
    for flags in [&["-R"][..], &[], &["-P", "4"], &["-P", "2", "-R"], &["--bidir"]] {
        let mut client = Command::new(program("iperf3", "iperf3"));
        client.args(["-c", &link.host_v4().to_string(), "-t", "1", "--json"]).args(flags);
        let ran = link.peer.succeed(client);
        let told: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let received = told["end"]["sum_received"]["bytes"].as_u64();
        assert!(received > Some(1 << 20), "{flags:?} {ran}");
    }
}
