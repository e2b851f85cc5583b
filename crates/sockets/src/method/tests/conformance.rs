//! One run for every method: known sockets in a network namespace of their own are listed as what
//! they are, and alike by all.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::*;
use crate::{
    State,
    scene::{Program, eventually, in_own_namespace},
};

/// What both methods know of a socket.
type Known = (Transport, State, SocketAddr, SocketAddr, u32, u32);

const NOBODY: u32 = 65534;

const TCP_INFO: Details = Details { tcp_info: true, ..Details::NONE };

/// All that every method can tell.
fn query(transport: Transport) -> Query {
    let details = Details { holder: true, ..Details::default() };
    Query { details, ..Query::all(transport) }
}

fn list(method: MethodName, query: &Query) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut reader = open(method, &Place::here()).expect("opened");
    let coverage = reader.read(query, &mut |row| rows.push(row.clone())).expect("listed");
    let count = u64::try_from(rows.len()).expect("few");
    assert_eq!(coverage, Coverage { rows: count, skipped: 0, torn: false }, "{method}");
    rows
}

fn known(rows: &[Row]) -> BTreeSet<Known> {
    let known = |row: &Row| (row.transport, row.state, row.local, row.remote, row.uid, row.inode);
    let set: BTreeSet<Known> = rows.iter().map(known).collect();
    assert_eq!(set.len(), rows.len(), "none is listed twice");
    set
}

fn all(method: MethodName) -> BTreeSet<Known> {
    let mut all = known(&list(method, &query(Transport::Tcp)));
    all.extend(known(&list(method, &query(Transport::Udp))));
    all
}

fn inode(socket: impl AsFd) -> u32 {
    let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_fd().as_raw_fd()));
    let link = link.expect("an open descriptor").to_string_lossy().into_owned();
    link.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number")
}

/// The sockets of the scene, and what a listing must say about them.
#[derive(Default)]
struct Scene {
    expected: BTreeSet<Known>,
    sockets: Vec<OwnedFd>,
    programs: Vec<Program>,
}

impl Scene {
    fn keep(&mut self, socket: impl Into<OwnedFd>) {
        self.sockets.push(socket.into());
    }

    fn expect_tcp(&mut self, state: State, local: SocketAddr, remote: SocketAddr, inode: u32) {
        self.expected.insert((Transport::Tcp, state, local, remote, 0, inode));
    }

    fn expect_stream(&mut self, state: State, stream: &TcpStream) {
        let (local, remote) = (stream.local_addr().expect("bound"), stream.peer_addr());
        self.expect_tcp(state, local, remote.expect("connected"), inode(stream));
    }

