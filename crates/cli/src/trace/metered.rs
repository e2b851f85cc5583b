//! A method whose readings become metrics, too.

use portolan_sys::capabilities::CapabilitySet;
use portolan_trace::{Attach, UdpAttach};

use super::{
    pick::Scope,
    watch::{Observed, Watch},
};
use crate::metrics::Feed;

/// A method, and metrics that each of its readings is added to.
pub struct Metered {
    watch: Box<dyn Watch>,
    feed: Feed,
    scope: Scope,
    /// Where the metrics are served, for people.
    place: Option<String>,
}

impl Metered {
    /// Metrics of what is in scope; what is shown of it makes no difference.
    pub fn new(watch: Box<dyn Watch>, feed: Feed, scope: Scope, place: Option<String>) -> Self {
        Self { watch, feed, scope, place }
    }
}

impl Watch for Metered {
    fn read(&mut self) -> anyhow::Result<Observed> {
        let mut observed = self.watch.read()?;
        observed.flows.retain(|flow| self.scope.has(flow));
        self.feed.add(&observed.flows, &observed.overflow, &observed.losses);
        observed.warnings.extend(self.feed.warnings());
        Ok(observed)
    }

    fn relieve(&mut self) -> anyhow::Result<()> {
        self.watch.relieve()
    }

    fn needs_relief(&self) -> bool {
        self.watch.needs_relief()
    }

    fn describe(&self) -> String {
        let place = self.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
        self.watch.describe() + &place
    }

    fn method(&self) -> &'static str {
        self.watch.method()
    }

    fn attach(&self) -> Option<Attach> {
        self.watch.attach()
    }

    fn udp_attach(&self) -> Option<UdpAttach> {
        self.watch.udp_attach()
    }

    fn capabilities(&self) -> CapabilitySet {
        self.watch.capabilities()
    }
}

#[cfg(test)]
mod tests;
