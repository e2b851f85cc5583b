//! The map in Graphviz's language.

use std::io::{self, Write};

use portolan_hub::{Graph, Kind};

use super::table;

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
        let label = super::port(edge.transport, edge.server_port);
        let style = if edge.live() { "solid" } else { "dashed" };
        writeln!(
            out,
            "  {} -> {} [label={}, style={style}];",
            quote(&edge.client),
            quote(&edge.server),
            quote(&label)
        )?;
    }
    writeln!(out, "}}")
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
    let text = portolan_hub::printable(text);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
