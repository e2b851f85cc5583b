//! From sockets to edges: find the listening port of each connection, drop the other one, add up.
//!
//! A method that sees whole connections hands over one [`Observation`] per socket. Two sockets
//! with mirrored addresses are the two ends of one connection on this host; they are paired
//! exactly, ephemeral ports and all, before the ports are dropped.

mod fan;
mod pairs;

use std::{
    cmp::Ordering,
    net::{IpAddr, SocketAddr},
};

use crate::{
    Counters, End, Flow, Listener, Namespace, NetnsId, Owner, Pids, PortRange, Transport,
    fold::{fold, stays_in_namespace},
    listeners::{Listeners, is_service},
};
use fan::Fan;

/// What a socket is doing, as far as the graph cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Accepts connections (TCP), or is bound and has no peer (UDP).
    Listening,
    /// A handshake is under way.
    Opening,
    /// Connected, also when half-closed.
    Connected,
    /// TIME-WAIT: over, kept by the kernel for a minute, without an owner.
    TimeWait,
}

/// One kernel socket, as any method reports it.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The transport protocol.
    pub transport: Transport,
    /// The network namespace that the socket lives in.
    pub netns: NetnsId,
    /// That namespace's name.
    pub namespace: Namespace,
    /// The socket's own address and port.
    pub local: SocketAddr,
    /// The peer's address and port; ignored for [`Phase::Listening`].
    pub remote: SocketAddr,
    /// What the socket is doing.
    pub phase: Phase,
    /// Who holds it.
    pub owner: Owner,
    /// The process id of the holder, where it is known.
    pub pid: Option<u32>,
}

impl Observation {
    fn local_end(&self) -> End {
        End {
            address: self.local.ip(),
            namespace: Some(self.namespace.clone()),
            owner: self.owner.clone(),
            pids: self.pid.map(Pids::of).unwrap_or_default(),
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        match self.phase {
            Phase::Listening => {}
            Phase::Opening => counters.opening = 1,
            Phase::Connected => counters.connections = 1,
            Phase::TimeWait => counters.time_wait = 1,
        }
        counters
    }

    /// The peer's end, of which the socket itself says no more than the address.
    fn remote_end(&self) -> End {
        let to_itself = self.local == self.remote;
        if to_itself { self.local_end() } else { End::unobserved(self.remote.ip()) }
    }

    /// A total order: two that are equal in it are the same observation.
    fn by_all(&self, other: &Self) -> Ordering {
        let key = |seen: &Self| {
            (seen.transport, seen.netns, seen.local, seen.remote, seen.phase, seen.pid)
        };
        key(self)
            .cmp(&key(other))
            .then_with(|| self.owner.cmp(&other.owner))
            .then_with(|| self.namespace.cmp(&other.namespace))
    }

    /// The same for the two ends of a connection. Addresses that mean something only inside one
    /// namespace pair only inside it.
    fn pair_key(&self) -> PairKey {
        let (local, remote) = (self.local.ip(), self.remote.ip());
        let inside =
            stays_in_namespace(local, remote) || is_link_local(local) || is_link_local(remote);
        let scope = if inside { self.netns } else { 0 };
        let (lower, higher) = (self.local.min(self.remote), self.local.max(self.remote));
        (self.transport, scope, lower, higher)
    }
}

type PairKey = (Transport, NetnsId, SocketAddr, SocketAddr);

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// What one reading of a host's sockets comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// The edges, folded and in order.
    pub flows: Vec<Flow>,
    /// The listening ports, in order.
    pub listeners: Vec<Listener>,
}

/// Collects the sockets of one reading; [`Bundler::finish`] turns them into edges.
///
/// Memory is proportional to the number of sockets observed.
#[derive(Debug)]
pub struct Bundler {
    ephemeral: PortRange,
    listeners: Listeners,
    remembered: Listeners,
    connections: Vec<Observation>,
    fan: Fan,
}

/// Which of its two ends a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Direction {
    passive: bool,
    guessed: bool,
}

impl Bundler {
    /// An empty bundler for a host with this range of ephemeral ports.
    #[must_use]
    pub fn new(ephemeral: PortRange) -> Self {
        Self {
            ephemeral,
            listeners: Listeners::default(),
            remembered: Listeners::default(),
            connections: Vec::new(),
            fan: Fan::default(),
        }
    }

