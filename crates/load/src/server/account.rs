//! What the threads of a server have counted, together.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use super::{
    counters::Tally,
    summary::{Port, PortCounts, ServerInterval, ServerSummary},
};
use crate::summary::VERSION;

#[derive(Debug)]
pub(super) struct Account {
    addresses: Vec<SocketAddr>,
    /// One of each thread.
    tallies: Vec<Arc<Tally>>,
    begun: Instant,
    ended: Option<Instant>,
    told: Told,
}

/// What [`Account::interval`] said last.
#[derive(Debug)]
struct Told {
    count: u64,
    at: Instant,
    total: PortCounts,
    cpu_ns: Vec<u64>,
}

impl Account {
    /// Begins now.
    pub(super) fn new(addresses: Vec<SocketAddr>, tallies: Vec<Arc<Tally>>) -> Self {
        let begun = Instant::now();
        let cpu_ns = vec![0; tallies.len()];
        let told = Told { count: 0, at: begun, total: PortCounts::default(), cpu_ns };
        Self { addresses, tallies, begun, ended: None, told }
    }

    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The server ends, if it has not.
    pub(super) fn end(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
    }

    /// What happened so far, in the order of the addresses.
    #[must_use]
    pub(super) fn ports(&self) -> Vec<Port> {
        let port = |(nth, &address)| Port { address, counts: self.counts(nth) };
        self.addresses.iter().enumerate().map(port).collect()
    }

    /// What happened since it was asked last, or since the start.
    #[must_use]
    pub(super) fn interval(&mut self) -> ServerInterval {
        let now = Instant::now();
        let total = self.total();
        let cpu_ns = self.cpu_ns();
        let used: Vec<u64> =
            cpu_ns.iter().zip(&self.told.cpu_ns).map(|(now, then)| (now - then) / 1_000).collect();
        let interval = ServerInterval {
            version: VERSION,
            kind: "server_interval".to_owned(),
            nth: self.told.count,
            begin_seconds: (self.told.at - self.begun).as_secs_f64(),
            seconds: (now - self.told.at).as_secs_f64(),
            open: total.open(),
            cpu_us: used.iter().sum(),
            busiest_cpu_us: used.iter().copied().max().unwrap_or(0),
            total: total - self.told.total,
        };
        self.told = Told { count: self.told.count + 1, at: now, total, cpu_ns };
        interval
    }

    /// What happened from the beginning to the end.
    pub(super) fn summary(&self) -> ServerSummary {
        let seconds = self.ended.unwrap_or(self.begun) - self.begun;
        let seconds = seconds.as_secs_f64();
        let cpu_ns = self.cpu_ns();
        ServerSummary {
            version: VERSION,
            kind: "server".to_owned(),
            seconds,
            cpu_us: cpu_ns.iter().sum::<u64>() / 1_000,
            threads_cpu_us: cpu_ns.iter().map(|cpu| cpu / 1_000).collect(),
            total: self.total(),
            ports: self.ports(),
        }
    }

    fn counts(&self, port: usize) -> PortCounts {
        let mut sum = PortCounts::default();
        for tally in &self.tallies {
            sum += tally.ports[port].read();
        }
        sum
    }

    fn total(&self) -> PortCounts {
        let mut sum = PortCounts::default();
        for port in 0..self.addresses.len() {
            sum += self.counts(port);
        }
        sum
    }

    fn cpu_ns(&self) -> Vec<u64> {
        self.tallies.iter().map(|tally| tally.cpu_ns.read()).collect()
    }
}
