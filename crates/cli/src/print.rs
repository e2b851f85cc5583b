//! How results look: text for people, JSON for programs, graphs for other tools.

pub mod amount;
pub mod dot;
pub mod fit;
pub mod json;
pub mod mermaid;
#[cfg(test)]
pub mod sample;
pub mod table;
pub mod traffic;
pub mod tree;

use std::{io, process::ExitCode};

use portolan_flow::{Transport, service_name};
use portolan_hub::{Direction, Edge, Graph, Node, printable};
use portolan_sys::terminal;

/// Writes a line to stderr. What cannot be told there, a full device say, is not worth the end of
/// the work.
macro_rules! tell {
    ($($line:tt)*) => {{
        // There is nowhere left to say that this failed.
        let _ = std::io::Write::write_fmt(
            &mut anstream::stderr(),
            format_args!("{}\n", format_args!($($line)*)),
        );
    }};
}

/// The width to write for: the terminal's, or none where nobody looks.
pub fn terminal_width() -> Option<usize> {
    terminal::size().map(|(columns, _)| usize::from(columns))
}

/// Says why the program ends early, and with which exit code it does. A reader that closes the
/// pipe is no error.
pub fn ending(error: &anyhow::Error) -> ExitCode {
    let is_closed_pipe = |io: &io::Error| io.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().any(|cause| cause.downcast_ref().is_some_and(is_closed_pipe)) {
        return ExitCode::SUCCESS;
    }
    tell!("portolan: {}", self::error(error));
    ExitCode::from(2)
}

/// The error and its causes; some errors of libraries already spell theirs out.
pub fn error(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// What a reading could not see, on standard error.
pub fn warnings(graph: &Graph) {
    for warning in &graph.header().warnings {
        tell!("portolan: {}", printable(warning));
    }
}

/// The nodes that have an edge, with their positions: a picture of the graph is not a list of
/// listeners.
pub fn connected(graph: &Graph) -> impl Iterator<Item = (usize, &Node)> {
    let has_edge = |at: usize| {
        [Direction::Dependents, Direction::Dependencies]
            .iter()
            .any(|&direction| !graph.edges_at(at, direction).is_empty())
    };
    let nodes = graph.nodes().iter().enumerate();
    nodes.filter(move |&(at, _)| has_edge(at)).map(|(at, node)| (at, &**node))
}

/// `5432/tcp postgresql`.
pub fn port(transport: Transport, port: u16) -> String {
    match service_name(transport, port) {
        Some(service) => format!("{port}/{transport} {service}"),
        None => format!("{port}/{transport}"),
    }
}

/// `2 connections, 1 opening, 120/s new, 5 refused`; for what ended, when it was seen last.
pub fn activity(edge: &Edge, now_ms: u64) -> String {
    if !edge.live() {
        return format!("seen {} ago", span(now_ms.saturating_sub(edge.last_seen_ms())));
    }
    let mut parts = Vec::new();
    let mut count = |count: u64, one: &str, many: &str| {
        if count > 0 {
            parts.push(format!("{count} {}", if count == 1 { one } else { many }));
        }
    };
    count(edge.connections(), "connection", "connections");
    count(edge.opening(), "opening", "opening");
    count(just_closed(edge), "just closed", "just closed");
    if let Some(sum) = edge.traffic() {
        parts.extend(traffic::parts(&sum));
    }
    parts.join(", ")
}

/// Connections that ended lately: in TIME-WAIT, or, where that end is another host's, in the span
/// that was counted. Of connections that come and go all the time the rate says enough.
fn just_closed(edge: &Edge) -> u64 {
    match edge.time_wait() {
        0 => edge.traffic().filter(|sum| sum.opened() == 0).map_or(0, |sum| sum.active.closed),
        count => count,
    }
}

/// A length of time in its largest unit: `5s`, `3m`, `2h`, `4d`.
pub fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
