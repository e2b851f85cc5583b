//! What a tracer said of the load (docs/formats/trace.md).

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::load::FIRST_PORT;

/// A line of its output; others than these two are passed over.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Edge(Edge),
    Summary(Summary),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Edge {
    client_address: String,
    server_address: String,
    server_port: u16,
    network_transport: String,
    client_namespace: Option<String>,
    server_namespace: Option<String>,
    /// What the client's end counted; none by the method `snapshot`.
    active: Option<Counts>,
}

#[derive(Deserialize)]
struct Counts {
    opened: u64,
    datagrams_sent: u64,
}

#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    overflow: Overflow,
    #[serde(default)]
    losses: BTreeMap<String, u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Overflow {
    opened: u64,
    datagrams_sent: u64,
}

/// What it said in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Edges of the load, each once.
    pub(super) edges: u64,
    /// Connections that the client's end opened, over all intervals.
    pub(super) opened: u64,
    /// Datagrams that the client's end sent.
    pub(super) datagrams_sent: u64,
    /// Whether edges said what each end counted.
    pub(super) has_sides: bool,
    /// What found no room, of either end and of the whole host.
    overflow: u64,
    /// What is missing, of the whole host, by reason; only where there is something.
    pub(super) losses: BTreeMap<String, u64>,
}

/// The namespace of the tracer, where the load is too.
const HERE: &str = "host";

impl Said {
    /// Reads `output`, of edges with as many ports as there are `services`.
    pub(super) fn read(output: &[u8], services: u16, is_tcp: bool) -> Result<Self, String> {
        let mut said = Self::default();
        let mut edges = BTreeSet::new();
        let transport = if is_tcp { "tcp" } else { "udp" };
        for line in String::from_utf8_lossy(output).lines() {
            match serde_json::from_str(line).map_err(|error| format!("unreadable: {error}"))? {
                Line::Edge(edge) if edge.is_ours(services, transport) => {
                    said.has_sides |= edge.active.is_some();
                    if let Some(counts) = &edge.active {
                        said.opened += counts.opened;
                        said.datagrams_sent += counts.datagrams_sent;
                    }
                    edges.insert((edge.client_address, edge.server_address, edge.server_port));
                }
                Line::Summary(summary) => said.add(summary),
                Line::Edge(_) | Line::Other => {}
            }
        }
        said.edges = u64::try_from(edges.len()).unwrap_or(u64::MAX);
        Ok(said)
    }

    fn add(&mut self, summary: Summary) {
        self.overflow += summary.overflow.opened + summary.overflow.datagrams_sent;
        for (reason, count) in summary.losses.into_iter().filter(|&(_, count)| count > 0) {
            *self.losses.entry(reason).or_default() += count;
        }
    }

    /// All losses together.
    pub(super) fn lost(&self) -> u64 {
        self.losses.values().sum()
    }

    /// Whether `counted` is what happened, as far as the losses that are said allow.
    pub(super) fn agrees(&self, counted: u64, happened: u64) -> bool {
        counted.abs_diff(happened) <= self.lost() + self.overflow
    }

    /// `untracked 3, missed 1`, if anything was lost.
    pub(super) fn describe_losses(&self) -> Option<String> {
        let each = self.losses.iter().map(|(reason, count)| format!("{reason} {count}"));
        let each = each.collect::<Vec<_>>().join(", ");
        (!each.is_empty()).then_some(each)
    }
}

impl Edge {
    fn is_ours(&self, services: u16, transport: &str) -> bool {
        let is_here =
            |namespace: &Option<String>| namespace.as_deref().is_none_or(|name| name == HERE);
        self.server_address == "127.0.0.1"
            && (FIRST_PORT..FIRST_PORT.saturating_add(services)).contains(&self.server_port)
            && self.network_transport == transport
            && is_here(&self.client_namespace)
            && is_here(&self.server_namespace)
    }
}

#[cfg(test)]
mod tests;
