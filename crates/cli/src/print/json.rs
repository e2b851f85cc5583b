//! One JSON object per line (docs/formats/flow.md).

use std::io::{self, Write};

use portolan_hub::{EdgeRecord, Graph, Walk};
use serde::Serialize;

/// Writes one line per record.
pub fn records(records: impl Iterator<Item = EdgeRecord>, out: &mut impl Write) -> io::Result<()> {
    for record in records {
        line(&record, out)?;
    }
    Ok(())
}

/// A step of a walk, with the edge that it took.
#[derive(Serialize)]
struct Step<'a> {
    depth: u32,
    node: &'a str,
    name: &'a str,
    from: &'a str,
    again: bool,
    server_port: u16,
    network_transport: &'a str,
    connections: u64,
    live: bool,
    first_seen_ms: u64,
    last_seen_ms: u64,
}

/// Writes one line per step.
pub fn steps(graph: &Graph, walk: &Walk, out: &mut impl Write) -> io::Result<()> {
    for step in &walk.steps {
        let (edge, node) = (&graph.edges()[step.edge], &graph.nodes()[step.node]);
        let step = Step {
            depth: step.depth,
            node: &node.id,
            name: &node.name,
            from: &graph.nodes()[step.from].id,
            again: step.again,
            server_port: edge.server_port,
            network_transport: edge.transport.name(),
            connections: edge.connections(),
            live: edge.live(),
            first_seen_ms: edge.first_seen_ms(),
            last_seen_ms: edge.last_seen_ms(),
        };
        line(&step, out)?;
    }
    Ok(())
}

/// Writes one object as one line.
pub fn line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
