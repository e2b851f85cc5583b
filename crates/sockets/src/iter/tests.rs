//! What only the iterators do; that they list what the others list is in method/tests.

mod files;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    num::NonZero,
    thread,
};

use proptest::prelude::*;
use rustix::net::sockopt;

use super::*;
use crate::{
    Details, Slice, State, open, places,
    scene::{Program, eventually, in_own_namespace, run_in_own_namespace},
};

const EVERYTHING: Details =
    Details { queues: true, holder: true, cookie: true, timer: true, ..Details::NONE };

fn list(method: MethodName, query: &Query) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut reader = open(method, &Place::here()).expect("opened");
    let coverage = reader.read(query, &mut |row| rows.push(row.clone())).expect("listed");
    assert_eq!((coverage.skipped, coverage.torn), (0, false));
    assert_eq!(coverage.rows, u64::try_from(rows.len()).expect("few"));
    rows
}

fn both(method: MethodName, details: Details) -> Vec<Row> {
    let of = |transport| list(method, &Query { details, ..Query::all(transport) });
    [of(Transport::Tcp), of(Transport::Udp)].concat()
}

fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    (client, listener.accept().expect("accepted").0)
}

/// A socket for each timer, and some for none.
struct Scene {
    _streams: Vec<TcpStream>,
    _listeners: Vec<TcpListener>,
    _datagrams: Vec<UdpSocket>,
    _half_open: Program,
}

impl Scene {
    fn set() -> Self {
        let mut half_open = Program::perl(
            "socket(L, PF_INET, SOCK_STREAM, 6); setsockopt(L, 6, 9, pack('i', 60)) or die; \
             bind(L, sockaddr_in(4444, INADDR_LOOPBACK)) or die; listen(L, 5); print qq(bound\\n)",
        );
        assert_eq!(half_open.line(), "bound");
        let listeners = ["127.0.0.1:0", "[::1]:0"].map(|at| TcpListener::bind(at).expect("bound"));
        let mut streams = Vec::new();
        for listener in &listeners {
            let (client, server) = connection(listener);
            sockopt::set_socket_keepalive(&client, true).expect("an open socket");
            streams.extend([client, server]);
            // Nobody reads, until the window is closed.
            let (mut client, server) = connection(listener);
            client.set_nonblocking(true).expect("an open socket");
            while client.write(&[7; 65536]).is_ok() {}
            streams.extend([client, server]);
            // Whoever closes first waits.
            let (client, server) = connection(listener);
            drop(client);
            drop(server);
            // Waits to be accepted.
            let at = listener.local_addr().expect("bound");
            streams.push(TcpStream::connect(at).expect("connected"));
        }
        let to_half_open = TcpStream::connect("127.0.0.1:4444").expect("connected");
        streams.push(to_half_open);
        let server = UdpSocket::bind("127.0.0.1:0").expect("bound");
        let client = UdpSocket::bind("127.0.0.1:0").expect("bound");
        client.connect(server.local_addr().expect("bound")).expect("connected");
        // Of what was read, the kernel gives back the memory later (forward_deficit).
        for datagram in [&b"read"[..], b"not read"] {
            client.send(datagram).expect("sent");
        }
        server.recv(&mut [0; 8]).expect("on loopback it is there at once");
        Self {
            _streams: streams,
            _listeners: listeners.into(),
            _datagrams: vec![server, client, UdpSocket::bind("[::1]:0").expect("bound")],
            _half_open: half_open,
        }
    }
}

/// Whether a row tells a detail.
type Told<'a> = &'a dyn Fn(&Row) -> bool;

type Key = (Transport, State, SocketAddr, SocketAddr);

fn by_key(rows: Vec<Row>) -> BTreeMap<Key, Row> {
    let count = rows.len();
    let key = |row: &Row| (row.transport, row.state, row.local, row.remote);
    let map: BTreeMap<Key, Row> = rows.into_iter().map(|row| (key(&row), row)).collect();
    assert_eq!(map.len(), count, "none is listed twice");
    map
}

