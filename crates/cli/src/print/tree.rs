//! Who depends on whom, as a tree.

use std::io::{self, Write};

use portolan_hub::{Direction, Graph, Step, Walk, printable};

use super::table;

/// Writes the walk: the roots, and under each the steps that lead away from it.
pub fn write(
    graph: &Graph,
    walk: &Walk,
    direction: Direction,
    out: &mut impl Write,
) -> io::Result<()> {
    let last = last_children(&walk.steps);
    let mut steps = walk.steps.iter().zip(last).peekable();
    for &root in &walk.roots {
        writeln!(out, "{}", root_line(graph, root))?;
        let mut open = Vec::new();
        while let Some((step, is_last)) =
            steps.next_if(|(step, _)| step.depth > 1 || step.from == root)
        {
            let depth = usize::try_from(step.depth).unwrap_or(usize::MAX);
            open.truncate(depth - 1);
            let indent: String =
                open.iter().map(|&open| if open { "│   " } else { "    " }).collect();
            let branch = if is_last { "└── " } else { "├── " };
            writeln!(out, "{indent}{branch}{}", step_line(graph, step, direction))?;
            open.push(!is_last);
        }
    }
    Ok(())
}

fn root_line(graph: &Graph, root: usize) -> String {
    let node = &graph.nodes()[root];
    let mut line = table::name(graph, &node.id);
    let mut ports: Vec<String> = node
        .listening
        .iter()
        .map(|listening| super::port(listening.transport, listening.port))
        .collect();
    ports.sort();
    ports.dedup();
    if !ports.is_empty() {
        line.push_str("  listens on ");
        line.push_str(&ports.join(", "));
    }
    line
}

fn step_line(graph: &Graph, step: &Step, direction: Direction) -> String {
    let (edge, node) = (&graph.edges()[step.edge], &graph.nodes()[step.node]);
    let name = table::name(graph, &node.id);
    let kind = printable(node.kind.name());
    let verb = match direction {
        Direction::Dependents => "uses",
        Direction::Dependencies => "on",
    };
    let port = super::port(edge.transport, edge.server_port);
    let activity = super::activity(edge, graph.header().now_ms);
    let again = if step.again { "  (listed elsewhere)" } else { "" };
    format!("{name} ({kind})  {verb} {port}  {activity}{again}")
}

/// For each step whether no sibling follows: no step of the same depth before one of a lower.
fn last_children(steps: &[Step]) -> Vec<bool> {
    let mut last = vec![true; steps.len()];
    // The parent under which a step of each depth was seen, going backwards.
    let mut seen: Vec<Option<usize>> = Vec::new();
    for (at, step) in steps.iter().enumerate().rev() {
        let depth = usize::try_from(step.depth).unwrap_or(usize::MAX);
        if seen.len() <= depth {
            seen.resize(depth + 1, None);
        }
        last[at] = seen[depth] != Some(step.from);
        seen[depth] = Some(step.from);
        seen.truncate(depth + 1);
    }
    last
}

#[cfg(test)]
mod tests;
