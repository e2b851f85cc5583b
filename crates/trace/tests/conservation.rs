//! What is counted is what happened: no more and no less.

mod scene;

use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    thread,
    time::Duration,
};

use portolan_flow::Totals;
use portolan_trace::{MethodName, TraceOptions};
use scene::{
    Seen, alone, any_port, close, connect, is_by_cgroup, move_bytes, open, timeless, tracer,
};

/// What the other end counts of the same traffic.
fn mirrored(totals: Totals) -> Totals {
    Totals {
        bytes_sent: totals.bytes_received,
        bytes_received: totals.bytes_sent,
        datagrams_sent: totals.datagrams_received,
        datagrams_received: totals.datagrams_sent,
        ..totals
    }
}

#[test]
fn short_connections_are_counted_exactly_by_each_method() {
    alone(|| {
        let mut tracers = MethodName::ALL.map(|method| (method, tracer(method), Seen::default()));
        let listeners = ["127.0.0.1", "127.0.0.2", "::1"]
            .map(|address| TcpListener::bind(any_port(address)).expect("loopback"));
        let mut expected = [Totals::default(); 3];
        for round in 0..240_usize {
            let at = round % 3;
            let (sent, received) = (round * 37 % 5_000, round * 91 % 40_000);
            let (client, server) = connect(&listeners[at]);
            move_bytes(&client, &server, sent);
            move_bytes(&server, &client, received);
            if round % 2 == 0 {
                close(client, server)
            } else {
                close(server, client)
            }
            let sum = &mut expected[at];
            sum.opened += 1;
            sum.closed += 1;
            sum.bytes_sent += sent as u64;
            sum.bytes_received += received as u64;
            if round % 50 == 0 {
                for (_, tracer, seen) in &mut tracers {
                    seen.add(tracer.read().expect("it runs"));
                }
            }
        }
        for (method, tracer, seen) in &mut tracers {
            seen.add(tracer.read().expect("it runs"));
            for (listener, expected) in listeners.iter().zip(expected) {
                let server = listener.local_addr().expect("it listens");
                let (active, passive) = seen.tcp(server);
                assert_eq!(timeless(active), expected, "{method} {server}");
                assert_eq!(timeless(passive), mirrored(expected), "{method} {server}");
            }
        }
    });
}

#[test]
fn connections_from_before_count_from_then_on_and_do_not_open() {
    alone(|| {
        let listener = TcpListener::bind(any_port("127.0.0.1")).expect("loopback");
        let address = listener.local_addr().expect("it listens");
        let pairs: Vec<_> = (0..5).map(|_| connect(&listener)).collect();
        for (client, server) in &pairs {
            move_bytes(client, server, 1_000);
        }
        let (mut tracer, mut seen) = (tracer(MethodName::Bundle), Seen::default());
        for (client, server) in &pairs {
            move_bytes(client, server, 10);
            move_bytes(server, client, 300);
        }
        seen.add(tracer.read().expect("it runs"));
        let expected = Totals { bytes_sent: 50, bytes_received: 1_500, ..Totals::default() };
        assert_eq!(timeless(seen.tcp(address).0), expected);
        assert_eq!(timeless(seen.tcp(address).1), mirrored(expected));
        assert_eq!(seen.up[&address], (5, 5));
        let flow = &seen.flows[0];
        assert!(!flow.guessed);
        assert!(flow.client.owner.process().is_some(), "found by its descriptor");

        for (client, server) in &pairs {
            move_bytes(server, client, 1);
        }
        if is_by_cgroup() {
            // What they move after the last reading nobody tells it.
            seen.add(tracer.read().expect("it runs"));
        }
        for (client, server) in pairs {
            close(client, server);
        }
        seen.add(tracer.read().expect("it runs"));
        let expected = Totals { closed: 5, bytes_received: 1_505, ..expected };
        assert_eq!(timeless(seen.tcp(address).0), expected);
        assert_eq!(timeless(seen.tcp(address).1), mirrored(expected));
        assert_eq!(seen.up.get(&address), Some(&(0, 0)));
    });
}