    /// Takes a listener of an earlier reading that may be closed by now, while its connections live
    /// on or are in TIME-WAIT. It proves a direction and names a server where no listener of this
    /// reading does, and is not listed. The order in which they come does not matter, for as long
    /// as no two have the same address.
    pub fn remember(&mut self, netns: NetnsId, transport: Transport, port: u16, mut end: End) {
        end.address = end.address.to_canonical();
        self.remembered.insert(netns, transport, port, end);
    }

    /// Takes one socket. The order in which sockets come does not matter.
    pub fn observe(&mut self, mut seen: Observation) {
        seen.local.set_ip(seen.local.ip().to_canonical());
        seen.remote.set_ip(seen.remote.ip().to_canonical());
        self.listeners.learn_local(seen.netns, seen.local.ip());
        if seen.phase == Phase::Listening {
            let (port, end) = (seen.local.port(), seen.local_end());
            self.listeners.insert(seen.netns, seen.transport, port, end);
        } else {
            self.connections.push(seen);
        }
    }

    /// The edges of everything that was observed.
    #[must_use]
    pub fn finish(mut self) -> Bundle {
        self.fan = Fan::of(self.connections.iter().filter(|seen| self.says_nothing(seen)));
        let mut keyed: Vec<(PairKey, &Observation)> =
            self.connections.iter().map(|seen| (seen.pair_key(), seen)).collect();
        // The two ends of a connection come to stand side by side, and neither pairing nor adding
        // up depends on the order of arrival.
        keyed.sort_unstable_by(|(key, seen), (other_key, other)| {
            key.cmp(other_key).then_with(|| seen.by_all(other))
        });
        let mut flows = Vec::new();
        for ends in keyed.chunk_by(|(key, _), (other_key, _)| key == other_key) {
            self.bundle_ends(ends, &mut flows);
        }
        drop(keyed);
        Bundle { flows: fold(flows), listeners: self.listeners.into_services(self.ephemeral) }
    }

    /// The sockets with one pair of addresses, in either order: usually the two ends of a
    /// connection, or one.
    fn bundle_ends(&self, ends: &[(PairKey, &Observation)], flows: &mut Vec<Flow>) {
        let paired = pairs::of(ends);
        for &(one, other) in &paired {
            flows.push(self.pair(ends[one].1, ends[other].1));
        }
        for (at, (_, seen)) in ends.iter().enumerate() {
            if !paired.iter().any(|&(one, other)| at == one || at == other) {
                flows.push(self.half(seen));
            }
        }
    }

    fn pair(&self, one: &Observation, other: &Observation) -> Flow {
        let (one_listens, other_listens) = (self.listens(one), self.listens(other));
        let direction = match (one_listens, other_listens) {
            (true, false) => Direction { passive: true, guessed: false },
            (false, true) => Direction { passive: false, guessed: false },
            (false, false) if self.listened(one) != self.listened(other) => {
                Direction { passive: self.listened(one), guessed: false }
            }
            _ => Direction { passive: self.serves_by_port(one, other), guessed: true },
        };
        let (client, server) = if direction.passive { (other, one) } else { (one, other) };
        let mut flow = Flow {
            transport: one.transport,
            server_port: server.local.port(),
            client: client.local_end(),
            server: server.local_end(),
            active: client.counters(),
            passive: server.counters(),
            traffic: None,
            guessed: direction.guessed,
        };
        self.name_by_listener(&mut flow.server, server);
        flow
    }

    fn half(&self, seen: &Observation) -> Flow {
        let direction = if self.listens(seen) {
            Direction { passive: true, guessed: false }
        } else if self.reaches(&self.listeners, seen) {
            Direction { passive: false, guessed: false }
        } else if self.listened(seen) {
            Direction { passive: true, guessed: false }
        } else if self.reaches(&self.remembered, seen) {
            Direction { passive: false, guessed: false }
        } else {
            self.by_ports(seen)
        };
        if direction.passive {
            self.passive_half(seen, direction)
        } else {
            self.active_half(seen, direction)
        }
    }

    fn passive_half(&self, seen: &Observation, direction: Direction) -> Flow {
        let mut flow = Flow {
            transport: seen.transport,
            server_port: seen.local.port(),
            client: seen.remote_end(),
            server: seen.local_end(),
            active: Counters::default(),
            passive: seen.counters(),
            traffic: None,
            guessed: direction.guessed,
        };
        self.name_by_listener(&mut flow.server, seen);
        flow
    }

