//! Where each start goes, and from where.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use portolan_sys::limits;

use crate::{
    ClientOptions,
    deadlines::position,
    socket,
    source_ports::{Cursor, SourcePorts, parse_reserved},
};

/// What the kernel has where nobody changed it.
const EPHEMERAL: (u16, u16) = (32_768, 60_999);

/// The targets as one worker takes them in turns, and its source ports towards each.
#[derive(Debug)]
pub(super) struct Routes {
    routes: Vec<Route>,
    ports: SourcePorts,
    /// Whose turn it is; other workers are at other places.
    turn: usize,
    step: usize,
}

#[derive(Clone, Debug)]
struct Route {
    target: SocketAddr,
    sources: Vec<(IpAddr, Cursor)>,
    turn: usize,
}

impl Routes {
    /// Those of all workers.
    pub(super) fn all(options: &ClientOptions) -> Vec<Self> {
        let reserved = limits::sysctl("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
        let reserved = parse_reserved(&reserved);
        let (first, last) = limits::ephemeral_ports().unwrap_or(EPHEMERAL);
        let range = options.source_ports.clone().unwrap_or(first..=last);
        let random = RandomState::new();
        let sources: Vec<_> =
            options.targets.iter().map(|target| sources(target, options)).collect();
        let worker = |nth| {
            let ports = SourcePorts::new(range.clone(), &reserved, nth, options.threads);
            let mut drawn = random.build_hasher();
            let mut cursor = || {
                drawn.write_usize(nth);
                ports.cursor(u32::try_from(drawn.finish() >> 32).unwrap_or(0))
            };
            let mut route = |(&target, sources): (&SocketAddr, &Vec<IpAddr>)| Route {
                target,
                sources: sources.iter().map(|&source| (source, cursor())).collect(),
                turn: 0,
            };
            let routes = options.targets.iter().zip(&sources).map(&mut route).collect();
            Self { routes, ports, turn: nth, step: options.threads }
        };
        (0..options.threads).map(worker).collect()
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

    /// The source of the next connection to a target, which is never the target itself: a
    /// connection would be made with nobody (simultaneous open, RFC 9293 section 3.5).
    pub(super) fn next_source(&mut self, target: u32) -> Option<SocketAddr> {
        let Route { target, sources, turn } = &mut self.routes[position(target)];
        *turn = if *turn + 1 < sources.len() { *turn + 1 } else { 0 };
        let (address, cursor) = sources.get_mut(*turn)?;
        let port = self.ports.next(cursor)?;
        let source = SocketAddr::new(*address, port);
        if !is_same(&source, target) {
            return Some(source);
        }
        let port = self.ports.next(cursor).filter(|port| *port != source.port())?;
        Some(SocketAddr::new(*address, port))
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
