//! Listing while thousands of connections a second come and go.

use std::{
    collections::{BTreeSet, HashMap},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::net::sockopt;

use super::*;
use crate::{State, scene::in_own_namespace};

/// What has to be reached for the test to mean something.
const CONNECTIONS_PER_SECOND_MIN: u64 = 5_000;

/// How long each method is watched.
const SPAN: Duration = Duration::from_millis(1500);

const STEADY: usize = 500;

/// Both ends of a connection, and what a row says of it.
type Ends = (SocketAddr, SocketAddr);

/// Connections that stay all the while.
struct Steady {
    _streams: Vec<TcpStream>,
    ends: BTreeSet<Ends>,
}

impl Steady {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let at = listener.local_addr().expect("bound");
        let (mut streams, mut ends) = (Vec::new(), BTreeSet::new());
        for _ in 0..STEADY {
            for stream in [TcpStream::connect(at), listener.accept().map(|(stream, _)| stream)] {
                let stream = stream.expect("loopback is up");
                let address = stream.local_addr().expect("connected");
                ends.insert((address, stream.peer_addr().expect("connected")));
                streams.push(stream);
            }
        }
        Self { _streams: streams, ends }
    }
}

/// Stops the churn, also where the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Opens and closes connections to a listener until it is told to stop, a part of them into
/// TIME-WAIT. Each is accepted before the next, or the listener's backlog would overflow.
fn churn(listener: &TcpListener, stop: &AtomicBool, made: &AtomicU64) {
    let at = listener.local_addr().expect("bound");
    while !stop.load(Ordering::Relaxed) {
        let client = TcpStream::connect(at).expect("ports are left");
        let server = listener.accept();
        if !made.fetch_add(1, Ordering::Relaxed).is_multiple_of(32) {
            sockopt::set_socket_linger(&client, Some(Duration::ZERO)).expect("an open socket");
        }
        drop((client, server));
    }
}

fn read_once(method: &mut dyn Method) -> Vec<Row> {
    let details = Details { holder: true, cookie: true, ..Details::default() };
    let query = Query { details, ..Query::all(Transport::Tcp) };
    let mut rows = Vec::new();
    method.read(&query, &mut |row| rows.push(row.clone())).expect("listed");
    rows
}

/// What is wrong with a reading; `None` where nothing is.
fn fault(rows: &[Row], steady: &Steady, churned: &[SocketAddr]) -> Option<String> {
    let mut seen: HashMap<Ends, &Row> = HashMap::new();
    let mut cookies: HashMap<u64, &Row> = HashMap::new();
    let mut found = 0;
    for row in rows.iter().filter(|row| row.state != State::Listen) {
        let ends = (row.local, row.remote);
        if let Some(other) = seen.insert(ends, row) {
            return Some(format!("doubled: {other:?} {row:?}"));
        }
        if row.cookie != 0
            && let Some(other) = cookies.insert(row.cookie, row)
        {
            return Some(format!("one cookie: {other:?} {row:?}"));
        }
        if steady.ends.contains(&ends) {
            found += 1;
            if row.state != State::Established || row.inode == 0 {
                return Some(format!("torn: {row:?}"));
            }
        } else if churned.contains(&row.local) == churned.contains(&row.remote) {
            return Some(format!("torn: nobody has such ends: {row:?}"));
        }
    }
    (found != steady.ends.len()).then(|| format!("{found} of {} steady ones", steady.ends.len()))
}

/// The faults of all readings, and how many there were.
fn watch(name: MethodName, steady: &Steady, churned: &[SocketAddr]) -> (u64, Vec<String>) {
    let mut method = open(name, &Place::here()).expect("opened");
    let start = Instant::now();
    let (mut readings, mut faults) = (0, Vec::new());
    while start.elapsed() < SPAN {
        faults.extend(fault(&read_once(method.as_mut()), steady, churned));
        readings += 1;
    }
    (readings, faults)
}

#[test]
fn rows_are_whole_and_none_is_doubled_while_connections_come_and_go() {
    in_own_namespace(|| {
        let steady = Steady::open();
        let addresses = ["127.0.0.2:7000", "127.0.0.3:7000"];
        let listeners = addresses.map(|address| TcpListener::bind(address).expect("bound"));
        let churned = addresses.map(|address| address.parse().expect("an address"));
        let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for listener in &listeners {
                scope.spawn(|| churn(listener, &stop, &made));
            }
            let _stop = Stop(&stop);
            let start = Instant::now();
            for name in MethodName::ALL.into_iter().filter(|&name| name != MethodName::Procfs) {
                let (readings, faults) = watch(name, &steady, &churned);
                println!("{name}: {readings} readings, {} faults", faults.len());
                assert!(faults.is_empty(), "{name}: {readings} readings, {faults:#?}");
            }
            let rate = made.load(Ordering::Relaxed) * 1000
                / u64::try_from(start.elapsed().as_millis()).expect("short");
            println!("{rate} connections a second");
            assert!(rate >= CONNECTIONS_PER_SECOND_MIN, "only {rate} connections a second");
        });
    });
}
