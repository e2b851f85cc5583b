//! The graph that readings keep up to date, and what each reading changed in it.
//!
//! Nodes and edges are shared with the [`Graph`]s that were taken, and copied when they change
//! while one is in use. What comes out is in the order of the ids, what goes on inside is in that
//! of the reading: nothing depends on the order of a hash table.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use portolan_flow::{Bundle, Flow};

use crate::{
    api::Node,
    edge::{Edge, KnownFlow, Pair, flow_cmp, forget_counts, is_passing, pair_of, settle_span},
    graph::{Graph, Header},
    identity::Users,
};

mod bounds;
mod delta;
mod history;
mod ports;
mod resolve;
mod sighting;
mod sort;

pub use delta::Delta;
use delta::{Changes, News};
use ports::Ports;
use sighting::Sighting;
use sort::Group;
pub use sort::Sorted;

/// How long what does not change waits until it is announced again, in milliseconds.
const REFRESH_MS: u64 = 10_000;

/// How many live edges are announced again for their `last_seen_ms` alone. The cost is to follow
/// change, not size: on a larger map, `live` and the reading's `now_ms` have to do.
const REFRESH_EDGES_MAX: usize = 2_000;

/// What the graph may grow to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Flows in all edges together; an edge has at least one.
    pub flows_max: usize,
    /// Nodes.
    pub nodes_max: usize,
    /// How long what ended is remembered, in milliseconds.
    pub retention_ms: u64,
}

/// 100,000 of each, for 90 days.
impl Default for Limits {
    fn default() -> Self {
        Self { flows_max: 100_000, nodes_max: 100_000, retention_ms: 90 * 24 * 3_600_000 }
    }
}

/// What a method saw at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Edges and listening ports.
    pub bundle: Bundle,
    /// What it left out and why, for people.
    pub warnings: Vec<String>,
    /// How it was taken, for people.
    pub method: String,
}

/// The live graph with its history. Methods that take `&mut self` change it; none reads a clock.
#[derive(Debug, Default)]
pub struct Live {
    header: Header,
    limits: Limits,
    users: Users,
    nodes: HashMap<Arc<str>, Arc<Node>>,
    edges: HashMap<Arc<str>, Arc<Edge>>,
    /// The edges that have a flow between two addresses: where an open end may belong.
    pairs: HashMap<Pair, Vec<Arc<str>>>,
    /// The number of flows in all edges.
    flows: usize,
    live_nodes: HashSet<Arc<str>>,
    live_edges: HashSet<Arc<str>>,
    /// The nodes of which only passing flows are known: they go with them.
    passing_nodes: HashSet<Arc<str>>,
    listeners: Ports,
    /// Whether the method counts traffic, as far as was seen.
    counts_traffic: bool,
    /// A problem of the hub itself, shown beside the warnings of the reading.
    own_warning: Option<String>,
    refreshed_ms: u64,
    pruned_ms: u64,
}

impl Live {
    /// An empty graph of `host`, which is read every `interval_ms` milliseconds.
    #[must_use]
    pub fn new(host: &str, interval_ms: u64, limits: Limits, users: Users) -> Self {
        let header = Header { host: host.to_owned(), interval_ms, ..Header::default() };
        // As if the clock had been set back: everything is due with the first reading.
        let (refreshed_ms, pruned_ms) = (u64::MAX, u64::MAX);
        Self { header, limits, users, refreshed_ms, pruned_ms, ..Self::default() }
    }

    /// Everything that is live or was seen at or after `since_ms`. What is returned does the rest
    /// of the work, and needs no lock on the live graph for it.
    pub fn graph(&self, since_ms: u64) -> impl FnOnce() -> Graph + use<> {
        let header = self.header.clone();
        let nodes: Vec<_> = self.nodes.values().cloned().collect();
        let edges: Vec<_> = self.edges.values().cloned().collect();
        move || Graph::new(header, since_ms, nodes, edges)
    }

