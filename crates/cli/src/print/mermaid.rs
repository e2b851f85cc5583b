//! The map as a Mermaid flow chart.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
};

use portolan_hub::Graph;

use super::{table, traffic};

/// Writes the graph.
pub fn write(graph: &Graph, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "flowchart LR")?;
    let mut numbers = HashMap::new();
    for (at, node) in super::connected(graph) {
        numbers.insert(&node.id, at);
        writeln!(out, "  n{at}[\"{}\"]", escape(&table::name(graph, &node.id)))?;
    }
    let mut failing = Vec::new();
    let mut count = 0_usize;
    for edge in graph.edges() {
        let (Some(client), Some(server)) = (numbers.get(&edge.client), numbers.get(&edge.server))
        else {
            continue;
        };
        let arrow = if edge.live() && !edge.failing() { "-->" } else { "-.->" };
        let mut label = escape(&super::port(edge.transport, edge.server_port));
        let parts = edge.traffic().map(|sum| traffic::parts(&sum)).unwrap_or_default();
        if !parts.is_empty() {
            label.push_str("<br/>");
            label.push_str(&escape(&parts.join(", ")));
        }
        writeln!(out, "  n{client} {arrow}|\"{label}\"| n{server}")?;
        if edge.failing() {
            failing.push(count.to_string());
        }
        count += 1;
    }
    if !failing.is_empty() {
        writeln!(out, "  linkStyle {} stroke:red,color:red", failing.join(","))?;
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
