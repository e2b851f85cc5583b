//! The graph of one moment: nodes, edges, and which edges meet at a node.
//!
//! A [`Graph`] does not change. It shares its nodes and edges with the live graph that it was
//! taken from, so taking one is cheap, and whatever is done with it holds no lock.

use std::{collections::HashMap, sync::Arc};

use crate::{
    api::{API_VERSION, EdgeRecord, GraphReply, Node},
    edge::Edge,
};

/// Facts about the reading that a graph comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Grows by one with every change that was announced.
    pub revision: u64,
    /// When the last reading was taken, in milliseconds since the Unix epoch; 0 before the first.
    pub now_ms: u64,
    /// The time between two readings, in milliseconds.
    pub interval_ms: u64,
    /// The name of the host.
    pub host: String,
    /// How the sockets were read, for people.
    pub method: String,
    /// What the graph leaves out and why, for people.
    pub warnings: Vec<String>,
}

/// Which way to walk along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a server to its clients: what breaks if this stops.
    Dependents,
    /// From a client to its servers: what this needs.
    Dependencies,
}

/// The edges at each node, as ranges of one list: linear in size, and built in linear time.
#[derive(Clone, Debug, Default)]
struct Adjacency {
    starts: Vec<usize>,
    edges: Vec<usize>,
}

impl Adjacency {
    /// `end_of` is the node at which each edge is listed. Keeps the order of the edges.
    fn new(nodes: usize, end_of: &[usize]) -> Self {
        let mut starts = vec![0; nodes + 1];
        for &node in end_of {
            starts[node + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; end_of.len()];
        for (edge, &node) in end_of.iter().enumerate() {
            edges[next[node]] = edge;
            next[node] += 1;
        }
        Self { starts, edges }
    }

    fn at(&self, node: usize) -> &[usize] {
        &self.edges[self.starts[node]..self.starts[node + 1]]
    }
}

/// Nodes and edges of one moment, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    header: Header,
    since_ms: u64,
    nodes: Vec<Arc<Node>>,
    edges: Vec<Arc<Edge>>,
    by_id: HashMap<Arc<str>, usize>,
    clients: Vec<usize>,
    servers: Vec<usize>,
    as_client: Adjacency,
    as_server: Adjacency,
}

impl Graph {
    /// A graph of these nodes and edges, with only what is live or was seen at or after
    /// `since_ms`. An edge whose node is missing is left out. Takes linear time if the input is
    /// in order.
    #[must_use]
    pub fn new(
        header: Header,
        since_ms: u64,
        mut nodes: Vec<Arc<Node>>,
        mut edges: Vec<Arc<Edge>>,
    ) -> Self {
        nodes.retain(|node| node.live || node.last_seen_ms >= since_ms);
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        nodes.dedup_by(|a, b| a.id == b.id);
        let by_id: HashMap<Arc<str>, usize> =
            nodes.iter().enumerate().map(|(at, node)| (Arc::clone(&node.id), at)).collect();
        edges.retain(|edge| {
            let ends_known = by_id.contains_key(&edge.client) && by_id.contains_key(&edge.server);
            ends_known && edge.seen_since(since_ms)
        });
        edges.sort_by(|a, b| a.id.cmp(&b.id));
        let clients: Vec<usize> = edges.iter().map(|edge| by_id[&edge.client]).collect();
        let servers: Vec<usize> = edges.iter().map(|edge| by_id[&edge.server]).collect();
        let as_client = Adjacency::new(nodes.len(), &clients);
        let as_server = Adjacency::new(nodes.len(), &servers);
        Self { header, since_ms, nodes, edges, by_id, clients, servers, as_client, as_server }
    }

    /// Where the graph comes from.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All nodes, in the order of their ids; other methods count from 0 in this list.
    #[must_use]
    pub fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// All edges, in the order of their ids; other methods count from 0 in this list.
    #[must_use]
    pub fn edges(&self) -> &[Arc<Edge>] {
        &self.edges
    }

    /// The position of the node with this id.
    #[must_use]
    pub fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The node with this id.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.position(id).map(|at| &*self.nodes[at])
    }

    /// The edges at which a node is the server (for dependents) or the client, in order.
    ///
    /// # Panics
    /// If there is no node at this position.
    #[must_use]
    pub fn edges_at(&self, node: usize, direction: Direction) -> &[usize] {
        match direction {
            Direction::Dependents => self.as_server.at(node),
            Direction::Dependencies => self.as_client.at(node),
        }
    }

    /// The node at the far end of an edge.
    ///
    /// # Panics
    /// If there is no edge at this position.
    #[must_use]
    pub fn far_end(&self, edge: usize, direction: Direction) -> usize {
        match direction {
            Direction::Dependents => self.clients[edge],
            Direction::Dependencies => self.servers[edge],
        }
    }

    /// The flat records of all edges, in order.
    pub fn records(&self) -> impl Iterator<Item = EdgeRecord> {
        self.edges.iter().flat_map(|edge| edge.records(self.since_ms))
    }

    /// The graph as the API shows it.
    #[must_use]
    pub fn reply(&self) -> GraphReply {
        let header = self.header.clone();
        GraphReply {
            version: API_VERSION,
            revision: header.revision,
            now_ms: header.now_ms,
            interval_ms: header.interval_ms,
            host: header.host,
            method: header.method,
            warnings: header.warnings,
            nodes: self.nodes.clone(),
            edges: self.edges.iter().map(|edge| edge.reply(self.since_ms)).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