    /// A listener, and both ends of a connection to it at `called`.
    fn connection(&mut self, bound: &str, called: Option<&str>) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(bound).expect("bound");
        let local = listener.local_addr().expect("bound");
        let called = called.map_or(local.ip(), |called| called.parse().expect("valid"));
        let client = TcpStream::connect((called, local.port())).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        self.expect_tcp(State::Listen, local, nowhere(local), inode(&listener));
        self.keep(listener);
        (client, server)
    }

    fn established(&mut self, bound: &str, called: Option<&str>) {
        let (client, server) = self.connection(bound, called);
        for stream in [client, server] {
            self.expect_stream(State::Established, &stream);
            self.keep(stream);
        }
    }

    fn half_closed(&mut self) {
        let (client, server) = self.connection("127.0.0.1:0", None);
        client.shutdown(std::net::Shutdown::Write).expect("connected");
        self.expect_stream(State::FinWait2, &client);
        self.expect_stream(State::CloseWait, &server);
        self.keep(client);
        self.keep(server);
    }

    fn over(&mut self, bound: &str, called: Option<&str>) {
        let (mut client, server) = self.connection(bound, called);
        // As the socket has it: an IPv4-mapped address stays one.
        let (local, remote) = (server.local_addr(), server.peer_addr());
        self.expect_tcp(State::TimeWait, local.expect("bound"), remote.expect("connected"), 0);
        drop(server);
        assert_eq!(client.read(&mut [0]).expect("the end"), 0);
    }

    /// A listener that has no room for a second connection, which then gets no answer.
    fn opening(&mut self) {
        let (listener, local) = bound(SocketFlags::CLOEXEC);
        rustix::net::listen(&listener, 0).expect("listening");
        self.expect_tcp(State::Listen, local, nowhere(local), inode(&listener));
        let first = TcpStream::connect(local).expect("connected");
        self.expect_stream(State::Established, &first);
        // Nobody has accepted this end, so nobody holds it.
        let (from, to) = (first.local_addr().expect("bound"), local);
        self.expect_tcp(State::Established, to, from, 0);
        let (second, from) = bound(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
        let refused = rustix::net::connect(&second, &to);
        assert_eq!(refused, Err(rustix::io::Errno::INPROGRESS));
        self.expect_tcp(State::SynSent, from, to, inode(&second));
        self.sockets.extend([listener, second]);
        self.keep(first);
    }

    /// A listener that accepts only once data came (TCP_DEFER_ACCEPT), so that it stays half-open.
    fn half_open(&mut self) {
        let mut listener = Program::perl(
            "socket(L, PF_INET, SOCK_STREAM, 6); setsockopt(L, 6, 9, pack('i', 60)) or die; \
             bind(L, sockaddr_in(4444, INADDR_LOOPBACK)) or die; listen(L, 5); \
             print((stat L)[1], qq(\\n))",
        );
        let number = listener.line().parse().expect("an inode number");
        self.programs.push(listener);
        let local = "127.0.0.1:4444".parse().expect("valid");
        self.expect_tcp(State::Listen, local, nowhere(local), number);
        let client = TcpStream::connect(local).expect("connected");
        self.expect_stream(State::Established, &client);
        self.expect_tcp(State::SynReceived, local, client.local_addr().expect("bound"), 0);
        self.keep(client);
    }

    fn of_another_user(&mut self) {
        let mut other = Program::perl(&format!(
            "$> = {NOBODY}; socket(L, PF_INET, SOCK_STREAM, 6); \
             bind(L, sockaddr_in(5555, INADDR_LOOPBACK)) or die; listen(L, 5); \
             print((stat L)[1], qq(\\n))"
        ));
        let number = other.line().parse().expect("an inode number");
        let local: SocketAddr = "127.0.0.1:5555".parse().expect("valid");
        let listener = (Transport::Tcp, State::Listen, local, nowhere(local), NOBODY, number);
        self.expected.insert(listener);
        self.programs.push(other);
    }

    fn udp(&mut self, address: &str) {
        let server = UdpSocket::bind(address).expect("bound");
        let client = UdpSocket::bind(address).expect("bound");
        let (to, from) = (server.local_addr().expect("bound"), client.local_addr());
        let from = from.expect("bound");
        client.connect(to).expect("connected");
        let transport = Transport::Udp;
        self.expected.insert((transport, State::Close, to, nowhere(to), 0, inode(&server)));
        self.expected.insert((transport, State::Established, from, to, 0, inode(&client)));
        self.keep(server);
        self.keep(client);
    }

    fn set() -> Self {
        let mut scene = Self::default();
        scene.established("127.0.0.1:0", None);
        scene.established("[::1]:0", None);
        scene.established("[::]:0", Some("127.0.0.1"));
        scene.established("0.0.0.0:0", Some("127.1.2.3"));
        scene.half_closed();
        scene.over("127.0.0.1:0", None);
        scene.over("[::1]:0", None);
        scene.over("[::]:0", Some("127.0.0.1"));
        scene.opening();
        scene.half_open();
        scene.of_another_user();
        scene.udp("127.0.0.1:0");
        scene.udp("[::1]:0");
        // Bound, and neither listening nor connected: in no listing.
        let (inactive, _) = bound(SocketFlags::CLOEXEC);
        scene.sockets.push(inactive);
        scene
    }
}

/// A TCP socket that is bound to a port of 127.0.0.1.
fn bound(flags: SocketFlags) -> (OwnedFd, SocketAddr) {
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, flags, None).expect("a socket");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("valid");
    rustix::net::bind(&socket, &any).expect("bound");
    let local = rustix::net::getsockname(&socket).expect("bound");
    (socket, local.try_into().expect("an IP address"))
}

/// The remote address of a socket without a peer.
fn nowhere(local: SocketAddr) -> SocketAddr {
    let nowhere = if local.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    nowhere.parse().expect("valid")
}

#[test]
fn every_method_lists_every_socket() {
    in_own_namespace(|| {
        let scene = Scene::set();
        for method in MethodName::ALL {
            eventually("the sockets settle", || all(method).is_superset(&scene.expected));
            assert_eq!(all(method), scene.expected, "{method}");
        }
    });
}

#[test]
fn every_method_lists_the_states_that_were_asked_for() {
    in_own_namespace(|| {
        let scene = Scene::set();
        let pairs = [States::NONE.with(State::Listen).with(State::TimeWait), States::NONE];
        let single = State::ALL.into_iter().filter(|state| *state != State::BoundInactive);
        let single = single.map(|state| States::NONE.with(state));
        for states in single.chain(pairs) {
            let expected = |transport| {
                let asked = scene.expected.iter().filter(|known| known.0 == transport);
                asked.filter(|known| states.contains(known.1)).copied().collect::<BTreeSet<_>>()
            };
            for method in MethodName::ALL {
                for transport in [Transport::Tcp, Transport::Udp] {
                    let query = Query { states, ..query(transport) };
                    let listed = known(&list(method, &query));
                    assert_eq!(listed, expected(transport), "{method} {transport} {states:?}");
                }
            }
        }
    });
}