    fn active_half(&self, seen: &Observation, direction: Direction) -> Flow {
        let mut server = seen.remote_end();
        let reached = self.reached(&self.listeners, seen);
        if let Some(end) = reached.or_else(|| self.reached(&self.remembered, seen)) {
            server = End { address: server.address, ..end.clone() };
        }
        Flow {
            transport: seen.transport,
            server_port: seen.remote.port(),
            client: seen.local_end(),
            server,
            active: seen.counters(),
            passive: Counters::default(),
            traffic: None,
            guessed: direction.guessed,
        }
    }

    /// A connection that nobody has accepted yet has no owner: it is the listener's.
    fn name_by_listener(&self, server: &mut End, seen: &Observation) {
        let accepting =
            |from: &'_ Listeners| from.accepting(seen.netns, seen.transport, seen.local).cloned();
        if let Some(end) = accepting(&self.listeners).or_else(|| accepting(&self.remembered)) {
            if server.owner == Owner::Unobserved {
                server.pids.merge(&end.pids);
            }
            server.owner.or_take(&end.owner);
        }
    }

    fn listens(&self, seen: &Observation) -> bool {
        is_service(seen.transport, seen.local.port(), self.ephemeral)
            && self.listeners.accepting(seen.netns, seen.transport, seen.local).is_some()
    }

    /// Whether the socket's port listened in an earlier reading. The kernel may have given the port
    /// to a client since, which is another process.
    fn listened(&self, seen: &Observation) -> bool {
        is_service(seen.transport, seen.local.port(), self.ephemeral)
            && self.remembered.accepting(seen.netns, seen.transport, seen.local).is_some_and(
                |end| {
                    seen.owner == Owner::Unobserved
                        || end.owner.process().is_none()
                        || seen.owner == end.owner
                },
            )
    }

    /// The listener that the socket called, where that is on this host.
    fn reached<'a>(&self, listeners: &'a Listeners, seen: &Observation) -> Option<&'a End> {
        let home = self.listeners.home(seen.netns, seen.local.ip(), seen.remote.ip())?;
        listeners.accepting(home, seen.transport, seen.remote)
    }

    fn reaches(&self, listeners: &Listeners, seen: &Observation) -> bool {
        let (local, remote) = (seen.local.port(), seen.remote.port());
        let may_serve =
            is_service(seen.transport, remote, self.ephemeral) || self.ephemeral.contains(local);
        may_serve && self.reached(listeners, seen).is_some()
    }

    /// Whether neither the ports nor a listener tell the direction.
    fn says_nothing(&self, seen: &Observation) -> bool {
        self.ephemeral.contains(seen.local.port())
            && self.ephemeral.contains(seen.remote.port())
            && seen.local != seen.remote
            && !self.listens(seen)
            && !self.reaches(&self.listeners, seen)
    }

    /// The direction of a socket whose peer was not seen, when no listener proves it. A server
    /// without a listener is rarer than a client, whatever port that chose or calls.
    fn by_ports(&self, seen: &Observation) -> Direction {
        let (local, remote) = (seen.local.port(), seen.remote.port());
        match (self.ephemeral.contains(local), self.ephemeral.contains(remote)) {
            // The everyday client of another host.
            (true, false) => Direction { passive: false, guessed: false },
            (false, true) => Direction { passive: true, guessed: true },
            (false, false) => Direction { passive: false, guessed: true },
            (true, true) => Direction { passive: self.fan.serves(seen), guessed: true },
        }
    }

    /// Whether of a connection whose two ends were seen it is this one that serves, when no
    /// listener proves it: clients have ephemeral ports, servers have not; of two ephemeral ports
    /// the one that several call serves; between equals the lower port.
    fn serves_by_port(&self, seen: &Observation, other: &Observation) -> bool {
        let (local, remote) = (seen.local.port(), seen.remote.port());
        match (self.ephemeral.contains(local), self.ephemeral.contains(remote)) {
            (true, false) => false,
            (false, true) => true,
            (true, true) if self.fan.serves(seen) != self.fan.serves(other) => {
                self.fan.serves(seen)
            }
            (false, false) | (true, true) => local < remote,
        }
    }
}

#[cfg(test)]
mod tests;
