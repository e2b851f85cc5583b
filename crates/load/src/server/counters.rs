//! Counters that one thread writes and all may read.

use std::sync::atomic::{AtomicU64, Ordering};

use super::summary::PortCounts;

/// A number that only one thread changes; so it needs no locked instruction.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, more: u64) {
        self.set(self.read().wrapping_add(more));
    }

    pub(super) fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one thread counts, live.
#[derive(Debug)]
pub(super) struct Tally {
    /// In the order of the server's addresses.
    pub(super) ports: Box<[Counters]>,
    /// CPU time of the thread; it may be 50 ms behind.
    pub(super) cpu_ns: Counter,
}

impl Tally {
    pub(super) fn new(ports: usize) -> Self {
        let ports = (0..ports).map(|_| Counters::default()).collect();
        Self { ports, cpu_ns: Counter::default() }
    }
}

/// [`PortCounts`] of one thread, live.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: Counter,
    pub(super) closed: Counter,
    pub(super) reset: Counter,
    pub(super) truncated: Counter,
    pub(super) timed_out: Counter,
    pub(super) turned_away: Counter,
    pub(super) requests: Counter,
    pub(super) not_served: Counter,
    pub(super) malformed: Counter,
    pub(super) bytes_received: Counter,
    pub(super) bytes_sent: Counter,
    pub(super) datagrams_received: Counter,
    pub(super) datagrams_sent: Counter,
    pub(super) errors: Counter,
}

impl Counters {
    pub(super) fn read(&self) -> PortCounts {
        PortCounts {
            accepted: self.accepted.read(),
            closed: self.closed.read(),
            reset: self.reset.read(),
            truncated: self.truncated.read(),
            timed_out: self.timed_out.read(),
            turned_away: self.turned_away.read(),
            requests: self.requests.read(),
            not_served: self.not_served.read(),
            malformed: self.malformed.read(),
            bytes_received: self.bytes_received.read(),
            bytes_sent: self.bytes_sent.read(),
            datagrams_received: self.datagrams_received.read(),
            datagrams_sent: self.datagrams_sent.read(),
            errors: self.errors.read(),
        }
    }
}
