//! The map as a Mermaid flow chart.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
};

use portolan_hub::Graph;

use super::table;

/// Writes the graph.
pub fn write(graph: &Graph, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "flowchart LR")?;
    let mut numbers = HashMap::new();
    for (at, node) in super::connected(graph) {
        numbers.insert(&node.id, at);
        writeln!(out, "  n{at}[\"{}\"]", escape(&table::name(graph, &node.id)))?;
    }
    for edge in graph.edges() {
        let (Some(client), Some(server)) = (numbers.get(&edge.client), numbers.get(&edge.server))
        else {
            continue;
        };
        let arrow = if edge.live() { "-->" } else { "-.->" };
        let label = escape(&super::port(edge.transport, edge.server_port));
        writeln!(out, "  n{client} {arrow}|\"{label}\"| n{server}")?;
    }
    Ok(())
}

/// Text inside Mermaid's quotes: everything that could end it, or be markup, as a character code.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in portolan_hub::printable(text).chars() {
        if c.is_alphanumeric() || " .-_/:@()[]*,".contains(c) {
            escaped.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "#{};", u32::from(c));
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
