//! Counters that one thread writes and all may read.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::PortCounts;

/// A number that only one thread changes; so it needs no locked instruction.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// [`PortCounts`] of one thread, live.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: Counter,
    pub(super) closed: Counter,
    pub(super) reset: Counter,
    pub(super) turned_away: Counter,
    pub(super) requests: Counter,
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
            turned_away: self.turned_away.read(),
            requests: self.requests.read(),
            bytes_received: self.bytes_received.read(),
            bytes_sent: self.bytes_sent.read(),
            datagrams_received: self.datagrams_received.read(),
            datagrams_sent: self.datagrams_sent.read(),
            errors: self.errors.read(),
        }
    }
}
