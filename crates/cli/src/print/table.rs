//! The map as a table: one line per edge.

use std::io::{self, Write};

use portolan_hub::{Edge, Graph, printable};

use super::{
    fit::{self, Column},
    traffic,
};

const fn column(heading: &'static str, leave_out: u8, right: bool, shrinks: bool) -> Column {
    Column { heading, leave_out, extra: false, right, shrinks }
}

/// A column that names are not cut short for.
const fn extra(column: Column) -> Column {
    Column { extra: true, ..column }
}

const COLUMNS: [Column; 6] = [
    column("CLIENT", 0, false, true),
    column("SERVER", 0, false, true),
    column("PORT", 0, false, true),
    column("CONNS", 4, true, false),
    column("STATE", 3, false, false),
    column("SINCE", 2, true, false),
];

/// The columns where traffic is counted.
const TRAFFIC_COLUMNS: [Column; 9] = [
    column("CLIENT", 0, false, true),
    column("SERVER", 0, false, true),
    column("PORT", 0, false, true),
    column("CONNS", 6, true, false),
    column("NEW/S", 4, true, false),
    extra(column("BYTES/S", 3, true, false)),
    extra(column("RTT", 2, true, false)),
    column("STATE", 5, false, false),
    extra(column("SINCE", 1, true, false)),
];

/// Writes the table of all edges, in `width` columns; unlimited where nobody looks.
pub fn write(graph: &Graph, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    for line in lines(graph, graph.edges().iter().map(AsRef::as_ref), width) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The lines of a table of some edges of the graph, heading first.
pub fn lines<'a>(
    graph: &'a Graph,
    edges: impl Iterator<Item = &'a Edge> + Clone,
    width: Option<usize>,
) -> Vec<String> {
    let narrow = || narrow(graph, edges.clone(), width.unwrap_or(0));
    // All of the graph, or columns would come and go with what is scrolled into sight.
    if graph.edges().iter().any(|edge| edge.counts_traffic()) {
        let rows: Vec<[String; 9]> = edges.clone().map(|edge| traffic_row(graph, edge)).collect();
        fit::lines(&TRAFFIC_COLUMNS, &rows, width).unwrap_or_else(narrow)
    } else {
        let rows: Vec<[String; 6]> = edges.clone().map(|edge| row(graph, edge)).collect();
        fit::lines(&COLUMNS, &rows, width).unwrap_or_else(narrow)
    }
}

fn row(graph: &Graph, edge: &Edge) -> [String; 6] {
    let now_ms = graph.header().now_ms;
    let guess = if edge.direction_guessed() { "?" } else { "" };
    [
        name(graph, &edge.client),
        name(graph, &edge.server),
        super::port(edge.transport, edge.server_port) + guess,
        edge.connections().to_string(),
        state(edge, now_ms),
        super::span(now_ms.saturating_sub(edge.first_seen_ms())),
    ]
}

fn traffic_row(graph: &Graph, edge: &Edge) -> [String; 9] {
    let [client, server, port, connections, state, since] = row(graph, edge);
    let [opened, bytes, rtt] = edge.traffic().map(|sum| traffic::cells(&sum)).unwrap_or_default();
    [client, server, port, connections, opened, bytes, rtt, state, since]
}

/// What the numbers do not say.
fn state(edge: &Edge, now_ms: u64) -> String {
    if !edge.live() {
        return super::activity(edge, now_ms);
    }
    let mut parts = Vec::new();
    if edge.connections() > 0 {
        parts.push("up".to_owned());
    }
    if edge.opening() > 0 {
        parts.push(format!("{} opening", edge.opening()));
    }
    if edge.connections() == 0 && super::just_closed(edge) > 0 {
        parts.push(format!("{} just closed", super::just_closed(edge)));
    }
    if let Some(sum) = edge.traffic() {
        parts.extend(traffic::troubles(&sum));
    }
    parts.join(", ")
}

/// The name of a node as a terminal may show it.
pub fn name(graph: &Graph, id: &str) -> String {
    let Some(node) = graph.node(id) else { return printable(id).into_owned() };
    let name = printable(&node.name);
    match node.namespace.as_deref() {
        Some(namespace) if namespace != "host" && !name.contains(namespace) => {
            format!("{name} ({})", printable(namespace))
        }
        _ => name.into_owned(),
    }
}

/// For terminals too narrow for a table: an edge takes two lines, cut where they must be.
fn narrow<'a>(graph: &Graph, edges: impl Iterator<Item = &'a Edge>, width: usize) -> Vec<String> {
    let heading = fit::cut("CLIENT > SERVER", width);
    let lines = edges.flat_map(|edge| {
        let port = super::port(edge.transport, edge.server_port);
        [
            fit::cut(&name(graph, &edge.client), width),
            fit::cut(&format!("> {} {port}", name(graph, &edge.server)), width),
        ]
    });
    std::iter::once(heading).chain(lines).collect()
}

#[cfg(test)]
mod tests;
