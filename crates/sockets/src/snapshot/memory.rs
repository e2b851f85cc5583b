//! Which ports listened a little while ago.
//!
//! A server may close its listener while its connections live on, or leave them in TIME-WAIT. Where
//! its port lies in the range of the ephemeral ones, each of them would look like a client's.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    time::{Duration, Instant},
};

use portolan_flow::{Bundler, End, NetnsId, Owner, Transport};

/// How long a listener is remembered after it was last seen, or last had a connection on its port.
/// Longer than TIME-WAIT lasts.
const MEMORY: Duration = Duration::from_secs(120);

/// How many listeners are remembered; the oldest are forgotten first.
const LISTENERS_MAX: usize = 65_536;

/// Where a listener accepts.
type Bound = (NetnsId, Transport, SocketAddr);

/// A port in a namespace.
pub(super) type Port = (NetnsId, Transport, u16);

/// The listeners of earlier readings.
#[derive(Debug, Default)]
pub(super) struct Memory {
    listeners: HashMap<Bound, Remembered>,
}

#[derive(Debug)]
struct Remembered {
    end: End,
    last_listening: Instant,
    last_used: Instant,
}

impl Memory {
    /// A port listens at `now`. Of several owners one is remembered, whatever their order.
    pub fn listens(&mut self, bound: Bound, end: End, now: Instant) {
        let known = self.listeners.get(&bound);
        let rank = |owner: &Owner| (owner.process().is_none(), owner.clone());
        let keeps = known.is_some_and(|known| {
            known.last_listening == now && rank(&known.end.owner) <= rank(&end.owner)
        });
        if !keeps {
            let one = Remembered { end, last_listening: now, last_used: now };
            self.listeners.insert(bound, one);
        }
    }

    /// Ends the reading of `now`, in which these ports had connections.
    pub fn used(&mut self, ports: impl Iterator<Item = Port>, now: Instant) {
        let closed: HashSet<Port> = self.closed(now).map(|(bound, _)| port_of(bound)).collect();
        if !closed.is_empty() {
            let used: HashSet<Port> = ports.filter(|port| closed.contains(port)).collect();
            let listeners = self.listeners.iter_mut();
            listeners
                .filter(|(bound, _)| used.contains(&port_of(bound)))
                .for_each(|(_, one)| one.last_used = now);
        }
        self.listeners.retain(|_, one| now.duration_since(one.last_used) < MEMORY);
        self.forget_beyond(LISTENERS_MAX);
    }

    /// Forgets what listened in namespaces that are gone: the number may be another's now.
    pub fn keep_namespaces(&mut self, is_alive: impl Fn(NetnsId) -> bool) {
        self.listeners.retain(|(netns, ..), _| is_alive(*netns));
    }

    /// Tells a bundler which ports do not listen any more at `now`, but did.
    pub fn tell(&self, bundler: &mut Bundler, now: Instant) {
        for ((netns, transport, address), one) in self.closed(now) {
            bundler.remember(*netns, *transport, address.port(), one.end.clone());
        }
    }

    fn closed(&self, now: Instant) -> impl Iterator<Item = (&Bound, &Remembered)> {
        self.listeners.iter().filter(move |(_, one)| one.last_listening != now)
    }

    fn forget_beyond(&mut self, most: usize) {
        let Some(too_many) = self.listeners.len().checked_sub(most).filter(|&many| many > 0) else {
            return;
        };
        let mut by_age: Vec<(Instant, Bound)> =
            self.listeners.iter().map(|(bound, one)| (one.last_used, *bound)).collect();
        by_age.select_nth_unstable(too_many - 1);
        for (_, bound) in &by_age[..too_many] {
            self.listeners.remove(bound);
        }
    }
}

fn port_of((netns, transport, address): &Bound) -> Port {
    (*netns, *transport, address.port())
}

#[cfg(test)]
mod tests;
