//! Between the live graph and the store: what was known comes in once, what is new goes out.

use std::{cmp::Reverse, sync::Arc};

use portolan_flow::Flow;

use super::{Live, sighting};
use crate::{
    edge::{Edge, KnownFlow, flow_cmp, without_counts},
    identity::{Identity, client_of, listener_of, server_of},
    store::{Rows, Seen},
};

impl Live {
    /// Takes in what the store knows. To be called once, before the first reading. The oldest rows
    /// are left out where there are more than the limits allow.
    pub fn restore(&mut self, mut rows: Rows) {
        rows.edges.sort_by_key(|row| Reverse(row.last_seen_ms));
        rows.listeners.sort_by_key(|row| Reverse(row.last_seen_ms));
        for row in rows.edges {
            self.restore_flow(row);
        }
        for row in rows.listeners {
            let identity = listener_of(&row.what, &self.users);
            let Some(id) = self.restore_node(identity, row.first_seen_ms, row.last_seen_ms) else {
                continue;
            };
            let Some(node) = self.nodes.get_mut(&id) else { continue };
            let node = Arc::make_mut(node);
            sighting::remember(node, &row.what.end);
            // What it listened on when it was seen last; earlier ports are of no use.
            if row.last_seen_ms == node.last_seen_ms {
                sighting::remember_listening(node, &row.what);
            }
        }
    }

    fn restore_flow(&mut self, row: Seen<Flow>) {
        if self.flows >= self.limits.flows_max {
            return;
        }
        let Seen { what: flow, first_seen_ms, last_seen_ms } = row;
        let client = client_of(&flow, &self.users);
        let server = server_of(&flow, &self.users);
        let id = Edge::id_of(&client.id, &server.id, flow.server_port, flow.transport);
        for (identity, end) in [(&client, &flow.client), (&server, &flow.server)] {
            let Some(id) = self.restore_node(identity.clone(), first_seen_ms, last_seen_ms) else {
                return;
            };
            if let Some(node) = self.nodes.get_mut(&id) {
                sighting::remember(Arc::make_mut(node), end);
            }
        }
        let saved_ms = Some(last_seen_ms);
        let known =
            KnownFlow { flow, first_seen_ms, last_seen_ms, live: false, saved_ms, lasts: true };
        self.insert_flow(&id.into(), &client.id, &server.id, known);
    }

    fn restore_node(&mut self, identity: Identity, first: u64, last: u64) -> Option<Arc<str>> {
        let id = Arc::clone(&identity.id);
        if let Some(node) = self.nodes.get_mut(&id) {
            let node = Arc::make_mut(node);
            node.first_seen_ms = node.first_seen_ms.min(first);
            node.last_seen_ms = node.last_seen_ms.max(last);
        } else if self.nodes.len() < self.limits.nodes_max {
            let mut node = sighting::empty_node(identity, last);
            node.first_seen_ms = first;
            self.nodes.insert(Arc::clone(&id), Arc::new(node));
        } else {
            return None;
        }
        Some(id)
    }

    /// The flows among `edges`, and the listeners, that the store has never seen.
    #[must_use]
    pub fn unsaved(&self, edges: &[Arc<Edge>]) -> Rows {
        let fresh = |known: &&KnownFlow| known.lasts && known.saved_ms.is_none();
        let rows = edges.iter().flat_map(|edge| &edge.flows).filter(fresh).map(row);
        Rows { edges: rows.collect(), listeners: self.listeners.unsaved() }
    }

    /// Everything that the store does not have, or has with an older time.
    #[must_use]
    pub fn outdated(&self) -> Rows {
        let outdated =
            |known: &&KnownFlow| known.lasts && known.saved_ms != Some(known.last_seen_ms);
        let flows = self.edges.values().flat_map(|edge| &edge.flows).filter(outdated).map(row);
        Rows { edges: flows.collect(), listeners: self.listeners.outdated() }
    }

    /// Notes that the store has these rows now.
    pub fn mark_saved(&mut self, rows: &Rows) {
        self.listeners.mark_saved(&rows.listeners);
        for row in &rows.edges {
            let flow = &row.what;
            let client = client_of(flow, &self.users).id;
            let server = server_of(flow, &self.users).id;
            let id = Edge::id_of(&client, &server, flow.server_port, flow.transport);
            if let Some(edge) = self.edges.get_mut(&*id) {
                let flows = &mut Arc::make_mut(edge).flows;
                if let Ok(at) = flows.binary_search_by(|known| flow_cmp(&known.flow, flow)) {
                    flows[at].saved_ms = Some(row.last_seen_ms);
                }
            }
        }
    }

    /// Notes that the store has nothing any more.
    pub fn mark_unsaved(&mut self) {
        self.listeners.mark_unsaved();
        for edge in self.edges.values_mut() {
            Arc::make_mut(edge).flows.iter_mut().for_each(|known| known.saved_ms = None);
        }
    }
}

fn row(known: &KnownFlow) -> Seen<Flow> {
    Seen {
        what: without_counts(&known.flow),
        first_seen_ms: known.first_seen_ms,
        last_seen_ms: known.last_seen_ms,
    }
}
