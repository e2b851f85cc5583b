//! Datagrams of UDP beside the connections: each arrives whole and as it was sent, or not at all.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use portolan_stack::Instant;

use super::{Planned, World};
use crate::{
    host::{self, Kind},
    link::{Change, Settings},
    pattern::Pattern,
    random::mixed,
    scenario::{Datagrams, Scenario},
    violation::Violation,
};

/// What became of the datagrams of one line of the scenario.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// How many have left.
    sent: u32,
    /// How often each of them arrived.
    arrived: BTreeMap<u32, u32>,
    /// Those that nothing can have kept from arriving.
    expected: Vec<u32>,
}

impl World<'_> {
    /// Binds ports and plans the first datagrams.
    pub(super) fn begin_datagrams(&mut self) -> Result<(), Violation> {
        for (number, one) in self.scenario.datagrams.iter().enumerate() {
            let is_bound = self.hosts[one.from].bind(SOURCE_PORT + low(number))
                && (!one.is_bound || self.hosts[1 - one.from].bind(port(number)));
            if !is_bound {
                return Err(Violation::new("datagram", "a port cannot be bound"));
            }
            let at = self.scenario.start() + Duration::from_micros(one.at_us);
            self.queue.push(at, Planned::Datagram(number));
        }
        Ok(())
    }

    /// Sends the next one, and plans the one after it.
    pub(super) fn send_datagram(&mut self, number: usize) -> Result<(), Violation> {
        let Some(one) = self.scenario.datagrams.get(number).copied() else { return Ok(()) };
        let Some(flight) = self.flights.get_mut(number) else { return Ok(()) };
        let (count, is_calm) = (flight.sent, self.is_calm);
        let payload = payload(self.scenario.seed, number, count, one.bytes);
        let to = host::address(1 - one.from, self.scenario.ipv6);
        let to = SocketAddr::new(to, port(number));
        let has_left = self.hosts[one.from].send_datagram(to, &payload, self.now);
        flight.sent += 1;
        if has_left && is_calm && one.is_bound && takes_all(self.scenario, &one) {
            flight.expected.push(count);
        }
        if flight.sent < one.count {
            let next = self.now + Duration::from_micros(one.every_us);
            self.queue.push(next, Planned::Datagram(number));
        }
        self.drive(one.from)
    }

    /// Takes what has arrived at a host.
    pub(super) fn take_datagrams(&mut self, host: usize) -> Result<(), Violation> {
        while let Some(bytes) = self.hosts[host].receive_datagram() {
            let broken = |what: &str| {
                let what = format!("host {host} got one of {} bytes: {what}", bytes.len());
                Err(Violation::new("datagram", what))
            };
            let seed = self.scenario.seed;
            let mut lines = self.scenario.datagrams.iter().zip(&mut self.flights).enumerate();
            let found = lines.find_map(|(number, (one, flight))| {
                let count = count_of(&bytes).unwrap_or_default();
                let is_it = one.from != host
                    && one.is_bound
                    && bytes.len() == one.bytes
                    && count < flight.sent
                    && bytes == payload(seed, number, count, one.bytes);
                is_it.then_some((one, flight, count))
            });
            let Some((one, flight, count)) = found else { return broken("nobody sent it") };
            let times = flight.arrived.entry(count).or_default();
            *times += 1;
            let doubles = self.scenario.links[one.from].duplicate_ppm > 0;
            if *times > 1 && !doubles && one.bytes >= COUNT_BYTES {
                return broken("it was there before");
            }
        }
        Ok(())
    }

    /// Whether all arrived that nothing kept from it.
    pub(super) fn audit_datagrams(&self) -> Result<(), Violation> {
        for (one, flight) in self.scenario.datagrams.iter().zip(&self.flights) {
            if self.hosts[one.from].has_lost() {
                // While the neighbour was not found.
                continue;
            }
            let missing = |count: &&u32| !flight.arrived.contains_key(count);
            let missing = flight.expected.iter().find(missing).filter(|_| one.bytes >= COUNT_BYTES);
            if let Some(count) = missing {
                let what = format!("number {count} of {} bytes never arrived", one.bytes);
                return Err(Violation::new("datagram", what));
            }
        }
        Ok(())
    }
}

/// Whether the link takes whatever is sent, once it is calm.
fn takes_all(scenario: &Scenario, one: &Datagrams) -> bool {
    let link: &Settings = &scenario.links[one.from];
    let is_cut = |change: &Change| matches!(change, Change::Mtu(_));
    let changes = !scenario.changes.iter().any(|timed| is_cut(&timed.change));
    let is_ours = scenario.hosts.iter().all(|host| host.kind == Kind::Portolan);
    link.mtu == 0 && link.queue_bytes == 0 && changes && is_ours
}

/// The number of a datagram goes first, then bytes that it decides.
fn payload(seed: u64, line: usize, count: u32, bytes: usize) -> Vec<u8> {
    let mut payload = vec![0; bytes];
    match payload.split_at_mut_checked(COUNT_BYTES) {
        Some((first, rest)) => {
            first.copy_from_slice(&count.to_be_bytes());
            Pattern(mixed(seed ^ (line as u64) << 32 ^ u64::from(count))).fill(0, rest);
        }
        None => payload.fill(7),
    }
    payload
}

fn count_of(payload: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*payload.first_chunk()?))
}

fn port(number: usize) -> u16 {
    PORT + low(number)
}

fn low(number: usize) -> u16 {
    u16::try_from(number).unwrap_or_default()
}

/// When the datagrams have left.
pub(super) fn last_at(scenario: &Scenario) -> Instant {
    let ends = scenario.datagrams.iter().map(|one| one.at_us + u64::from(one.count) * one.every_us);
    scenario.start() + Duration::from_micros(ends.max().unwrap_or_default())
}

const COUNT_BYTES: usize = 4;
const SOURCE_PORT: u16 = 7_000;
const PORT: u16 = 8_000;
