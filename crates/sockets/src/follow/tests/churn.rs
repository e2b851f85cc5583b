//! Random operations, then a comparison, again and again.

use std::{
    net::Shutdown,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::net::sockopt;

use super::*;

/// Xorshift: enough to choose what to do next.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).expect("small")).expect("small")
    }
}

/// A user of sockets.
struct Actor {
    random: Random,
    listeners: Vec<TcpListener>,
    streams: Vec<TcpStream>,
    datagrams: Vec<UdpSocket>,
}

impl Actor {
    fn new(seed: u64) -> Self {
        let random = Random(seed | 1);
        Self { random, listeners: Vec::new(), streams: Vec::new(), datagrams: Vec::new() }
    }

    fn act(&mut self) {
        self.listeners.truncate(30);
        self.streams.truncate(300);
        self.datagrams.truncate(30);
        match self.random.below(20) {
            0 => self.listen(),
            1 if !self.listeners.is_empty() => {
                let at = self.random.below(self.listeners.len());
                self.listeners.swap_remove(at);
            }
            2..8 => self.connect(),
            8..12 => self.accept(),
            12 => self.datagrams.push(UdpSocket::bind("127.0.0.1:0").expect("bound")),
            13 if !self.datagrams.is_empty() => drop(self.datagrams.pop()),
            _ => self.end_one(),
        }
    }

    fn listen(&mut self) {
        let address = ["127.0.0.1:0", "[::1]:0", "[::]:0", "0.0.0.0:0"][self.random.below(4)];
        let listener = TcpListener::bind(address).expect("bound");
        listener.set_nonblocking(true).expect("set");
        self.listeners.push(listener);
    }

    fn connect(&mut self) {
        if self.listeners.is_empty() {
            return self.listen();
        }
        let at = self.random.below(self.listeners.len());
        let called = self.listeners[at].local_addr().expect("bound");
        let v4 = SocketAddr::from(([127, 0, 0, 1], called.port()));
        let is_any = called.ip().is_unspecified();
        let called = if is_any && self.random.below(2) == 0 { v4 } else { called };
        self.streams.extend(TcpStream::connect_timeout(&called, Duration::from_millis(50)));
    }

    fn accept(&mut self) {
        for _ in 0..self.random.below(4) {
            if !self.listeners.is_empty() {
                let at = self.random.below(self.listeners.len());
                self.streams.extend(self.listeners[at].accept().map(|(stream, _)| stream));
            }
        }
    }

    fn end_one(&mut self) {
        if self.streams.is_empty() {
            return;
        }
        let at = self.random.below(self.streams.len());
        match self.random.below(5) {
            0 | 1 => drop(self.streams.swap_remove(at)),
            2 => {
                let stream = self.streams.swap_remove(at);
                sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("set");
            }
            // The other end may be gone.
            3 => drop(self.streams[at].shutdown(Shutdown::Write)),
            _ => drop(rustix::io::write(&self.streams[at], b"unread")),
        }
    }
}

fn seed() -> u64 {
    portolan_sys::limits::raise_descriptors().expect("up to the hard limit");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let given = std::env::var("PORTOLAN_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| u64::try_from(now.as_micros()).expect("before 500000"));
    println!("PORTOLAN_TEST_SEED={seed}");
    seed
}

/// Two threads in each of two namespaces act; at the end of each round all wait.
#[test]
fn the_table_is_what_a_dump_says_at_any_quiet_moment() {
    in_own_namespace(|| {
        let seed = seed();
        let other =
            Program::bash("exec unshare -n bash -c 'ip link set lo up; echo up; read -r _'");
        let mut other = other;
        assert_eq!(other.line(), "up");
        let inode = std::fs::metadata(format!("/proc/{}/ns/net", other.pid())).expect("alive");
        let inode = std::os::unix::fs::MetadataExt::ino(&inode);
        let mut both = vec![Place::here()];
        both.extend(
            crate::places().expect("listed").places.into_iter().filter(|it| it.netns == inode),
        );
        assert_eq!(both.len(), 2);
        let mut actors: Vec<Actor> =
            (1..5).map(|n| Actor::new(seed.wrapping_mul(n * 2 + 1))).collect();
        let mut follow =
            Follow::open(both.clone(), FollowOptions::default()).expect("root can trace");
        let mut now: Table = BTreeMap::new();
        let mut rewalks = 0;
        for round in 0..40 {
            std::thread::scope(|scope| {
                for (actor, place) in actors.iter_mut().zip(both.iter().cycle()) {
                    let work = move || (0..100).for_each(|_| actor.act());
                    scope.spawn(move || place.run(work).expect("entered"));
                }
                if round % 2 == 0 {
                    tell(&mut now, &follow.refresh().expect("refreshed"));
                }
            });
            let context = format!("seed {seed}, round {round}");
            let refresh = assert_equal(&mut follow, &both, &context);
            tell(&mut now, &refresh);
            rewalks += usize::from(refresh.rewalked.is_some());
            let rows: Table = follow.rows().map(|(netns, row)| (key(netns, &row), row)).collect();
            assert_eq!(rows, now, "{context}: the changes add up to the table");
        }
        // Where the kernel does not call the program, that is noticed.
        assert!(rewalks < 20, "events are the rule: {rewalks}");
        assert!(now.len() > 100, "something was open: {}", now.len());
    });
}

type Table = BTreeMap<(NetnsId, u64, SocketAddr, SocketAddr), Row>;

fn key(netns: NetnsId, row: &Row) -> (NetnsId, u64, SocketAddr, SocketAddr) {
    (netns, row.cookie, row.local, row.remote)
}

/// Adds changes up, as a reader of them would.
fn tell(now: &mut Table, refresh: &Refresh) {
    for (netns, change) in &refresh.changes {
        match change {
            Change::Opened(row) => drop(now.insert(key(*netns, row), row.clone())),
            Change::Closed(row) => {
                assert_eq!(now.remove(&key(*netns, row)).as_ref(), Some(row))
            }
            Change::Changed { before, after } => {
                assert_eq!(now.remove(&key(*netns, before)).as_ref(), Some(before));
                now.insert(key(*netns, after), after.clone());
            }
        }
    }
}

#[test]
fn nothing_is_missed_while_it_begins() {
    in_own_namespace(|| {
        let seed = seed();
        let (stop, acts) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut actors: Vec<Actor> =
            (1..4).map(|n| Actor::new(seed.wrapping_mul(n * 2 + 1))).collect();
        for round in 0..15 {
            stop.store(false, Ordering::Relaxed);
            let begun = acts.load(Ordering::Relaxed);
            let mut follow = std::thread::scope(|scope| {
                for actor in &mut actors {
                    scope.spawn(|| {
                        while !stop.load(Ordering::Relaxed) {
                            actor.act();
                            acts.fetch_add(1, Ordering::Relaxed);
                            // What is closed stays in TIME-WAIT: not too many.
                            std::thread::sleep(Duration::from_micros(200));
                        }
                    });
                }
                eventually("they act", || acts.load(Ordering::Relaxed) > begun + 50);
                let follow = follow_here();
                stop.store(true, Ordering::Relaxed);
                follow
            });
            follow.refresh().expect("refreshed");
            let context = format!("seed {seed}, round {round}");
            assert_equal(&mut follow, &[Place::here()], &context);
        }
    });
}
