//! The map in Graphviz's language.

use std::io::{self, Write};

use portolan_hub::{Edge, Graph, Kind};

use super::{table, traffic};

/// Writes the graph.
pub fn write(graph: &Graph, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "digraph portolan {{")?;
    writeln!(out, "  rankdir=LR;")?;
    writeln!(out, "  node [fontname=\"sans-serif\", shape=box, style=rounded];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=10];")?;
    for (_, node) in super::connected(graph) {
        let (id, name) = (quote(&node.id), quote(&table::name(graph, &node.id)));
        writeln!(out, "  {id} [label={name}, shape={}];", shape(node.kind))?;
    }
    for edge in graph.edges() {
        let style = if !edge.live() {
            "style=dashed"
        } else if edge.failing() {
            "style=dashed, color=red, fontcolor=red"
        } else {
            "style=solid"
        };
        let (client, server) = (quote(&edge.client), quote(&edge.server));
        writeln!(out, "  {client} -> {server} [label={}, {style}];", quote_lines(&label(edge)))?;
    }
    writeln!(out, "}}")
}

/// The port, and below it what goes over the edge.
fn label(edge: &Edge) -> Vec<String> {
    let port = super::port(edge.transport, edge.server_port);
    let parts = edge.traffic().map(|sum| traffic::parts(&sum)).unwrap_or_default();
    let traffic = (!parts.is_empty()).then(|| parts.join(", "));
    std::iter::once(port).chain(traffic).collect()
}

fn shape(kind: Kind) -> &'static str {
    match kind {
        Kind::Container => "box3d",
        Kind::Unit => "component",
        Kind::Process => "box",
        Kind::User => "oval",
        Kind::Address => "plaintext",
    }
}

/// A quoted string of the DOT language. Names come from outside: quotes are escaped, a backslash
/// would start an escape of Graphviz's own, and control characters are spelled out.
fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// Several lines as a quoted string.
fn quote_lines(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
    format!("\"{}\"", lines.join("\\n"))
}

fn escape(text: &str) -> String {
    portolan_hub::printable(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests;
