//! Connections that do not come up, or break: counted once, by their kind.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    thread,
    time::Duration,
};

use portolan_e2e::{
    Place, World, program,
    traced::{Side, Traced, connect, mirrored, move_bytes},
};
use portolan_flow::Totals;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

const PORT: u16 = 7410;

fn at(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), PORT)
}

fn ip(place: &Place, commands: &[String]) {
    for command in commands {
        let mut ip = Command::new(program("ip", "iproute2"));
        ip.args(command.split(' '));
        place.succeed(ip);
    }
}

fn set(place: &Place, settings: &[(&str, &str)]) {
    place.enter(|| {
        for (name, value) in settings {
            let path = format!("/proc/sys/net/{name}");
            fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    });
}

/// A world whose far side says of some addresses that they cannot be reached, of others that it is
/// forbidden, and of others nothing; and gives up connecting after 3 seconds.
fn world() -> (World, Place) {
    let mut world = World::new();
    let far = world.add_namespace();
    set(
        &far,
        &[
            ("ipv4/ip_forward", "1"),
            ("ipv6/conf/all/forwarding", "1"),
            ("ipv4/icmp_ratelimit", "0"),
            ("ipv6/icmp/ratelimit", "0"),
        ],
    );
    set(&world.host, &[("ipv4/tcp_syn_retries", "1")]);
    ip(&world.host, &["-6 address add fd77::1/64 dev ptl0 nodad".to_owned()]);
    ip(&far, &["-6 address add fd77::2/64 dev ptl0 nodad".to_owned()]);
    for (way, last) in [("unreachable", 1), ("prohibit", 2), ("blackhole", 3)] {
        ip(&far, &[format!("route add {way} 198.18.0.{last}")]);
        ip(&far, &[format!("-6 route add {way} fd78::{last}")]);
    }
    ip(&world.host, &[format!("route add 198.18.0.0/16 via {}", far.address)]);
    ip(&world.host, &["-6 route add fd78::/64 via fd77::2".to_owned()]);
    (world, far)
}

/// So many attempts at once.
const TRIED: u64 = 6;

/// How many of them are made: the far side tells one address only so often over IPv4 that there is
/// no way (`ip_error` of net/ipv4/route.c).
fn tried(address: SocketAddr) -> u64 {
    if at("198.18.0.1") == address || at("198.18.0.2") == address { 1 } else { TRIED }
}

fn try_all(address: SocketAddr, expected: &[ErrorKind]) {
    let attempt = || TcpStream::connect(address).expect_err("nobody is there").kind();
    thread::scope(|scope| {
        let all: Vec<_> = (0..tried(address)).map(|_| scope.spawn(attempt)).collect();
        for one in all {
            let kind = one.join().expect("it ends");
            assert!(expected.contains(&kind), "{address}: {kind}");
        }
    });
}

/// Begins connections and ends them before anybody has answered.
fn abandon(address: SocketAddr) {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    for _ in 0..TRIED {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None);
        let socket = socket.expect("descriptors are free");
        let begun = rustix::net::connect(&socket, &address);
        assert_eq!(begun, Err(rustix::io::Errno::INPROGRESS), "{address}");
    }
}

#[test]
fn failures_are_counted_by_their_kind() {
    let (world, far) = world();
    let unreachable = [ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable];
    let forbidden = [&unreachable[..], &[ErrorKind::PermissionDenied]].concat();
    let refusing = [at("127.0.0.1"), at("::1"), at(&far.address), at("fd77::2")];
    let nowhere = [at("198.18.0.1"), at("fd78::1")];
    let filtered = [at("198.18.0.2"), at("fd78::2")];
    let silent = [at("198.18.0.3"), at("fd78::3")];
    let given_up = silent.map(|address| SocketAddr::new(address.ip(), PORT + 1));
    world.host.enter(|| {
        let mut traced = Traced::open().and(&far);
        thread::scope(|scope| {
            let run = |addresses: &[SocketAddr], kinds: &[ErrorKind]| {
                for &address in addresses {
                    let kinds = kinds.to_vec();
                    scope.spawn(move || try_all(address, &kinds));
                }
            };
            run(&refusing, &[ErrorKind::ConnectionRefused]);
            run(&nowhere, &unreachable);
            run(&filtered, &forbidden);
            run(&silent, &[ErrorKind::TimedOut]);
            given_up.into_iter().for_each(abandon);
            for _ in 0..8 {
                traced.read();
                thread::sleep(Duration::from_millis(200));
            }
        });
        traced.read();
        let no = Totals::default();
        for (addresses, kind) in [
            (&refusing[..], Totals { refused: 1, ..no }),
            (&nowhere, Totals { unreachable: 1, ..no }),
            (&filtered, Totals { unreachable: 1, ..no }),
            (&silent, Totals { timed_out: 1, ..no }),
            (&given_up, Totals { abandoned: 1, ..no }),
        ] {
            for &address in addresses {
                let mut expected = no;
                (0..tried(address)).for_each(|_| expected.add(&kind));
                let (active, passive) = traced.tcp(address);
                // How often a SYN was repeated depends on who was at work when the answer came.
                let active = Totals { retransmits: 0, ..active };
                assert_eq!((active, passive), (expected, no), "{address}: {traced:?}");
                let names = traced.processes(Side::Active, address);
                assert!(names.len() == 1 && !names.contains(&None), "{address}: {names:?}");
            }
        }
        assert_eq!(traced.sum(Side::Active, |_| true).up, 0, "{traced:?}");
    });
}

