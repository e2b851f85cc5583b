//! From what a person types to nodes of the graph.
//!
//! The most exact reading wins: a node id; then an address, a port, or both; then a name; then a
//! container id; then a well-known service. What only resembles is offered, never taken.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use portolan_flow::service_port;

use crate::{
    api::{Kind, Listening, Node},
    graph::{Direction, Graph},
    identity::printable,
};

/// How many names an error suggests.
const SUGGESTIONS_MAX: usize = 8;

/// The shortest beginning of a container id that is taken for one.
const CONTAINER_PREFIX_MIN: usize = 4;

/// The nodes that a question is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Positions in [`Graph::nodes`], in order; never empty when it comes from [`Graph::select`].
    pub nodes: Vec<usize>,
    /// Only this port of them was asked about.
    pub port: Option<u16>,
}

/// Nothing in the graph is called that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct SelectError {
    /// What was asked for.
    pub of: String,
    /// Names in the graph that contain it, in order.
    pub suggestions: Vec<String>,
}

impl SelectError {
    fn text(&self) -> String {
        let of = printable(&self.of);
        if self.suggestions.is_empty() {
            return format!(
                "nothing on the map is called \"{of}\": give a name, a node id, ADDRESS, \
                 ADDRESS:PORT or :PORT; what has not been seen yet is not on the map"
            );
        }
        let names: Vec<_> = self.suggestions.iter().map(|name| printable(name)).collect();
        format!("nothing on the map is called \"{of}\"; did you mean {}?", names.join(", "))
    }
}

impl Graph {
    /// The nodes that `of` means: a node id, a name (of a node, a process, a unit with or without
    /// `.service`, a container by the beginning of its id, a well-known service), `ADDRESS`,
    /// `ADDRESS:PORT`, `[ADDRESS]:PORT` or `:PORT`. Case does not matter.
    ///
    /// # Errors
    /// If nothing is called that; the error carries names that come close.
    pub fn select(&self, of: &str) -> Result<Selection, SelectError> {
        let of = of.trim();
        let nodes = |nodes: Vec<usize>| Selection { nodes, port: None };
        if let Some(at) = self.position(of) {
            return Ok(nodes(vec![at]));
        }
        let found = if let Some((address, port)) = parse_port(of) {
            Selection { nodes: self.serving(address, port), port: Some(port) }
        } else if let Ok(address) = of.trim_matches(['[', ']']).parse::<IpAddr>() {
            let address = address.to_canonical();
            nodes(self.find(|node| node.addresses.contains(&address)))
        } else {
            self.select_by_name(of)
        };
        if found.nodes.is_empty() { Err(self.no_match(of)) } else { Ok(found) }
    }

    fn select_by_name(&self, of: &str) -> Selection {
        let wanted = of.to_lowercase();
        let mut nodes = Vec::new();
        if !wanted.is_empty() {
            nodes = self.find(|node| is_called(node, &wanted));
        }
        if nodes.is_empty() && wanted.len() >= CONTAINER_PREFIX_MIN {
            nodes = self.find(|node| {
                node.kind == Kind::Container
                    && node.container.as_ref().is_some_and(|id| id.starts_with(&wanted))
            });
        }
        if nodes.is_empty()
            && let Some(port) = service_port(&wanted)
        {
            return Selection { nodes: self.serving(None, port), port: Some(port) };
        }
        Selection { nodes, port: None }
    }

    /// The nodes that serve on a port, as far as listeners and edges show.
    fn serving(&self, address: Option<IpAddr>, port: u16) -> Vec<usize> {
        let mut found = BTreeSet::new();
        for (at, node) in self.nodes().iter().enumerate() {
            if node.listening.iter().any(|listening| accepts(node, listening, address, port)) {
                found.insert(at);
            }
        }
        for (at, edge) in self.edges().iter().enumerate() {
            let reached =
                |wanted: IpAddr| edge.flows.iter().any(|known| known.flow.server.address == wanted);
            if edge.server_port == port && address.is_none_or(reached) {
                found.insert(self.far_end(at, Direction::Dependencies));
            }
        }
        found.into_iter().collect()
    }

    fn find(&self, is_meant: impl Fn(&Node) -> bool) -> Vec<usize> {
        let meant = |(_, node): &(usize, &Arc<Node>)| is_meant(node);
        self.nodes().iter().enumerate().filter(meant).map(|(at, _)| at).collect()
    }

    fn no_match(&self, of: &str) -> SelectError {
        let wanted = of.to_lowercase();
        let resembles =
            |node: &&Arc<Node>| names(node).any(|name| name.to_lowercase().contains(&wanted));
        let mut suggestions: Vec<String> = Vec::new();
        if !wanted.is_empty() {
            let close = self.nodes().iter().filter(resembles).map(|node| node.name.clone());
            suggestions.extend(close.collect::<BTreeSet<_>>().into_iter().take(SUGGESTIONS_MAX));
        }
        SelectError { of: of.to_owned(), suggestions }
    }
}

/// `:PORT`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
fn parse_port(of: &str) -> Option<(Option<IpAddr>, u16)> {
    if let Some(port) = of.strip_prefix(':')
        && let Ok(port) = port.parse()
    {
        return Some((None, port));
    }
    let socket: SocketAddr = of.parse().ok()?;
    Some((Some(socket.ip().to_canonical()), socket.port()))
}

/// Whether a listener accepts what is sent to `address` (any, if there is none).
fn accepts(node: &Node, listening: &Listening, address: Option<IpAddr>, port: u16) -> bool {
    if listening.port != port {
        return false;
    }
    address.is_none_or(|wanted| {
        let everywhere =
            listening.address.is_unspecified() && (listening.address.is_ipv6() || wanted.is_ipv4());
        let here = wanted.is_loopback() || node.addresses.contains(&wanted);
        listening.address == wanted || (everywhere && here)
    })
}

/// Everything that a node is called.
fn names(node: &Node) -> impl Iterator<Item = &str> {
    let own = [Some(&node.name), node.unit.as_ref(), node.user.as_ref(), node.container.as_ref()];
    own.into_iter().flatten().chain(&node.processes).map(String::as_str)
}

/// `wanted` is in lower case.
fn is_called(node: &Node, wanted: &str) -> bool {
    let is_wanted = |name: &str| name.to_lowercase() == wanted;
    names(node).any(is_wanted)
        || node.unit.as_ref().is_some_and(|unit| {
            unit.rsplit_once('.').is_some_and(|(stem, _suffix)| is_wanted(stem))
        })
}

#[cfg(test)]
mod tests;