#[test]
fn long_connections_are_counted_as_they_go() {
    alone(|| {
        let (mut tracer, mut seen) = (tracer(MethodName::Bundle), Seen::default());
        let listener = TcpListener::bind(any_port("::1")).expect("loopback");
        let address = listener.local_addr().expect("it listens");
        let (client, server) = connect(&listener);
        for round in 1..=4 {
            move_bytes(&client, &server, 100_000);
            move_bytes(&server, &client, 50);
            seen.add(tracer.read().expect("it runs"));
            let (active, passive) = seen.tcp(address);
            let expected = Totals {
                opened: 1,
                bytes_sent: round * 100_000,
                bytes_received: round * 50,
                ..Totals::default()
            };
            assert_eq!(timeless(active), expected);
            assert_eq!(timeless(passive), mirrored(expected));
            assert_eq!(seen.up[&address], (1, 1));
        }
        let (active, _) = seen.tcp(address);
        assert!(active.rtt_us().is_some_and(|rtt| rtt < 1_000_000));
    });
}

#[test]
fn resets_are_told_from_both_ends() {
    alone(|| {
        let (mut tracer, mut seen) = (tracer(MethodName::Bundle), Seen::default());
        let listener = TcpListener::bind(any_port("127.0.0.1")).expect("loopback");
        let address = listener.local_addr().expect("it listens");
        for _ in 0..20 {
            let (mut client, server) = connect(&listener);
            // To close with something unread is to reset.
            client.write_all(&[1; 64]).expect("it is up");
            while server.peek(&mut [0; 64]).expect("it is up") < 64 {}
            drop(server);
            drop(client);
        }
        seen.add(tracer.read().expect("it runs"));
        let (active, passive) = seen.tcp(address);
        let expected =
            Totals { opened: 20, closed: 20, resets: 20, bytes_sent: 1_280, ..Totals::default() };
        assert_eq!(timeless(active), expected);
        assert_eq!(timeless(passive), mirrored(expected));
    });
}

#[test]
fn refused_connections_are_failures_of_the_client() {
    alone(|| {
        let (mut tracer, mut seen) = (tracer(MethodName::Bundle), Seen::default());
        let address: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        for _ in 0..30 {
            TcpStream::connect(address).expect_err("nobody listens");
        }
        let unreachable: SocketAddr = "192.0.2.1:9".parse().expect("an address");
        TcpStream::connect(unreachable).expect_err("there is no way there");
        seen.add(tracer.read().expect("it runs"));
        let (active, passive) = seen.tcp(address);
        assert_eq!(active, Totals { refused: 30, ..Totals::default() });
        assert!(passive.is_zero());
        let flow = seen.flows.iter().find(|flow| flow.server_port == 9).expect("it was tried");
        assert!(flow.client.owner.process().is_some(), "taken at connect()");
    });
}

#[test]
fn an_unanswered_connection_has_timed_out() {
    alone(|| {
        let (mut tracer, mut seen) = (tracer(MethodName::Bundle), Seen::default());
        let listener = TcpListener::bind(any_port("127.0.0.1")).expect("loopback");
        let address = listener.local_addr().expect("it listens");
        rustix::net::listen(&listener, 0).expect("it listens already");
        // What fits into the queue, and then one of which the kernel drops each SYN.
        let _waiting: Vec<_> = (0..1).map(|_| TcpStream::connect(address).expect("room")).collect();
        let timeout = Duration::from_millis(300);
        TcpStream::connect_timeout(&address, timeout).expect_err("there is no room");
        seen.add(tracer.read().expect("it runs"));
        let (active, _) = seen.tcp(address);
        // It is the program that gave up, not the kernel.
        assert_eq!((active.opened, active.abandoned), (1, 1));
    });
}

