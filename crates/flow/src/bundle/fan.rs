//! Which of two ephemeral ports serves, when nothing else tells: the one that several call.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
};

use crate::{NetnsId, Observation, Transport};

/// An address and a port as they are seen in a namespace.
type Place = (NetnsId, Transport, SocketAddr);

/// How many others each address and port is connected to.
#[derive(Debug, Default)]
pub(super) struct Fan {
    peers: HashMap<Place, usize>,
}

impl Fan {
    pub fn of<'a>(connections: impl Iterator<Item = &'a Observation>) -> Self {
        let mut met = HashSet::new();
        let mut fan = Self::default();
        for seen in connections {
            for (one, other) in [(seen.local, seen.remote), (seen.remote, seen.local)] {
                let place = (seen.netns, seen.transport, one);
                if met.insert((place, other)) {
                    *fan.peers.entry(place).or_default() += 1;
                }
            }
        }
        fan
    }

    /// Whether the socket's own port is called by several, and by more than the peer's.
    pub fn serves(&self, seen: &Observation) -> bool {
        let peers = |at| self.peers.get(&(seen.netns, seen.transport, at)).copied().unwrap_or(0);
        let own = peers(seen.local);
        own > 1 && own > peers(seen.remote)
    }
}