#[test]
fn a_reader_stays_in_the_namespace_that_it_was_opened_in() {
    in_own_namespace(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
        let mut reader = open(MethodName::Diag, &Place::here()).expect("opened");
        crate::scene::run_in_own_namespace(move || {
            let mut inodes = Vec::new();
            let query = query(Transport::Udp);
            reader.read(&query, &mut |row| inodes.push(row.inode)).expect("listed");
            assert_eq!(inodes, [inode(&socket)]);
        });
    });
}

#[test]
fn every_method_tells_the_details_that_it_promises() {
    in_own_namespace(|| {
        let scene = Scene::set();
        for method in MethodName::ALL {
            eventually("the sockets settle", || all(method).is_superset(&scene.expected));
            let details = Details { tcp_info: false, ..method.details() };
            for transport in [Transport::Tcp, Transport::Udp] {
                let rows = list(method, &Query { details, ..Query::all(transport) });
                let cookies: BTreeSet<u64> = rows.iter().map(|row| row.cookie).collect();
                let all_have_one = cookies.len() == rows.len() && !cookies.contains(&0);
                assert!(all_have_one || !details.cookie, "{method} {transport}");
                for row in rows {
                    let expected = match row.state {
                        State::TimeWait => 3,
                        State::SynSent | State::SynReceived | State::NewSynReceived => 1,
                        _ => continue,
                    };
                    let told = row.timer == expected && row.expires_ms > 0;
                    assert!(told || !details.timer, "{method} {row:?}");
                }
            }
        }
    });
}

#[test]
fn only_sock_diag_measures() {
    in_own_namespace(|| {
        let _scene = Scene::set();
        for tcp_info in [false, true] {
            let query = Query {
                details: Details { tcp_info, ..Details::default() },
                ..query(Transport::Tcp)
            };
            let rows = list(MethodName::Diag, &query);
            let cookies: BTreeSet<u64> = rows.iter().map(|row| row.cookie).collect();
            assert!(cookies.len() == rows.len() && !cookies.contains(&0), "one for each");
            for row in rows {
                let stateless = matches!(
                    row.state,
                    State::TimeWait | State::SynReceived | State::NewSynReceived
                );
                assert_eq!(row.tcp.is_some(), tcp_info && !stateless, "{row:?}");
            }
            for method in [MethodName::Iter, MethodName::Procfs] {
                let rows = list(method, &query);
                assert!(rows.iter().all(|row| row.tcp.is_none()), "{method}");
            }
        }
        let query = Query { details: TCP_INFO, ..query(Transport::Udp) };
        for row in list(MethodName::Diag, &query) {
            assert!(row.tcp.is_none() && row.cookie != 0, "{row:?}");
        }
    });
}

#[test]
fn the_measurements_are_those_of_the_transfer() {
    in_own_namespace(|| {
        let (mut client, mut server) = Scene::default().connection("127.0.0.1:0", None);
        let sent = [7; 12_345];
        client.write_all(&sent).expect("sent");
        server.read_exact(&mut [0; 12_345]).expect("received");
        let query = Query { details: TCP_INFO, ..query(Transport::Tcp) };
        let info = |stream: &TcpStream| {
            let rows = list(MethodName::Diag, &query);
            let row = rows.into_iter().find(|row| row.inode == inode(stream)).expect("listed");
            row.tcp.expect("measured")
        };
        // One more than the data, for the SYN.
        eventually("all is acknowledged", || info(&client).bytes_acked == Some(12_346));
        let (of_client, of_server) = (info(&client), info(&server));
        assert_eq!(of_client.bytes_sent, Some(12_345));
        assert_eq!((of_client.bytes_retransmitted, of_client.retransmits_total), (Some(0), 0));
        assert_eq!(of_server.bytes_received, Some(12_345));
        assert_eq!(of_server.bytes_sent, Some(0));
        let (rtt, least) = (of_client.rtt_us, of_client.rtt_min_us.expect("was measured"));
        assert!(rtt > 0 && u64::from(least) <= u64::from(rtt) * 8, "{rtt} {least}");
        assert!(of_client.path_mtu > 1500, "loopback's is larger than Ethernet's");
        assert!(of_client.congestion_window > 0 && of_client.send_mss > 1000);
    });
}

#[test]
fn what_waits_in_the_queues_is_seen_by_both() {
    in_own_namespace(|| {
        let (mut client, server) = Scene::default().connection("127.0.0.1:0", None);
        client.write_all(b"not read").expect("sent");
        let queue = |method, of: &TcpStream| {
            let rows = list(method, &query(Transport::Tcp));
            let row = rows.iter().find(|row| row.inode == inode(of)).expect("listed");
            row.receive_queue
        };
        for method in MethodName::ALL {
            eventually("the data arrives", || queue(method, &server) == 8);
            assert_eq!(queue(method, &client), 0, "{method}");
        }
    });
}
