//! What keeps the graph from growing: age, and a limit on the number of nodes and flows.
//!
//! Only what has ended is dropped, the least recently seen first. Where everything is live, what
//! is new is refused and counted.

use std::{collections::HashSet, sync::Arc};

use super::{Changes, Live, is_due};
use crate::edge::{Edge, KnownFlow, pair_of};

/// How often old history is looked for, in milliseconds.
const PRUNE_MS: u64 = 60_000;

impl Live {
    /// What does not last takes the place of nothing.
    pub(super) fn has_room_for_node(&mut self, lasts: bool, changes: &mut Changes) -> bool {
        if lasts && self.nodes.len() >= self.limits.nodes_max {
            self.make_room(changes);
        }
        self.nodes.len() < self.limits.nodes_max
    }

    pub(super) fn has_room_for_flow(&mut self, lasts: bool, changes: &mut Changes) -> bool {
        if lasts && self.flows >= self.limits.flows_max {
            self.make_room(changes);
        }
        self.flows < self.limits.flows_max
    }

    /// Drops a tenth of what a limit allows at a time, so that a full map does not search for
    /// every single newcomer.
    fn make_room(&mut self, changes: &mut Changes) {
        if changes.has_made_room {
            return;
        }
        changes.has_made_room = true;
        let keep = |max: usize| max - max.div_ceil(10).min(max);
        let surplus = self.flows.saturating_sub(keep(self.limits.flows_max));
        self.drop_oldest_flows(surplus, changes);
        let surplus = self.nodes.len().saturating_sub(keep(self.limits.nodes_max));
        self.drop_oldest_nodes(surplus, changes);
    }

    /// Drops what ended longer ago than is remembered.
    pub(super) fn prune(&mut self, now_ms: u64, changes: &mut Changes) {
        if !is_due(self.pruned_ms, now_ms, PRUNE_MS) {
            return;
        }
        self.pruned_ms = now_ms;
        let before_ms = now_ms.saturating_sub(self.limits.retention_ms);
        self.drop_flows_before(before_ms, changes);
        let old = |id: &Arc<str>| self.nodes.get(id).is_some_and(|n| n.last_seen_ms < before_ms);
        let gone: HashSet<Arc<str>> = self
            .nodes
            .keys()
            .filter(|&id| !self.live_nodes.contains(id) && old(id))
            .cloned()
            .collect();
        self.drop_nodes(&gone, changes);
    }

    fn drop_oldest_flows(&mut self, count: usize, changes: &mut Changes) {
        let ended = self.edges.values().flat_map(|edge| &edge.flows).filter(|known| !known.live);
        let mut ages: Vec<u64> = ended.map(|known| known.last_seen_ms).collect();
        if count == 0 || ages.is_empty() {
            return;
        }
        let last = count.min(ages.len()) - 1;
        let (_, &mut newest_dropped, _) = ages.select_nth_unstable(last);
        // Those of the same age go together: there is no telling which of them matters more.
        self.drop_flows_before(newest_dropped.saturating_add(1), changes);
    }

    fn drop_flows_before(&mut self, before_ms: u64, changes: &mut Changes) {
        let is_old = |edge: &Arc<Edge>| {
            edge.flows.iter().any(|known| !known.live && known.last_seen_ms < before_ms)
        };
        let affected: Vec<Arc<str>> = self
            .edges
            .iter()
            .filter(|(_, edge)| is_old(edge))
            .map(|(id, _)| Arc::clone(id))
            .collect();
        for id in affected {
            let Some(edge) = self.edges.get_mut(&id) else { continue };
            let edge = Arc::make_mut(edge);
            let (kept, dropped) = std::mem::take(&mut edge.flows)
                .into_iter()
                .partition(|known| known.live || known.last_seen_ms >= before_ms);
            edge.flows = kept;
            let is_empty = edge.flows.is_empty();
            self.forget_pairs(&id, dropped);
            if is_empty {
                self.edges.remove(&id);
                changes.remove_edge(id);
            } else {
                changes.edge(id);
            }
        }
    }

    fn drop_oldest_nodes(&mut self, count: usize, changes: &mut Changes) {
        let mut ended: Vec<(u64, Arc<str>)> = self
            .nodes
            .iter()
            .filter(|(id, _)| !self.live_nodes.contains(*id))
            .map(|(id, node)| (node.last_seen_ms, Arc::clone(id)))
            .collect();
        ended.sort_unstable();
        let gone = ended.into_iter().take(count).map(|(_, id)| id).collect();
        self.drop_nodes(&gone, changes);
    }

    /// Drops nodes that are not live, with their edges, which therefore are not live either.
    fn drop_nodes(&mut self, gone: &HashSet<Arc<str>>, changes: &mut Changes) {
        if gone.is_empty() {
            return;
        }
        let touches = |edge: &Arc<Edge>| gone.contains(&edge.client) || gone.contains(&edge.server);
        let edges: Vec<Arc<Edge>> =
            self.edges.values().filter(|edge| touches(edge)).cloned().collect();
        for edge in edges {
            self.edges.remove(&edge.id);
            self.forget_pairs(&edge.id, edge.flows.clone());
            changes.remove_edge(Arc::clone(&edge.id));
        }
        for id in gone {
            self.nodes.remove(id);
            changes.remove_node(Arc::clone(id));
        }
    }

    /// Takes flows that were removed from an edge out of the index and the count.
    pub(super) fn forget_pairs(&mut self, id: &Arc<str>, dropped: Vec<KnownFlow>) {
        self.flows -= dropped.len();
        for known in dropped {
            let pair = pair_of(&known.flow);
            let remains = |edge: &Arc<Edge>| {
                edge.flows.binary_search_by(|known| pair_of(&known.flow).cmp(&pair)).is_ok()
            };
            if self.edges.get(id).is_some_and(remains) {
                continue;
            }
            if let Some(edges) = self.pairs.get_mut(&pair) {
                edges.retain(|edge| edge != id);
                if edges.is_empty() {
                    self.pairs.remove(&pair);
                }
            }
        }
    }
}
