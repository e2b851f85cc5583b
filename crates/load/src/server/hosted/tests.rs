use std::{
    io::{Read, Write},
    time::Duration,
};

use portolan_host::{
    blocking::{Connection, Endpoint},
    nic::mem,
};

use super::*;
use crate::{Sizes, parse_serve_at};

const ANY: IpAddr = IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);

fn config(address: &str) -> Config {
    Config::new(vec![address.parse().unwrap()])
}

fn options(serve: &[&str]) -> ServerOptions {
    let serve = serve.iter().flat_map(|text| parse_serve_at(text, Sizes::default(), ANY).unwrap());
    ServerOptions { serve: serve.collect(), ..ServerOptions::default() }
}

/// A server, and a host at the other end of its link.
fn server(serve: &[&str]) -> (HostedServer, Endpoint) {
    let (near, far) = mem::pair(&mem::Options::default());
    let config_here = config("192.0.2.1/24");
    let server = HostedServer::start(&options(serve), &config_here, vec![near]).unwrap();
    (server, Endpoint::start(&config("192.0.2.2/24"), vec![far]).unwrap())
}

fn connect(client: &Endpoint, port: u16) -> Connection {
    let to = SocketAddr::new("192.0.2.1".parse().unwrap(), port);
    let connection = client.connect(to).unwrap();
    connection.set_timeout(Some(Duration::from_secs(60)));
    connection
}

/// Writes all, and says what comes until the other end has finished.
fn ask(client: &Endpoint, port: u16, request: &[u8]) -> Vec<u8> {
    let mut connection = connect(client, port);
    connection.write_all(request).unwrap();
    connection.finish();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn each_service_does_what_it_does_on_the_kernel() {
    let (mut server, client) = server(&["echo:7", "sink:9", "http=5:80", "rr=4/6:9100"]);
    let long = vec![b'x'; 300_000];
    assert!(ask(&client, 7, &long) == long);
    assert_eq!(ask(&client, 9, &long), b"");
    assert_eq!(ask(&client, 9100, b"one.two.thr"), [super::super::http::FILLER; 12]);
    let answer = ask(&client, 80, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n....."), "{answer}");
    assert!(!answer.contains("1970"), "{answer}");
    server.settle().unwrap();
    let ServerSummary { total, ports, .. } = server.summary();
    assert_eq!((total.accepted, total.closed, total.requests), (4, 4, 3));
    assert_eq!((total.reset, total.errors, total.truncated), (0, 0, 1));
    let received: Vec<u64> = ports.iter().map(|port| port.counts.bytes_received).collect();
    assert_eq!(received, [300_000, 300_000, 46, 11]);
}

#[test]
fn datagrams_are_answered_where_a_service_has_them() {
    let (mut server, client) = server(&["echo:7", "rr=4/12:9100", "sink:9"]);
    let port = client.bind(None, 0).unwrap();
    let mut buffer = [0; 64];
    for (to, answer) in [(7, &b"0123456789"[..]), (9100, b"01234567\0\0\0\0")] {
        let to = SocketAddr::new("192.0.2.1".parse().unwrap(), to);
        port.send_to(b"0123456789", to).unwrap();
        let (count, from) = port.receive_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..count], from), (answer, to));
    }
    server.settle().unwrap();
    let total = server.summary().total;
    assert_eq!((total.datagrams_received, total.datagrams_sent), (2, 2));
}

#[test]
fn who_does_not_read_is_not_read_either() {
    let (server, client) = server(&["echo:7"]);
    let mut connection = connect(&client, 7);
    connection.set_timeout(Some(Duration::from_millis(200)));
    let (mut written, piece) = (0, vec![b'x'; 65_536]);
    while let Ok(count) = connection.write(&piece) {
        written += count;
        assert!(written < 64 << 20, "it is kept in memory");
    }
    assert!(server.ports()[0].counts.bytes_received < written as u64);
    connection.set_timeout(Some(Duration::from_secs(60)));
    connection.finish();
    let mut back = Vec::new();
    connection.read_to_end(&mut back).unwrap();
    assert_eq!(back.len(), written);
}

#[test]
fn places_that_cannot_be_are_refused() {
    let start = |serve: &[&str]| {
        let (near, _far) = mem::pair(&mem::Options::default());
        let error = HostedServer::start(&options(serve), &config("192.0.2.1/24"), vec![near]);
        error.unwrap_err().to_string()
    };
    assert!(start(&["echo:7,9,7"]).contains("port 7 is given to two services"));
    assert!(start(&["echo:0"]).contains("needs a port"));
    assert!(start(&["echo:192.0.2.9:7"]).contains("192.0.2.9 is no address of this host"));
}
