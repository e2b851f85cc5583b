//! A tracer in this process, and what it said of some namespaces, each end by itself.
//!
//! The two ends of a connection may fall into different readings, so each end is summed over all
//! readings before it is compared with anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fmt, fs,
    io::{Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use portolan_flow::{End, Flow, Listener, Totals, Transport};
use portolan_trace::{Attach, Losses, TraceOptions, Tracer};

use crate::{place::Place, wait::PATIENCE};

/// Which end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The client's.
    Active,
    /// The server's.
    Passive,
}

/// One end of an edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Half {
    /// Which.
    pub side: Side,
    /// The transport protocol.
    pub transport: Transport,
    /// The client's address.
    pub client: IpAddr,
    /// The server's address and port.
    pub server: SocketAddr,
    /// This end's namespace, by its name.
    pub namespace: String,
    /// This end's process.
    pub process: Option<String>,
    /// The side was guessed.
    pub guessed: bool,
}

/// What was counted at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Over all readings.
    pub totals: Totals,
    /// Connections that were up, of the last reading.
    pub up: u64,
}

/// A tracer, and the sums of what it read.
pub struct Traced {
    /// The tracer.
    pub tracer: Tracer,
    /// The names of the namespaces that are looked at; all where it is empty.
    pub namespaces: Vec<String>,
    /// Each end of each edge there.
    pub halves: BTreeMap<Half, Sum>,
    /// What found no room, of all namespaces.
    pub overflow: Totals,
    /// What is missing, of all namespaces.
    pub losses: Losses,
    /// The ports that listen there, of the last reading.
    pub listeners: Vec<Listener>,
    /// The flows of the last reading, of all namespaces.
    pub flows: Vec<Flow>,
    /// How long each reading took.
    pub took: Vec<Duration>,
}

impl fmt::Debug for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "losses {:?}", self.losses)?;
        for (half, sum) in &self.halves {
            writeln!(f, "{half:?}\n    {sum:?}")?;
        }
        Ok(())
    }
}

/// The attach point that this test is to take, `cgroup` for one in `tests/..._by_cgroup.rs`: such a
/// file has the tests of others once more. The best one for all others.
#[must_use]
pub fn attach() -> Option<Attach> {
    let program = env::current_exe().ok()?;
    let name = program.file_stem()?.to_str()?;
    // Cargo adds a dash and a hash.
    let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
    let by = name.rsplit_once("_by_")?.1;
    Attach::ALL.into_iter().find(|attach| attach.name() == by)
}

impl Traced {
    /// Begins to trace with the defaults, by the attach point that the test's file is named after
    /// ([`attach`]). What it calls `host` is the calling thread's namespace.
    ///
    /// # Panics
    /// When that is not possible.
    #[must_use]
    pub fn open() -> Self {
        Self::with(TraceOptions { attach: attach(), ..TraceOptions::default() })
    }

    /// Begins to trace.
    ///
    /// # Panics
    /// When that is not possible.
    #[must_use]
    pub fn with(options: TraceOptions) -> Self {
        let tracer = Tracer::open(options).unwrap_or_else(|error| panic!("{error}"));
        assert!(tracer.passed_over().is_empty(), "{:?}", tracer.passed_over());
        Self {
            tracer,
            namespaces: vec!["host".to_owned()],
            halves: BTreeMap::new(),
            overflow: Totals::default(),
            losses: Losses::default(),
            listeners: Vec::new(),
            flows: Vec::new(),
            took: Vec::new(),
        }
    }

    /// Looks at another place too.
    #[must_use]
    pub fn and(mut self, place: &Place) -> Self {
        self.namespaces.push(place.namespace.clone());
        self
    }

    /// Reads, and adds it up.
    ///
    /// # Panics
    /// When that cannot be done, or a connection could be counted nowhere.
    pub fn read(&mut self) {
        let begun = Instant::now();
        let reading = self.tracer.read().unwrap_or_else(|error| panic!("{error}"));
        self.took.push(begun.elapsed());
        self.losses.add(reading.losses);
        self.overflow.add(&reading.overflow);
        self.halves.values_mut().for_each(|sum| sum.up = 0);
        for flow in &reading.flows {
            let (half, totals, up) = half(flow);
            if !self.namespaces.is_empty() && !self.namespaces.contains(&half.namespace) {
                continue;
            }
            let sum = self.halves.entry(half).or_default();
            sum.totals.add(&totals);
            sum.up += up;
        }
        self.flows = reading.flows;
        self.listeners = reading.listeners;
        self.listeners.retain(|listener| self.namespaces.contains(&namespace(&listener.end)));
    }

