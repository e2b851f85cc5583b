//! Where readings come from.

use std::time::Duration;

use anyhow::Context;
use portolan_flow::{Bundle, Totals, fold};
use portolan_hub::{Delta, Hub};
use portolan_sockets::Snapshot;
use portolan_sys::capabilities::{self, CapabilitySet};
use portolan_trace::Error;

use super::{
    config::{Config, Tracing},
    traced::Traced,
};
use crate::metrics::Feed;

/// Looking at other users' processes (PTRACE, DAC) and into other namespaces (ADMIN).
pub const CAPABILITIES: CapabilitySet =
    CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH).union(CapabilitySet::SYS_ADMIN);

/// Readers of other namespaces keep those alive, which is in the way of whoever removes one;
/// between readings further apart than this they are given up.
const KEEP_READERS_MAX: Duration = Duration::from_secs(2);

/// The method in use.
pub struct Source {
    snapshot: Snapshot,
    traced: Option<Traced>,
    /// Why nothing is traced, where it would have been.
    untraced: Option<Error>,
    releases: bool,
    feed: Option<Feed>,
}

impl Source {
    /// Finds out how to read this host.
    pub fn open(config: &Config) -> anyhow::Result<Self> {
        let snapshot =
            Snapshot::open(config.snapshot).context("cannot list the sockets of this host")?;
        let open = || Traced::open(config.snapshot.own_namespace_only);
        let (traced, untraced) = match config.trace {
            Tracing::No => (None, None),
            Tracing::Yes => (Some(open()?), None),
            Tracing::IfPossible => match open() {
                Ok(traced) => (Some(traced), None),
                Err(error) => (None, Some(error)),
            },
        };
        let releases = config.interval > KEEP_READERS_MAX;
        Ok(Self { snapshot, traced, untraced, releases, feed: None })
    }

    /// Whether traffic is counted.
    pub fn is_counted(&self) -> bool {
        self.traced.is_some()
    }

    /// Has further readings become metrics, too.
    pub fn feed(&mut self, feed: Feed) {
        self.feed = Some(feed);
    }

    /// Gives up every privilege that later readings do not need. To be called on the first thread
    /// before there are others, since each has its own.
    pub fn drop_privileges(&self) -> anyhow::Result<()> {
        capabilities::retain(CAPABILITIES).context("cannot give up capabilities")
    }

    /// Takes a reading and hands it to the hub; returns what it changed.
    pub fn read_into(&mut self, hub: &Hub, now_ms: u64) -> anyhow::Result<Delta> {
        let mut reading = self.snapshot.read().context("cannot list the sockets of this host")?;
        if self.releases {
            self.snapshot.release();
        }
        let mut method = self.snapshot.describe();
        if let Some(traced) = &mut self.traced {
            let counted = traced
                .read(self.feed.as_ref())
                .context("cannot read what the kernel has counted")?;
            if !counted.is_empty() {
                reading.bundle.flows.extend(counted);
                let flows = fold(std::mem::take(&mut reading.bundle.flows));
                reading.bundle =
                    self.snapshot.without_observers(Bundle { flows, ..reading.bundle });
            }
            reading.warnings.extend(traced.warnings());
            method = format!("{method} and {}", traced.describe());
        } else if let Some(feed) = &self.feed {
            feed.add(&reading.bundle.flows, &Totals::default(), &[]);
        }
        reading.warnings.extend(self.feed.iter().flat_map(Feed::warnings));
        if let Some(error) = &self.untraced {
            reading.warnings.push(format!("connections between two readings are missed: {error}"));
        }
        Ok(hub.ingest(reading.bundle, now_ms, reading.warnings, &method))
    }
}