#[test]
fn what_was_not_asked_for_is_left_out() {
    in_own_namespace(|| {
        let _scene = Scene::set();
        let with = |details| both(MethodName::Iter, details);
        let queues = |row: &Row| row.receive_queue > 0 || row.send_queue > 0;
        let holder = |row: &Row| row.inode > 0;
        let cookie = |row: &Row| row.cookie > 0;
        let timer = |row: &Row| row.timer > 0 && row.expires_ms > 0;
        let tests: [(Details, Told); 4] = [
            (Details { queues: true, ..Details::NONE }, &queues),
            (Details { holder: true, ..Details::NONE }, &holder),
            (Details { cookie: true, ..Details::NONE }, &cookie),
            (Details { timer: true, ..Details::NONE }, &timer),
        ];
        for (asked, (details, _)) in tests.iter().enumerate() {
            let rows = with(*details);
            for (at, (_, has)) in tests.iter().enumerate() {
                assert_eq!(rows.iter().any(has), at == asked, "{at} under {details:?}");
            }
        }
        for row in with(Details::NONE) {
            assert!(tests.iter().all(|(_, has)| !has(&row)), "{row:?}");
            assert_eq!((row.uid, row.retransmits, row.timer), (0, 0, 0));
        }
    });
}

#[test]
fn it_tells_what_sock_diag_tells() {
    in_own_namespace(|| {
        let _scene = Scene::set();
        // Whether a socket takes IPv6 only is told by sock_diag alone.
        let bare = |row: Row| Row { timer: 0, retransmits: 0, expires_ms: 0, only_v6: None, ..row };
        let read = |method| {
            let rows = both(method, EVERYTHING).into_iter().map(bare).collect();
            by_key(rows)
        };
        // What waits to be sent to a closed window becomes less for a while.
        let mut told = BTreeMap::new();
        eventually("both tell the same", || {
            told = read(MethodName::Iter);
            told == read(MethodName::Diag)
        });
        assert!(told.values().all(|row| row.cookie != 0), "each has a number");
        assert!(told.values().any(|row| row.transport == Transport::Udp && row.receive_queue > 0));
        let waiting = |row: &&Row| row.state == State::Listen && row.receive_queue == 1;
        assert_eq!(told.values().filter(waiting).count(), 2, "one for each listener");
    });
}

#[test]
fn timers_are_those_of_sock_diag() {
    in_own_namespace(|| {
        let _scene = Scene::set();
        let read = |method| by_key(both(method, EVERYTHING));
        // It reads before and after: what is left of a timer only becomes less, unless it went off.
        let agree = || {
            let before = read(MethodName::Iter);
            let diag = read(MethodName::Diag);
            let after = read(MethodName::Iter);
            diag.len() == before.len()
                && diag.iter().all(|(key, row)| {
                    let (Some(before), Some(after)) = (before.get(key), after.get(key)) else {
                        return false;
                    };
                    // A tick takes at most ten milliseconds.
                    (row.timer, row.retransmits) == (before.timer, before.retransmits)
                        && (row.timer, row.retransmits) == (after.timer, after.retransmits)
                        && before.expires_ms + 10 >= row.expires_ms
                        && row.expires_ms + 10 >= after.expires_ms
                })
        };
        let timers =
            || read(MethodName::Iter).values().map(|row| row.timer).collect::<BTreeSet<u8>>();
        eventually("all timers run", || timers() == BTreeSet::from([0, 1, 2, 3, 4]));
        eventually("both tell the same", agree);
    });
}

#[test]
fn no_socket_is_lost_or_doubled_between_two_reads() {
    in_own_namespace(|| {
        const CONNECTIONS: usize = 1500;
        let listener = TcpListener::bind("[::1]:0").expect("bound");
        let streams: Vec<_> = (0..CONNECTIONS).map(|_| connection(&listener)).collect();
        // They take several reads, most of which end amid the kernel's chains.
        const { assert!(2 * CONNECTIONS * record::BYTES_MAX > 6 * program::READ_BYTES) };
        let ends = |stream: &TcpStream| {
            let (local, remote) = (stream.local_addr(), stream.peer_addr());
            (local.expect("connected"), remote.expect("connected"))
        };
        let expected: BTreeSet<_> =
            streams.iter().flat_map(|(one, other)| [ends(one), ends(other)]).collect();
        let states = States::NONE.with(State::Established);
        let query = Query { states, ..Query::all(Transport::Tcp) };
        let rows = list(MethodName::Iter, &query);
        assert_eq!(rows.len(), 2 * CONNECTIONS);
        let listed: BTreeSet<_> = rows.iter().map(|row| (row.local, row.remote)).collect();
        assert_eq!(listed, expected);
    });
}

