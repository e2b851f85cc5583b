//! Which ports listen, and what that says about the direction of a connection.

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, SocketAddr},
};

use crate::{End, Owner, Transport, fold::stays_in_namespace};

/// A network namespace by the inode number of its `nsfs` file; 0 where the method cannot tell.
pub type NetnsId = u64;

/// The ephemeral ports of the host (`net.ipv4.ip_local_port_range`), both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest ephemeral port.
    pub first: u16,
    /// The highest ephemeral port.
    pub last: u16,
}

impl PortRange {
    /// Linux's default, also the one to use where the host's is not readable.
    pub const LINUX: Self = Self { first: 32768, last: 60999 };

    /// Whether the kernel could have chosen `port` for a client.
    #[must_use]
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

/// A port that accepts connections (TCP) or is bound and unconnected (UDP).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listener {
    /// The transport protocol.
    pub transport: Transport,
    /// The port, in host byte order.
    pub port: u16,
    /// Address (unspecified when it accepts on all), namespace and owner.
    pub end: End,
}

/// All listeners of a reading, for lookup by namespace, transport and port.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    by_port: HashMap<(NetnsId, Transport, u16), Vec<End>>,
    local: HashSet<(NetnsId, IpAddr)>,
    netns_of: HashMap<IpAddr, Option<NetnsId>>,
}

impl Listeners {
    /// Adds a listener. An address that several processes of one owner bind (`SO_REUSEPORT`) is one
    /// listener with several process ids; several owners are several listeners.
    pub fn insert(&mut self, netns: NetnsId, transport: Transport, port: u16, end: End) {
        let ends = self.by_port.entry((netns, transport, port)).or_default();
        match ends.iter_mut().find(|known| known.same_party(&end)) {
            Some(known) => known.pids.merge(&end.pids),
            None => {
                let at = ends.partition_point(|known| known.party_cmp(&end).is_lt());
                ends.insert(at, end);
            }
        }
    }

    /// Learns that `address` belongs to `netns`, because a socket there uses it as its own.
    pub fn learn_local(&mut self, netns: NetnsId, address: IpAddr) {
        if address.is_unspecified() || !self.local.insert((netns, address)) {
            return;
        }
        if !address.is_loopback() {
            self.netns_of.entry(address).and_modify(|owner| *owner = None).or_insert(Some(netns));
        }
    }

    /// The listener that accepts on `address` in `netns`: the exact address before a wildcard, a
    /// known owner before a hidden one.
    pub fn accepting(
        &self,
        netns: NetnsId,
        transport: Transport,
        address: SocketAddr,
    ) -> Option<&End> {
        let ends = self.by_port.get(&(netns, transport, address.port()))?;
        let wildcard = |end: &End| {
            end.address.is_unspecified() && (end.address.is_ipv6() || address.is_ipv4())
        };
        ends.iter()
            .filter(|end| end.address == address.ip() || wildcard(end))
            .min_by_key(|end| (wildcard(end), end.address, doubt(&end.owner)))
    }

    /// The namespace where `remote` is, as a socket in `netns` with the address `local` sees it. An
    /// address that several namespaces use leads nowhere else: there is no telling which of them
    /// have a way to each other.
    pub fn home(&self, netns: NetnsId, local: IpAddr, remote: IpAddr) -> Option<NetnsId> {
        if stays_in_namespace(local, remote) || self.local.contains(&(netns, remote)) {
            return Some(netns);
        }
        let is_shared = |address| self.netns_of.get(address).is_some_and(Option::is_none);
        if is_shared(&local) { None } else { *self.netns_of.get(&remote)? }
    }

    /// All listeners, without the bound ports of UDP clients, in order.
    pub fn into_services(self, ephemeral: PortRange) -> Vec<Listener> {
        let mut services: Vec<Listener> = self
            .by_port
            .into_iter()
            .filter(|((_, transport, port), _)| is_service(*transport, *port, ephemeral))
            .flat_map(|((_, transport, port), ends)| {
                ends.into_iter().map(move |end| Listener { transport, port, end })
            })
            .collect();
        services.sort();
        services
    }
}

/// A bound, unconnected UDP socket on an ephemeral port is a client that uses `sendto`.
pub(crate) fn is_service(transport: Transport, port: u16, ephemeral: PortRange) -> bool {
    transport == Transport::Tcp || !ephemeral.contains(port)
}

fn doubt(owner: &Owner) -> u8 {
    match owner {
        Owner::Process(_) => 0,
        Owner::Hidden { .. } => 1,
        Owner::Unobserved => 2,
    }
}

impl Owner {
    /// Takes over `other` where nothing is known yet.
    pub(crate) fn or_take(&mut self, other: &Self) {
        if *self == Self::Unobserved {
            self.clone_from(other);
        }
    }
}

#[cfg(test)]
mod tests;