    /// The sum of one side of all edges that are `wanted`.
    #[must_use]
    pub fn sum(&self, side: Side, mut wanted: impl FnMut(&Half) -> bool) -> Sum {
        let mut sum = Sum::default();
        for (_, more) in self.halves.iter().filter(|(half, _)| half.side == side && wanted(half)) {
            sum.totals.add(&more.totals);
            sum.up += more.up;
        }
        sum
    }

    /// What both sides of the TCP edges to `server` counted, the client's first.
    #[must_use]
    pub fn tcp(&self, server: SocketAddr) -> (Totals, Totals) {
        let of = |side| {
            let wanted = |half: &Half| half.transport == Transport::Tcp && half.server == server;
            timeless(self.sum(side, wanted).totals)
        };
        (of(Side::Active), of(Side::Passive))
    }

    /// Who was seen at one side of the TCP edges to `server`; `None` for nobody.
    #[must_use]
    pub fn processes(&self, side: Side, server: SocketAddr) -> BTreeSet<Option<String>> {
        let is_wanted = |half: &&Half| half.side == side && half.server == server;
        self.halves.keys().filter(is_wanted).map(|half| half.process.clone()).collect()
    }

    /// Reads until `check` has a result.
    ///
    /// # Panics
    /// When it has none for [`PATIENCE`].
    pub fn wait_for<T>(&mut self, what: &str, mut check: impl FnMut(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.read();
            if let Some(result) = check(self) {
                return result;
            }
            assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}: {self:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Checks that there was room for everything, of whatever namespace.
    ///
    /// # Panics
    /// When there was not.
    pub fn assert_whole(&self) {
        let Losses { no_room, not_counted, queue_full, .. } = self.losses;
        assert_eq!([no_room, not_counted, queue_full], [0; 3], "{self:?}");
    }
}

/// The only end that was seen, with what it counted and how many connections are up.
fn half(flow: &Flow) -> (Half, Totals, u64) {
    let traffic = flow.traffic.as_deref().copied().unwrap_or_default();
    let (side, end, totals, counters) = match (&flow.client.namespace, &flow.server.namespace) {
        (Some(_), None) => (Side::Active, &flow.client, traffic.active, flow.active),
        (None, Some(_)) => (Side::Passive, &flow.server, traffic.passive, flow.passive),
        ends => panic!("a tracer sees one end at a time, not {ends:?}"),
    };
    let half = Half {
        side,
        transport: flow.transport,
        client: flow.client.address,
        server: SocketAddr::new(flow.server.address, flow.server_port),
        namespace: namespace(end),
        process: end.owner.process().map(|process| process.name.clone()),
        guessed: flow.guessed,
    };
    (half, totals, counters.connections)
}

fn namespace(end: &End) -> String {
    end.namespace.as_ref().map_or_else(String::new, |namespace| namespace.name().to_owned())
}

/// Without what depends on time or on the other end's patience.
#[must_use]
pub fn timeless(totals: Totals) -> Totals {
    Totals { rtt_us_sum: 0, rtt_samples: 0, duration_us_sum: 0, ..totals }
}

/// What the other end counts of the same traffic.
#[must_use]
pub fn mirrored(totals: Totals) -> Totals {
    Totals {
        bytes_sent: totals.bytes_received,
        bytes_received: totals.bytes_sent,
        datagrams_sent: totals.datagrams_received,
        datagrams_received: totals.datagrams_sent,
        ..totals
    }
}

/// Both ends of a new connection, the client's first.
///
/// # Panics
/// When it cannot be made.
#[must_use]
pub fn connect(listener: &TcpListener, to: SocketAddr) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(to).unwrap_or_else(|error| panic!("{to}: {error}"));
    let (server, _) = listener.accept().expect("it was just opened");
    (client, server)
}

/// Moves so many bytes from one end to the other.
///
/// # Panics
/// When the connection is not up.
pub fn move_bytes(mut from: &TcpStream, mut to: &TcpStream, bytes: usize) {
    let mut left = bytes;
    while left > 0 {
        let part = left.min(16_384);
        from.write_all(&vec![7; part]).expect("it is up");
        to.read_exact(&mut vec![0; part]).expect("it is up");
        left -= part;
    }
}

/// Ends a connection in order; the one that closes first says so to the other.
///
/// # Panics
/// When the connection is not up.
pub fn close(first: TcpStream, mut second: TcpStream) {
    first.shutdown(Shutdown::Write).expect("it is up");
    assert_eq!(second.read(&mut [0; 1]).expect("its end"), 0);
    drop(second);
    drop(first);
}

/// How many descriptors this process has.
///
/// # Panics
/// When `/proc` is not mounted.
#[must_use]
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc is mounted").count()
}
