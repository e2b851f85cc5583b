//! Where each start goes, and from where.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    ClientOptions, Error,
    deadlines::position,
    socket,
    source_ports::{
        Advice, Choice, End, Host, Lease, Occupancy, PairId, SourcePorts, Strategy, Watch, Wish,
        choose, has_range,
    },
};

/// The targets as one worker takes them in turns, and its source ports towards each.
#[derive(Debug)]
pub(super) struct Routes {
    routes: Vec<Route>,
    ports: Ports,
    /// Whose turn it is; other workers are at other places.
    turn: usize,
    step: usize,
    watch: Watch,
    advice: Vec<Advice>,
}

#[derive(Clone, Debug)]
struct Route {
    target: SocketAddr,
    sources: Vec<(IpAddr, PairId)>,
    turn: usize,
}

/// The ports of one worker, which each of its sockets gives its own back to. Nobody ever waits for
/// the lock: all that use it are in one thread.
#[derive(Clone, Debug)]
pub(super) struct Ports(Arc<Mutex<SourcePorts>>);

impl Ports {
    pub(super) fn give_back(&self, lease: Lease, end: End) {
        self.lock().give_back(lease, end);
    }

    fn lock(&self) -> MutexGuard<'_, SourcePorts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Routes {
    /// Who chooses source ports, and the routes of all workers.
    pub(super) fn all(options: &ClientOptions) -> Result<(Choice, Vec<Self>), Error> {
        let host = Host::read();
        let wish = Wish {
            strategy: options.ports,
            ports: options.source_ports.clone(),
            has_sources: !options.sources.is_empty(),
        };
        let has_range = has_range(&host).map_err(Error::system("make a socket"))?;
        let choice = choose(&wish, &host, has_range).map_err(Error::Options)?;
        let random = RandomState::new();
        let sources: Vec<_> =
            options.targets.iter().map(|target| sources(target, options)).collect();
        // Workers of other processes have other ports.
        let of = options.share.of * options.threads;
        let worker = |nth| {
            let nth = options.share.nth * options.threads + nth;
            let mut ports = SourcePorts::new(&choice, &host, nth, of);
            let mut drawn = random.build_hasher();
            let mut pair = |source, target| {
                drawn.write_usize(nth);
                let anywhere = u32::try_from(drawn.finish() >> 32).unwrap_or(0);
                (source, ports.pair(source, target, anywhere))
            };
            let route = |(&target, sources): (&SocketAddr, &Vec<IpAddr>)| Route {
                target,
                sources: sources.iter().map(|&source| pair(source, target)).collect(),
                turn: 0,
            };
            Self {
                routes: options.targets.iter().zip(&sources).map(route).collect(),
                ports: Ports(Arc::new(Mutex::new(ports))),
                turn: nth,
                step: of,
                watch: Watch::new(choice.strategy),
                advice: Vec::new(),
            }
        };
        let routes = (0..options.threads).map(worker).collect();
        Ok((choice, routes))
    }

    pub(super) fn targets(&self) -> usize {
        self.routes.len()
    }

    /// The target of the next start.
    pub(super) fn next_target(&mut self) -> u32 {
        let target = self.turn % self.routes.len();
        self.turn = target + self.step;
        u32::try_from(target).unwrap_or(0)
    }

    pub(super) fn target(&self, nth: u32) -> SocketAddr {
        self.routes[position(nth)].target
    }

    /// The number of the target that has this address.
    pub(super) fn number_of(&self, address: &SocketAddr) -> Option<u32> {
        let nth = self.routes.iter().position(|route| is_same(&route.target, address))?;
        u32::try_from(nth).ok()
    }

    /// From where the next connection to a target comes: from the next of its source addresses that
    /// has a port left.
    pub(super) fn take(&mut self, target: u32) -> Option<Lease> {
        let Route { sources, turn, .. } = &mut self.routes[position(target)];
        let mut ports = self.ports.lock();
        for _ in 0..sources.len() {
            *turn = if *turn + 1 < sources.len() { *turn + 1 } else { 0 };
            let (_, pair) = sources[*turn];
            if let Some(lease) = ports.take(pair) {
                return Some(lease);
            }
        }
        None
    }

    pub(super) fn give_back(&self, lease: Lease, end: End) {
        self.ports.give_back(lease, end);
    }

    /// For sockets, which give their ports back themselves.
    pub(super) fn ports(&self) -> Ports {
        self.ports.clone()
    }

    /// `connect(2)` of a connection took so long.
    pub(super) fn watch(&mut self, lease: &Lease, took: Duration) {
        // Workers are alike: what one has, all have in proportion.
        let workers = u64::try_from(self.step).unwrap_or(1);
        let of = self.ports.lock().occupancy(lease.pair());
        let (in_use, ports) = (of.in_use * workers, (of.in_use + of.free) * workers);
        self.advice.extend(self.watch.record(took, in_use, ports));
    }

    /// What there is to be said about source ports so far: at most once of each kind.
    pub(super) fn advice(&self) -> &[Advice] {
        &self.advice
    }

    /// Who chooses source ports.
    pub(super) fn strategy(&self) -> Strategy {
        self.ports.lock().strategy()
    }

    /// How many of all the worker's source ports are what.
    pub(super) fn occupancy(&self) -> Occupancy {
        self.ports.lock().total()
    }

    /// The source address of sockets whose port the kernel chooses; `None` for any.
    pub(super) fn source_address(&mut self, target: u32) -> Option<SocketAddr> {
        let Route { sources, turn, .. } = &mut self.routes[position(target)];
        *turn = if *turn + 1 < sources.len() { *turn + 1 } else { 0 };
        sources.get(*turn).map(|(address, _)| SocketAddr::new(*address, 0))
    }
}

/// Whether address and port are the same; flow labels and scopes are not compared.
pub(super) fn is_same(one: &SocketAddr, other: &SocketAddr) -> bool {
    one.port() == other.port() && one.ip() == other.ip()
}

/// The source addresses towards a target: never none.
fn sources(target: &SocketAddr, options: &ClientOptions) -> Vec<IpAddr> {
    let fits = |source: &&IpAddr| source.is_ipv4() == target.is_ipv4();
    let given: Vec<IpAddr> = options.sources.iter().filter(fits).copied().collect();
    if !given.is_empty() {
        return given;
    }
    let any: IpAddr =
        if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // A link-local source would need its scope with it; the kernel knows it.
    let found = socket::source_towards(target).filter(|source| !is_link_local(source));
    // Where there is no way, connecting says so.
    vec![found.unwrap_or(any)]
}

fn is_link_local(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(it) if it.is_unicast_link_local())
}
