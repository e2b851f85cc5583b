//! Metrics: what readings counted, as cumulative series for Prometheus and OpenTelemetry.
//!
//! The idea: series are of edges, which have no ephemeral port, and there are only so many of them.
//! Addresses from all over the world are folded to networks, and what still finds no room is
//! counted in one more series, so that sums over all series are those of the readings.
//! `docs/formats/metrics.md` describes what leaves the process.
//!
//! ```
//! use portolan_hub::metrics::{Interval, Metrics, Settings};
//!
//! let start_ms = 1_795_222_800_000;
//! let metrics = Metrics::new(Settings::default(), start_ms);
//! // After each reading, with its folded flows:
//! metrics.add(&Interval { flows: &[], now_ms: start_ms + 1_000, ..Interval::default() });
//! assert!(metrics.exposition().ends_with("# EOF\n"));
//! ```
//!
//! Read in this order: `addresses.rs`, `labels.rs`, `account.rs`, `ledger.rs` (series, bounded),
//! `table.rs` (the metrics), `exposition.rs` (for Prometheus), `endpoint.rs` (serves it), `otlp.rs`
//! and what is below it (sends it), `service.rs` (runs both on a thread).

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

mod account;
mod addresses;
mod endpoint;
mod exposition;
mod labels;
mod ledger;
mod otlp;
mod service;
mod table;

pub use addresses::{Addresses, FoldError, FoldRule, Network};
pub use endpoint::{Endpoint, EndpointError};
pub use ledger::{Interval, MapUse, Settings};
pub use otlp::{Otlp, Receiver, ReceiverError};
pub use service::{Service, Warn};

use ledger::{Entry, Ledger, Own};

/// What the program and the resource say of themselves.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The series, to be added to from one thread and read from others. Copies are of the same series.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Locked for as long as it takes to add an interval or to copy the sums.
    ledger: Mutex<Ledger>,
    exports: Exports,
    /// Changes whenever there is something new to be told.
    revision: AtomicU64,
}

/// How exports over OTLP went.
#[derive(Debug, Default)]
struct Exports {
    /// 0 until somebody exports.
    exporters: AtomicU64,
    accepted: AtomicU64,
    failed: AtomicU64,
    rejected: AtomicU64,
}

/// How exports over OTLP went, at one moment.
#[derive(Clone, Copy, Debug)]
struct Exported {
    accepted: u64,
    failed: u64,
    rejected: u64,
}

/// All that is known at one moment.
#[derive(Clone, Debug)]
struct Snapshot {
    entries: Vec<Entry>,
    own: Own,
    /// `None` where nobody exports.
    exports: Option<Exported>,
}

impl Metrics {
    /// Nothing yet. `now_ms`, in milliseconds since the Unix epoch, is when counting begins.
    #[must_use]
    pub fn new(settings: Settings, now_ms: u64) -> Self {
        Self(Arc::new(Shared {
            ledger: Mutex::new(Ledger::new(settings, now_ms)),
            exports: Exports::default(),
            revision: AtomicU64::new(0),
        }))
    }

    /// Adds what was counted since the interval before. Waits for nobody who reads or sends.
    pub fn add(&self, interval: &Interval<'_>) {
        self.ledger().add(interval);
        self.changed();
    }

    /// The page for Prometheus: the text format of OpenMetrics 1.0.
    #[must_use]
    pub fn exposition(&self) -> String {
        exposition::write(Arc::new(self.snapshot()))
    }

    fn snapshot(&self) -> Snapshot {
        let (entries, own) = self.ledger().copy();
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let exports = &self.0.exports;
        let exports = (get(&exports.exporters) > 0).then(|| Exported {
            accepted: get(&exports.accepted),
            failed: get(&exports.failed),
            rejected: get(&exports.rejected),
        });
        Snapshot { entries, own, exports }
    }

    fn revision(&self) -> u64 {
        self.0.revision.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.0.revision.fetch_add(1, Ordering::Release);
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, which: fn(&Exports) -> &AtomicU64, more: u64) {
        which(&self.0.exports).fetch_add(more, Ordering::Relaxed);
        self.changed();
    }
}

#[cfg(test)]
mod tests;
