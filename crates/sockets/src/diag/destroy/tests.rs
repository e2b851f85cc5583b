//! Closing sockets of a real kernel, in a network namespace of the test's own.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
};

use portolan_sys::capabilities::{self, CapabilitySet};

use super::*;
use crate::{
    Details, Query, State,
    diag::Diag,
    method::Method,
    scene::{eventually, in_own_namespace},
};

fn rows(transport: Transport) -> Vec<Row> {
    let query =
        Query { details: Details { cookie: true, ..Details::default() }, ..Query::all(transport) };
    let mut rows = Vec::new();
    let mut diag = Diag::open(&Place::here()).expect("opened");
    diag.read(&query, &mut |row| rows.push(row.clone())).expect("listed");
    rows
}

fn find(transport: Transport, local: SocketAddr, state: State) -> SocketId {
    let found = rows(transport).into_iter().find(|row| row.local == local && row.state == state);
    SocketId::of(&found.expect("it is listed")).expect("with a cookie")
}

fn destroy(socket: &SocketId) -> Ending {
    let mut destroyer = Destroyer::open(&Place::here()).expect("opened");
    destroyer.destroy(socket).expect("answered")
}

/// Both ends of so many connections to `bound`, the client's first.
fn connections(bound: &str, count: usize) -> (TcpListener, Vec<(TcpStream, TcpStream)>) {
    let listener = TcpListener::bind(bound).expect("bound");
    let address = listener.local_addr().expect("bound");
    let both = || {
        let client = TcpStream::connect(address).expect("connected");
        (client, listener.accept().expect("accepted").0)
    };
    let all = (0..count).map(|_| both()).collect();
    (listener, all)
}

fn error_of_read(stream: &mut TcpStream) -> io::ErrorKind {
    stream.read(&mut [0]).expect_err("it was closed").kind()
}

#[test]
fn one_connection_is_closed_and_no_other() {
    in_own_namespace(|| {
        for bound in ["127.0.0.1:0", "[::1]:0"] {
            let (_listener, mut all) = connections(bound, 3);
            let local = all[1].0.local_addr().expect("bound");
            let ending = destroy(&find(Transport::Tcp, local, State::Established));
            assert!(matches!(ending, Ending::Closed), "{bound}: {ending:?}");
            let (client, server) = &mut all[1];
            assert_eq!(error_of_read(client), io::ErrorKind::ConnectionAborted, "{bound}");
            assert_eq!(error_of_read(server), io::ErrorKind::ConnectionReset, "{bound}");
            for at in [0, 2] {
                let (client, server) = &mut all[at];
                client.write_all(b"x").expect("still up");
                server.read_exact(&mut [0]).expect("still up");
            }
        }
    });
}

#[test]
fn ipv4_in_a_socket_of_ipv6_is_closed_as_that() {
    in_own_namespace(|| {
        let listener = TcpListener::bind("[::]:0").expect("bound");
        let port = listener.local_addr().expect("bound").port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        let local = server.local_addr().expect("bound");
        assert!(local.is_ipv6(), "{local}");
        let ending = destroy(&find(Transport::Tcp, local, State::Established));
        assert!(matches!(ending, Ending::Closed), "{ending:?}");
        assert_eq!(error_of_read(&mut client), io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_socket_with_the_same_addresses_and_another_cookie_is_not_meant() {
    in_own_namespace(|| {
        let (_listener, mut all) = connections("127.0.0.1:0", 1);
        let (client, server) = &mut all[0];
        let socket = find(Transport::Tcp, client.local_addr().expect("bound"), State::Established);
        // Each half of the cookie counts.
        for flipped in [1, 1 << 40] {
            let other = SocketId { cookie: socket.cookie ^ flipped, ..socket };
            let ending = destroy(&other);
            assert!(matches!(ending, Ending::NotFound), "{flipped:x}: {ending:?}");
        }
        client.write_all(b"x").expect("still up");
        server.read_exact(&mut [0]).expect("still up");
    });
}

#[test]
fn what_ended_meanwhile_is_not_found() {
    in_own_namespace(|| {
        let (_listener, all) = connections("127.0.0.1:0", 1);
        let local = all[0].0.local_addr().expect("bound");
        let socket = find(Transport::Tcp, local, State::Established);
        assert!(matches!(destroy(&socket), Ending::Closed));
        assert!(matches!(destroy(&socket), Ending::NotFound));
    });
}

#[test]
fn listeners_and_udp_are_closed_too() {
    in_own_namespace(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let local = listener.local_addr().expect("bound");
        assert!(matches!(destroy(&find(Transport::Tcp, local, State::Listen)), Ending::Closed));
        assert!(TcpStream::connect(local).is_err());

        let server = UdpSocket::bind("127.0.0.1:0").expect("bound");
        let client = UdpSocket::bind("127.0.0.1:0").expect("bound");
        client.connect(server.local_addr().expect("bound")).expect("connected");
        let local = client.local_addr().expect("bound");
        let socket = find(Transport::Udp, local, State::Established);
        assert!(matches!(destroy(&socket), Ending::Closed));
        let error = client.recv(&mut [0]).expect_err("it lost its peer");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
        assert_eq!(client.peer_addr().expect_err("none").kind(), io::ErrorKind::NotConnected);
    });
}

#[test]
fn it_takes_a_capability() {
    in_own_namespace(|| {
        let (_listener, mut all) = connections("127.0.0.1:0", 1);
        let socket =
            find(Transport::Tcp, all[0].0.local_addr().expect("bound"), State::Established);
        // Of this thread alone, which ends with the test.
        capabilities::retain(CapabilitySet::empty()).expect("one may give up anything");
        let Ending::Refused(error) = destroy(&socket) else { panic!("it may not") };
        assert_eq!(error.raw_os_error(), Some(1), "EPERM: {error}");
        all[0].0.write_all(b"x").expect("still up");
    });
}

/// Linux 6.18 can; a kernel that cannot has to say so.
#[test]
fn time_wait_is_closed_or_refused_but_never_ignored() {
    in_own_namespace(|| {
        let (_listener, mut all) = connections("127.0.0.1:0", 1);
        let (client, server) = all.remove(0);
        let local = client.local_addr().expect("bound");
        drop(client);
        drop(server);
        let waits = |row: &Row| row.local == local && row.state == State::TimeWait;
        eventually("it is in TIME-WAIT", || rows(Transport::Tcp).iter().any(waits));
        match destroy(&find(Transport::Tcp, local, State::TimeWait)) {
            Ending::Closed => assert!(!rows(Transport::Tcp).iter().any(waits)),
            Ending::Refused(error) => {
                assert_eq!(error.raw_os_error(), Some(95), "EOPNOTSUPP: {error}");
            }
            Ending::NotFound => panic!("it is there"),
        }
    });
}

#[test]
fn a_row_without_a_cookie_is_no_socket_that_could_be_closed() {
    let mut row = Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: "127.0.0.1:80".parse().expect("valid"),
        remote: "127.0.0.1:40000".parse().expect("valid"),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode: 1,
        cookie: 0,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: None,
        memory: None,
    };
    assert_eq!(SocketId::of(&row), None);
    row.cookie = u64::MAX;
    assert_eq!(SocketId::of(&row), None, "it would mean any socket with these addresses");
    row.cookie = 7;
    assert_eq!(SocketId::of(&row).map(|socket| socket.cookie), Some(7));
}