#[test]
fn readers_that_ask_for_different_things_do_not_disturb_each_other() {
    in_own_namespace(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        // More than one read each, so that two readers take turns.
        let _streams: Vec<_> = (0..600).map(|_| connection(&listener)).collect();
        let holder = Details { holder: true, ..Details::NONE };
        let cookie = Details { cookie: true, ..Details::NONE };
        let listening = States::NONE.with(State::Listen);
        let established = States::NONE.with(State::Established);
        let wishes =
            [(established, holder, 1200), (established, cookie, 1200), (listening, cookie, 1)];
        thread::scope(|scope| {
            for (states, details, count) in wishes {
                scope.spawn(move || {
                    for _ in 0..100 {
                        let query = Query { states, details, ..Query::all(Transport::Tcp) };
                        let rows = list(MethodName::Iter, &query);
                        assert_eq!(rows.len(), count);
                        let is_right = |row: &Row| {
                            (row.inode > 0, row.cookie > 0) == (details.holder, details.cookie)
                        };
                        assert!(rows.iter().all(is_right), "others were told {details:?}");
                    }
                });
            }
        });
    });
}

#[test]
fn the_first_slice_is_all_of_it() {
    in_own_namespace(|| {
        let _scene = Scene::set();
        let all = list(MethodName::Iter, &Query::all(Transport::Tcp)).len();
        assert!(all > 0);
        let count =
            |slice| list(MethodName::Iter, &Query { slice, ..Query::all(Transport::Tcp) }).len();
        let slices: Vec<usize> =
            Slice::all(NonZero::new(3).expect("not zero")).map(count).collect();
        assert_eq!(slices, [all, 0, 0]);
    });
}

#[test]
fn another_namespace_is_read_from_here() {
    in_own_namespace(|| {
        let mut program = run_in_own_namespace(|| {
            Program::perl(
                "socket(L, PF_INET, SOCK_STREAM, 6); \
                 bind(L, sockaddr_in(7777, INADDR_LOOPBACK)) or die; listen(L, 5); \
                 socket(U, PF_INET, SOCK_DGRAM, 17); \
                 bind(U, sockaddr_in(8888, INADDR_LOOPBACK)) or die; print qq(bound\\n)",
            )
        });
        assert_eq!(program.line(), "bound");
        let number = std::fs::metadata(format!("/proc/{}/ns/net", program.pid()));
        let number = std::os::unix::fs::MetadataExt::ino(&number.expect("it runs"));
        let found = places().expect("/proc is mounted").places;
        let place =
            found.into_iter().find(|place| place.netns == number).expect("it has a process");
        let mut ports = Vec::new();
        let mut reader = Iter::open(&place).expect("opened");
        for transport in [Transport::Tcp, Transport::Udp] {
            let query = Query::all(transport);
            reader.read(&query, &mut |row| ports.push(row.local.port())).expect("listed");
        }
        assert_eq!(ports, [7777, 8888]);
        assert_eq!(both(MethodName::Iter, Details::NONE), [], "and nothing of it is here");
    });
}

proptest! {
    /// Where reads end amid records, the rest comes with the next.
    #[test]
    fn records_are_put_together_from_reads_that_end_anywhere(
        families in prop::collection::vec(any::<bool>(), 0..40),
        lengths in prop::collection::vec(1..150_usize, 1..20),
    ) {
        let mut bytes = Vec::new();
        for (is_v4, port) in families.iter().zip(1_u16..) {
            let length = if *is_v4 { 48 } else { record::BYTES_MAX };
            let mut one = vec![0; length];
            one[0] = if *is_v4 { 2 } else { 10 };
            one[1] = 1;
            one[4..6].copy_from_slice(&port.to_ne_bytes());
            bytes.extend(one);
        }
        let mut buffer = Buffer::default();
        let mut ports = Vec::new();
        let mut rest = &bytes[..];
        for length in lengths.into_iter().cycle() {
            let (now, later) = rest.split_at(length.min(rest.len()));
            if now.is_empty() {
                break;
            }
            buffer.room()[..now.len()].copy_from_slice(now);
            let each = &mut |row: &Row| ports.push(row.local.port());
            prop_assert_eq!(buffer.take(now.len(), Transport::Tcp, each), 0);
            rest = later;
        }
        prop_assert_eq!(buffer.used, 0);
        prop_assert_eq!(ports, (1..).take(families.len()).collect::<Vec<u16>>());
    }
}

#[test]
fn what_makes_no_sense_is_counted_and_passed_over() {
    let mut buffer = Buffer::default();
    buffer.room()[..500].fill(255);
    assert_eq!(buffer.take(500, Transport::Tcp, &mut |_| panic!("no row")), 1);
    assert_eq!(buffer.used, 0);
}