#[test]
fn resets_from_either_end() {
    let (world, far) = world();
    world.host.enter(|| {
        let mut traced = Traced::open().and(&far);
        for (address, is_client) in
            [(far.address.as_str(), true), (far.address.as_str(), false), ("fd77::2", true)]
        {
            let address = SocketAddr::new(address.parse().expect("valid"), {
                if is_client { PORT } else { PORT + 1 }
            });
            let listener = far.enter(|| TcpListener::bind(address)).expect("all is ours");
            for round in 0..20 {
                let (client, server) = connect(&listener, address);
                move_bytes(&client, &server, 10);
                move_bytes(&server, &client, 20);
                if round == 7 {
                    traced.read();
                }
                let (first, mut second) =
                    if is_client { (client, server) } else { (server, client) };
                sockopt::set_socket_linger(&first, Some(Duration::ZERO)).expect("a socket");
                drop(first);
                let error = second.read(&mut [0; 1]).expect_err("it was reset");
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
            traced.read();
            let (active, passive) = traced.tcp(address);
            let expected = Totals {
                opened: 20,
                closed: 20,
                resets: 20,
                bytes_sent: 200,
                bytes_received: 400,
                ..Totals::default()
            };
            assert_eq!((active, passive), (expected, mirrored(expected)), "{traced:?}");
        }
    });
}

/// Loses all that comes: `TC_ACT_SHOT`, which is 2, whatever it is.
fn drop_all(place: &Place) {
    let tc = |words: &[&str]| {
        let mut command = Command::new(program("tc", "iproute2"));
        command.args(words);
        place.succeed(command);
    };
    tc(&["qdisc", "add", "dev", "ptl0", "clsact"]);
    tc(&["filter", "add", "dev", "ptl0", "ingress", "bpf", "da", "bytecode", "1,6 0 0 2"]);
}

/// What was sent has gone out, though it never arrives.
#[test]
fn a_peer_that_answers_no_more() {
    let (world, far) = world();
    world.host.enter(|| {
        let mut traced = Traced::open().and(&far);
        let address = at(&far.address);
        let listener = far.enter(|| TcpListener::bind(address)).expect("all is ours");
        let (mut client, server) = connect(&listener, address);
        move_bytes(&client, &server, 10);
        let timeout = 500;
        sockopt::set_tcp_user_timeout(&client, timeout).expect("a TCP socket");
        drop_all(&far);
        client.write_all(&[7; 100]).expect("there is room");
        let error = client.read(&mut [0; 1]).expect_err("nobody answers");
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::HostUnreachable));
        drop(client);
        traced.read();
        let (active, passive) = traced.tcp(address);
        assert!(active.retransmits > 0, "{traced:?}");
        let expected =
            Totals { opened: 1, closed: 1, resets: 1, bytes_sent: 110, ..Totals::default() };
        assert_eq!(Totals { retransmits: 0, ..active }, expected, "{traced:?}");
        let still_up = Totals { opened: 1, bytes_received: 10, ..Totals::default() };
        assert_eq!(passive, still_up, "{traced:?}");
        assert_eq!(traced.sum(Side::Passive, |_| true).up, 1);
        drop(server);
    });
}