#[test]
fn datagrams_are_counted_exactly() {
    alone(|| {
        let mut tracers = MethodName::ALL.map(|method| (method, tracer(method), Seen::default()));
        for (server, client) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1")] {
            let server = UdpSocket::bind((server, 5_300)).expect("loopback");
            let address = server.local_addr().expect("it is bound");
            let connected = UdpSocket::bind(any_port(client)).expect("loopback");
            connected.connect(address).expect("loopback");
            let unconnected = UdpSocket::bind(any_port(client)).expect("loopback");
            let mut expected = Totals::default();
            for round in 0..200_usize {
                let (sent, received) = (round * 7 % 1_400, round * 3 % 900);
                if round % 2 == 0 {
                    connected.send(&vec![0; sent]).expect("loopback");
                } else {
                    unconnected.send_to(&vec![0; sent], address).expect("loopback");
                }
                let (length, from) = server.recv_from(&mut [0; 2_000]).expect("it was sent");
                assert_eq!(length, sent);
                server.send_to(&vec![0; received], from).expect("loopback");
                let client = if round % 2 == 0 { &connected } else { &unconnected };
                client.recv(&mut [0; 2_000]).expect("it was sent");
                expected.bytes_sent += sent as u64;
                expected.bytes_received += received as u64;
                expected.datagrams_sent += 1;
                expected.datagrams_received += 1;
            }
            for (method, tracer, seen) in &mut tracers {
                seen.add(tracer.read().expect("it runs"));
                let (active, passive) = seen.udp(address);
                assert_eq!(active, expected, "{method} {address}");
                assert_eq!(passive, mirrored(expected), "{method} {address}");
            }
        }
    });
}

#[test]
fn what_finds_no_room_is_in_the_overflow() {
    alone(|| {
        let options = TraceOptions { edges_max: 16, udp: false, ..TraceOptions::default() };
        let (mut tracer, mut seen) = (open(options), Seen::default());
        let listener = TcpListener::bind("0.0.0.0:4000").expect("all is ours");
        for host in 1..=200_u8 {
            let to = SocketAddr::from(([127, 0, 1, host], 4_000));
            let client = TcpStream::connect(to).expect("loopback");
            let (server, _) = listener.accept().expect("it was just opened");
            move_bytes(&client, &server, 10);
            close(client, server);
        }
        let reading = tracer.read().expect("it runs");
        assert!(reading.losses.overflow > 0);
        seen.add(reading);
        let mut sum = seen.overflow;
        for (active, passive) in seen.edges.values() {
            sum.add(active);
            sum.add(passive);
        }
        assert!(seen.edges.len() <= 16);
        assert_eq!((sum.opened, sum.closed), (400, 400), "both ends of each");
        assert_eq!((sum.bytes_sent, sum.bytes_received), (2_000, 2_000));
    });
}

#[test]
fn many_connections_are_parked_and_followed() {
    alone(|| {
        // Places for 1,024; the rest is parked.
        let options = TraceOptions { connections: 1, ..TraceOptions::default() };
        let (mut tracer, mut seen) = (open(options), Seen::default());
        let listener = TcpListener::bind(any_port("127.0.0.1")).expect("loopback");
        let address = listener.local_addr().expect("it listens");
        let pairs: Vec<_> = (0..900).map(|_| connect(&listener)).collect();
        for (client, server) in &pairs {
            move_bytes(client, server, 11);
        }
        seen.add(tracer.read().expect("it runs"));
        assert_eq!(seen.up[&address], (900, 900));
        for (client, server) in pairs {
            move_bytes(&client, &server, 1);
            close(client, server);
        }
        seen.add(tracer.read().expect("it runs"));
        let (active, passive) = seen.tcp(address);
        let expected = Totals { opened: 900, closed: 900, bytes_sent: 10_800, ..Totals::default() };
        assert_eq!(timeless(active), expected);
        assert_eq!(timeless(passive), mirrored(expected));
        assert!(seen.up.values().all(|&up| up == (0, 0)));
    });
}

#[test]
fn readings_beside_connections_lose_nothing() {
    alone(|| {
        let (mut tracer, mut seen) = (tracer(MethodName::Bundle), Seen::default());
        let listener = TcpListener::bind(any_port("127.0.0.1")).expect("loopback");
        let address = listener.local_addr().expect("it listens");
        let work = thread::spawn(move || {
            for round in 0..3_000_usize {
                let (client, server) = connect(&listener);
                move_bytes(&client, &server, round % 97);
                close(client, server);
            }
        });
        while !work.is_finished() {
            seen.add(tracer.read().expect("it runs"));
        }
        work.join().expect("it does not fail");
        seen.add(tracer.read().expect("it runs"));
        let bytes: u64 = (0..3_000_u64).map(|round| round % 97).sum();
        let (active, passive) = seen.tcp(address);
        let expected =
            Totals { opened: 3_000, closed: 3_000, bytes_sent: bytes, ..Totals::default() };
        assert_eq!(timeless(active), expected);
        assert_eq!(timeless(passive), mirrored(expected));
    });
}