    /// When the last reading was taken, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.header.now_ms
    }

    /// Shows a problem of the hub itself from the next reading on, or takes it back.
    pub fn set_own_warning(&mut self, warning: Option<String>) {
        self.own_warning = warning;
    }

    /// Finds out which edges and nodes a reading is about: the larger part of the work on it,
    /// which changes nothing, so that others can take graphs meanwhile.
    #[must_use]
    pub fn sort(&self, reading: Reading) -> Sorted {
        let Reading { bundle, warnings, method } = reading;
        let flows = resolve::close_ends(bundle.flows, &self.pairs, &self.edges);
        // Also where just now there was none.
        let counts_traffic = self.counts_traffic && method == self.header.method
            || flows.iter().any(|flow| flow.traffic.is_some());
        Sorted::new(flows, bundle.listeners, warnings, method, counts_traffic, &self.users)
    }

    /// Takes a reading of `now_ms` (milliseconds since the Unix epoch) and says what it changed.
    /// It must have been sorted after the reading before was applied.
    ///
    /// Time that passes is no change: the `last_seen_ms` of what is live moves silently, and is
    /// announced with the next change, or after ten seconds.
    pub fn apply(&mut self, reading: Sorted, now_ms: u64) -> Delta {
        let mut changes = Changes::default();
        self.counts_traffic = reading.counts_traffic;
        self.end_missing(&reading, &mut changes);
        self.listeners.see(reading.listeners, now_ms, self.limits.flows_max);
        for (id, sighting) in reading.sightings.into_items() {
            self.see_node(&id, sighting, now_ms, &mut changes);
        }
        for (id, group) in reading.groups.into_items() {
            self.see_edge(id, group, now_ms, &mut changes);
        }
        self.prune(now_ms, &mut changes);
        let mut warnings = reading.warnings;
        warnings.extend(self.own_warning.clone());
        warnings.extend(changes.refusal(self.limits));
        let is_refresh = is_due(self.refreshed_ms, now_ms, REFRESH_MS);
        let news = if reading.method != self.header.method {
            News::Method
        } else if is_refresh || warnings != self.header.warnings {
            News::Header
        } else {
            News::None
        };
        self.header.now_ms = now_ms;
        self.header.warnings = warnings;
        self.header.method = reading.method;
        if is_refresh {
            self.refreshed_ms = now_ms;
            self.refresh(&mut changes);
        }
        self.delta(changes, news)
    }

    /// Marks what the last reading saw and this one does not.
    fn end_missing(&mut self, reading: &Sorted, changes: &mut Changes) {
        let ended: Vec<_> =
            self.live_edges.iter().filter(|&id| !reading.groups.contains(id)).cloned().collect();
        for id in ended {
            self.live_edges.remove(&id);
            let Some(edge) = self.edges.get_mut(&id) else { continue };
            let edge = Arc::make_mut(edge);
            edge.flows.iter_mut().for_each(end_flow);
            let dropped = take_passed(edge);
            if edge.flows.is_empty() {
                self.edges.remove(&id);
                changes.remove_edge(Arc::clone(&id));
            } else {
                changes.edge(Arc::clone(&id));
            }
            self.forget_pairs(&id, dropped);
        }
        let ended: Vec<_> =
            self.live_nodes.iter().filter(|&id| !reading.sightings.contains(id)).cloned().collect();
        for id in ended {
            self.live_nodes.remove(&id);
            if self.passing_nodes.remove(&id) {
                self.nodes.remove(&id);
                changes.remove_node(id);
            } else if let Some(node) = self.nodes.get_mut(&id) {
                let node = Arc::make_mut(node);
                node.live = false;
                node.pids.clear();
                changes.node(id);
            }
        }
    }

    fn see_node(&mut self, id: &Arc<str>, seen: Sighting, now_ms: u64, changes: &mut Changes) {
        let lasts = seen.lasts;
        if let Some(node) = self.nodes.get_mut(id) {
            let node = Arc::make_mut(node);
            node.last_seen_ms = node.last_seen_ms.max(now_ms);
            node.first_seen_ms = node.first_seen_ms.min(now_ms);
            let was_live = node.live;
            if lasts {
                self.passing_nodes.remove(id);
            }
            if seen.update(node) {
                changes.node(Arc::clone(id));
            }
            if was_live {
                return;
            }
        } else {
            if !self.has_room_for_node(lasts, changes) {
                changes.refused += 1;
                return;
            }
            self.nodes.insert(Arc::clone(id), Arc::new(seen.into_node(now_ms)));
            if !lasts {
                self.passing_nodes.insert(Arc::clone(id));
            }
            changes.node(Arc::clone(id));
        }
        self.live_nodes.insert(Arc::clone(id));
    }

    fn see_edge(&mut self, id: Arc<str>, group: Group, now_ms: u64, changes: &mut Changes) {
        if !self.nodes.contains_key(&group.client) || !self.nodes.contains_key(&group.server) {
            changes.refused += group.flows.len() as u64;
            return;
        }
        let counts_traffic = self.counts_traffic;
        let Updated { fresh, passed, mut is_changed } = match self.edges.get_mut(&id) {
            Some(edge) => update_flows(Arc::make_mut(edge), group.flows, now_ms, counts_traffic),
            None => Updated { fresh: group.flows, ..Updated::default() },
        };
        self.forget_pairs(&id, passed);
        for flow in fresh {
            let lasts = !is_passing(&flow, counts_traffic);
            if !self.has_room_for_flow(lasts, changes) {
                changes.refused += 1;
                continue;
            }
            is_changed = true;
            let known = KnownFlow {
                flow,
                first_seen_ms: now_ms,
                last_seen_ms: now_ms,
                live: true,
                saved_ms: None,
                lasts,
            };
            self.insert_flow(&id, &group.client, &group.server, known);
        }
        if !is_changed {
            return;
        }
        if self.edges.get(&id).is_some_and(|edge| edge.live()) {
            self.live_edges.insert(Arc::clone(&id));
        } else {
            // Its old flows have ended, and the new ones found no room.
            self.live_edges.remove(&id);
        }
        changes.edge(id);
    }

    /// Adds a flow to its edge, which is made if it is not there.
    fn insert_flow(
        &mut self,
        id: &Arc<str>,
        client: &Arc<str>,
        server: &Arc<str>,
        known: KnownFlow,
    ) {
        let edges = self.pairs.entry(pair_of(&known.flow)).or_default();
        if !edges.contains(id) {
            edges.push(Arc::clone(id));
        }
        let edge = self.edges.entry(Arc::clone(id)).or_insert_with(|| {
            Arc::new(Edge {
                id: Arc::clone(id),
                client: Arc::clone(client),
                server: Arc::clone(server),
                server_port: known.flow.server_port,
                transport: known.flow.transport,
                flows: Vec::new(),
            })
        });
        let flows = &mut Arc::make_mut(edge).flows;
        let at = flows.partition_point(|have| flow_cmp(&have.flow, &known.flow).is_lt());
        flows.insert(at, known);
        self.flows += 1;
    }

    /// Announces what is live again, for its `last_seen_ms`.
    fn refresh(&self, changes: &mut Changes) {
        if self.live_edges.len() <= REFRESH_EDGES_MAX {
            self.live_edges.iter().cloned().for_each(|id| changes.edge(id));
            self.live_nodes.iter().cloned().for_each(|id| changes.node(id));
        }
    }
}

