//! What a reading changed.

use std::{collections::BTreeSet, sync::Arc};

use super::{Limits, Live};
use crate::{
    api::{API_VERSION, DeltaReply, Node},
    edge::Edge,
};

/// The difference between two revisions of the graph. Nodes and edges come whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// The revision that it leads to; the current one if it is empty.
    pub revision: u64,
    /// When the reading was taken, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// All warnings that hold now.
    pub warnings: Vec<String>,
    /// New and changed nodes.
    pub nodes: Vec<Arc<Node>>,
    /// New and changed edges.
    pub edges: Vec<Arc<Edge>>,
    /// The ids of nodes that are forgotten.
    pub removed_nodes: Vec<Arc<str>>,
    /// The ids of edges that are forgotten.
    pub removed_edges: Vec<Arc<str>>,
    /// Something else is to be told: warnings or the method changed, or it was quiet for long.
    is_news: bool,
    /// What a delta does not carry has changed: the method. Readers need the graph.
    pub(crate) needs_graph: bool,
}

impl Delta {
    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.is_news
            && self.nodes.is_empty()
            && self.edges.is_empty()
            && self.removed_nodes.is_empty()
            && self.removed_edges.is_empty()
    }

    /// The delta as the API shows it.
    #[must_use]
    pub fn reply(&self) -> DeltaReply {
        DeltaReply {
            version: API_VERSION,
            revision: self.revision,
            now_ms: self.now_ms,
            warnings: self.warnings.clone(),
            nodes: self.nodes.clone(),
            edges: self.edges.iter().map(|edge| edge.reply(0)).collect(),
            removed_nodes: self.removed_nodes.clone(),
            removed_edges: self.removed_edges.clone(),
        }
    }
}

/// What else there is to tell beside nodes and edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// Warnings, or that time has passed.
    Header,
    /// How readings are taken.
    Method,
}

/// What one reading has changed so far. What was said last about an id holds.
#[derive(Debug, Default)]
pub(super) struct Changes {
    nodes: BTreeSet<Arc<str>>,
    edges: BTreeSet<Arc<str>>,
    removed_nodes: BTreeSet<Arc<str>>,
    removed_edges: BTreeSet<Arc<str>>,
    /// Nodes and flows that found no room.
    pub refused: u64,
    /// Room was made once; a second search would find nothing.
    pub has_made_room: bool,
}

impl Changes {
    pub fn node(&mut self, id: Arc<str>) {
        self.removed_nodes.remove(&id);
        self.nodes.insert(id);
    }

    pub fn edge(&mut self, id: Arc<str>) {
        self.removed_edges.remove(&id);
        self.edges.insert(id);
    }

    pub fn remove_node(&mut self, id: Arc<str>) {
        self.nodes.remove(&id);
        self.removed_nodes.insert(id);
    }

    pub fn remove_edge(&mut self, id: Arc<str>) {
        self.edges.remove(&id);
        self.removed_edges.insert(id);
    }

    /// The warning about what found no room.
    pub fn refusal(&self, limits: Limits) -> Option<String> {
        (self.refused > 0).then(|| {
            format!(
                "the map is full: {} nodes and flows of this reading are left out; it holds at \
                 most {} nodes and {} flows",
                self.refused, limits.nodes_max, limits.flows_max
            )
        })
    }
}

impl Live {
    /// Closes a reading: counts the revision up if there is something to tell.
    pub(super) fn delta(&mut self, changes: Changes, news: News) -> Delta {
        let nodes = changes.nodes.iter().filter_map(|id| self.nodes.get(id).cloned()).collect();
        let edges = changes.edges.iter().filter_map(|id| self.edges.get(id).cloned()).collect();
        let mut delta = Delta {
            revision: self.header.revision,
            now_ms: self.header.now_ms,
            warnings: self.header.warnings.clone(),
            nodes,
            edges,
            removed_nodes: changes.removed_nodes.into_iter().collect(),
            removed_edges: changes.removed_edges.into_iter().collect(),
            is_news: news != News::None,
            needs_graph: news == News::Method,
        };
        if !delta.is_empty() {
            self.header.revision += 1;
            delta.revision = self.header.revision;
        }
        delta
    }
}
