//! Where readings come from.

use std::time::Duration;

use anyhow::Context;
use portolan_hub::{Delta, Hub};
use portolan_sockets::Snapshot;
use portolan_sys::capabilities::{self, CapabilitySet};

use super::config::Config;

/// Looking at other users' processes (PTRACE, DAC) and into other namespaces (ADMIN).
pub const CAPABILITIES: CapabilitySet =
    CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH).union(CapabilitySet::SYS_ADMIN);

/// Readers of other namespaces keep those alive, which is in the way of whoever removes one;
/// between readings further apart than this they are given up.
const KEEP_READERS_MAX: Duration = Duration::from_secs(2);

/// The method in use.
pub struct Source {
    snapshot: Snapshot,
    releases: bool,
}

impl Source {
    /// Finds out how to read this host.
    pub fn open(config: &Config) -> anyhow::Result<Self> {
        let snapshot =
            Snapshot::open(config.snapshot).context("cannot list the sockets of this host")?;
        Ok(Self { snapshot, releases: config.interval > KEEP_READERS_MAX })
    }

    /// Gives up every privilege that later readings do not need. To be called on the first thread
    /// before there are others, since each has its own.
    pub fn drop_privileges(&self) -> anyhow::Result<()> {
        capabilities::retain(CAPABILITIES).context("cannot give up capabilities")
    }

    /// Takes a reading and hands it to the hub; returns what it changed.
    pub fn read_into(&mut self, hub: &Hub, now_ms: u64) -> anyhow::Result<Delta> {
        let reading = self.snapshot.read().context("cannot list the sockets of this host")?;
        if self.releases {
            self.snapshot.release();
        }
        Ok(hub.ingest(reading.bundle, now_ms, reading.warnings, &self.snapshot.describe()))
    }
}