/// Whether `wait_ms` have passed, or the clock was set back.
pub(crate) fn is_due(last_ms: u64, now_ms: u64, wait_ms: u64) -> bool {
    now_ms < last_ms || now_ms - last_ms >= wait_ms
}

fn end_flow(known: &mut KnownFlow) {
    known.live = false;
    forget_counts(&mut known.flow);
}

/// Takes out the flows that have ended and are not remembered.
fn take_passed(edge: &mut Edge) -> Vec<KnownFlow> {
    edge.flows.extract_if(.., |known| !known.live && !known.lasts).collect()
}

/// What became of the flows of an edge.
#[derive(Debug, Default)]
struct Updated {
    /// Those that it does not have yet.
    fresh: Vec<Flow>,
    /// Those that were taken out.
    passed: Vec<KnownFlow>,
    /// Whether anything but time changed.
    is_changed: bool,
}

/// Brings the flows of an edge up to date, as far as it has them.
fn update_flows(edge: &mut Edge, seen: Vec<Flow>, now_ms: u64, counts_traffic: bool) -> Updated {
    let mut fresh = Vec::new();
    let mut is_changed = false;
    let mut is_seen = vec![false; edge.flows.len()];
    for mut flow in seen {
        let Ok(at) = edge.flows.binary_search_by(|known| flow_cmp(&known.flow, &flow)) else {
            fresh.push(flow);
            continue;
        };
        is_seen[at] = true;
        let known = &mut edge.flows[at];
        settle_span(&mut flow, &known.flow);
        is_changed |= !known.live || known.flow != flow;
        known.live = true;
        known.last_seen_ms = known.last_seen_ms.max(now_ms);
        known.first_seen_ms = known.first_seen_ms.min(now_ms);
        known.lasts |= !is_passing(&flow, counts_traffic);
        known.flow = flow;
    }
    for (known, is_seen) in edge.flows.iter_mut().zip(is_seen) {
        if known.live && !is_seen {
            end_flow(known);
            is_changed = true;
        }
    }
    Updated { fresh, passed: take_passed(edge), is_changed }
}

#[cfg(test)]
mod tests;
