//! Findings held until the end, so that the ports of a host stand together: they come in any order.

use std::{collections::HashMap, net::IpAddr};

use super::{
    Found,
    nmap::{Outcome, State, Status, Totals},
};

/// What stands for a name where there is none.
const NAMELESS: u32 = u32::MAX;

/// A finding with what the formats of nmap show of it.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    address: IpAddr,
    /// What was found.
    pub outcome: Outcome,
    /// The port.
    pub port: u16,
    zone: u32,
    name: u32,
    /// When, in seconds since 1970: enough until 2106.
    at_s: u32,
}

// What the limit for findings that are held promises.
const _: () = assert!(size_of::<Held>() <= 32);

/// Findings of many hosts.
#[derive(Debug, Default)]
pub struct Hosts {
    held: Vec<Held>,
    names: HashMap<Box<str>, u32>,
}

impl Hosts {
    /// Takes in a finding. If a port was found before, only the last finding counts.
    pub fn add(&mut self, found: &Found<'_>) {
        let target = found.finding.target;
        let name = found.name.map_or(NAMELESS, |name| self.name(name));
        self.held.push(Held {
            address: target.ip(),
            outcome: Outcome::of(&found.finding),
            port: target.port(),
            zone: found.zone(),
            name,
            at_s: u32::try_from(found.at_ms / 1000).unwrap_or(u32::MAX),
        });
    }

    /// Puts them in order: by address, then by port.
    pub fn sort(&mut self) -> Sorted<'_> {
        // Stable: of two findings about one port, the later one stays the later one.
        self.held.sort_by_key(|held| (held.address, held.zone, held.port));
        let mut names = vec![""; self.names.len()];
        for (name, &at) in &self.names {
            names[at as usize] = &**name;
        }
        Sorted { held: &self.held, names }
    }

    /// The number of a name.
    fn name(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.names.get(name) {
            return known;
        }
        let Ok(number) = u32::try_from(self.names.len()) else { return NAMELESS };
        self.names.insert(name.into(), number);
        number
    }
}

/// Findings in order.
#[derive(Debug)]
pub struct Sorted<'a> {
    held: &'a [Held],
    names: Vec<&'a str>,
}

impl Sorted<'_> {
    /// The hosts, by address.
    pub fn hosts(&self) -> impl Iterator<Item = Host<'_>> {
        let same =
            |one: &Held, other: &Held| one.address == other.address && one.zone == other.zone;
        self.held.chunk_by(same).map(|held| Host { held, names: &self.names })
    }

    /// How many there are.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { up: 0, down: 0, total: 0 };
        for host in self.hosts() {
            totals.total += 1;
            match host.status().0 {
                Status::Up => totals.up += 1,
                Status::Down => totals.down += 1,
                Status::Unknown => {}
            }
        }
        totals
    }
}

/// What was found about a host: at least one port.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    held: &'a [Held],
    names: &'a [&'a str],
}

impl<'a> Host<'a> {
    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.held[0].address
    }

    /// The names that it was given by, in alphabetical order.
    pub fn names(&self) -> Vec<&'a str> {
        let named = self.held.iter().filter_map(|held| self.names.get(held.name as usize));
        let mut names: Vec<&str> = named.copied().collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Its ports, ascending, each once.
    pub fn ports(&self) -> impl Iterator<Item = &'a Held> {
        let later = self.held.iter().skip(1).map(Some).chain([None]);
        let with_next = self.held.iter().zip(later);
        with_next
            .filter(|(held, next)| next.is_none_or(|next| next.port != held.port))
            .map(|(held, _)| held)
    }

    /// Whether it is there, and what that was concluded from.
    pub fn status(&self) -> (Status, Outcome) {
        let in_state = |state| self.ports().find(|held| held.outcome.state() == state);
        let status = |state, status| in_state(state).map(|held| (status, held.outcome));
        status(State::Open, Status::Up)
            .or_else(|| status(State::Closed, Status::Up))
            .or_else(|| status(State::Filtered, Status::Down))
            .unwrap_or((Status::Unknown, Outcome::LocalhostResponse))
    }

    /// When the last of it was found, in seconds since 1970.
    pub fn ended_s(&self) -> u32 {
        self.held.iter().map(|held| held.at_s).max().unwrap_or(0)
    }

    /// How many of its ports are in a state.
    pub fn count(&self, state: State) -> usize {
        self.ports().filter(|held| held.outcome.state() == state).count()
    }
}

#[cfg(test)]
mod tests;
