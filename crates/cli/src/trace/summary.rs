//! An interval: what is shown of it, and what it comes to.

use portolan_flow::{Flow, Totals, Traffic};
use portolan_sys::clock;

use super::{config::Config, figures::Figures, pick::has_words, watch::Observed};
use crate::print::amount::narrow;

/// An interval.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Those that are shown.
    pub flows: Vec<Flow>,
    pub summary: Summary,
}

/// What an interval comes to, shown or not.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// When it ended, in milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// How long it was.
    pub interval_ms: u64,
    /// Edges in scope.
    pub edges: usize,
    /// TCP ports that listen, of all namespaces.
    pub listeners: usize,
    /// Connections that are up.
    pub up: u64,
    /// What went over all edges, each event counted once; nothing where the method does not count.
    pub traffic: Option<Traffic>,
    /// The same, as each end counted it.
    pub ends: Traffic,
    /// The sum of all edges that found no room, as each end counted it.
    pub overflow: Totals,
    /// What is missing, by reason.
    pub losses: Vec<(&'static str, u64)>,
}

impl Interval {
    /// What was observed, as far as it is asked for and has these words.
    pub fn of(observed: Observed, config: &Config, words: &str) -> Self {
        let interval_ms = u64::try_from(observed.span.as_millis()).unwrap_or(u64::MAX);
        let mut summary = Summary {
            time_ms: clock::now_ms(),
            interval_ms,
            listeners: observed.listeners.len(),
            overflow: observed.overflow,
            losses: observed.losses,
            ..Summary::default()
        };
        let mut flows = observed.flows;
        flows.retain(|flow| config.scope.has(flow));
        flows.iter().for_each(|flow| summary.add(flow));
        // A method that counts has something to say where nothing happened, too.
        if !summary.losses.is_empty() {
            summary.traffic.get_or_insert_default().span_ms = interval_ms;
        }
        flows.retain(|flow| config.pick.wants(flow) && has_words(flow, words));
        Self { flows, summary }
    }
}

impl Summary {
    fn add(&mut self, flow: &Flow) {
        self.edges += 1;
        self.up += flow.connections();
        if let Some(traffic) = &flow.traffic {
            self.traffic.get_or_insert_default().add(&traffic.counted_once());
            self.ends.add(traffic);
        }
    }

    /// What it comes to, per second.
    pub fn figures(&self) -> Figures {
        Figures::new(self.up, self.traffic.as_ref())
    }

    /// For people: `12 edges, 30 up, 5 new/s, ...`.
    pub fn describe(&self) -> String {
        let figures = self.figures();
        let edges = if self.edges == 1 { "edge" } else { "edges" };
        let mut text = format!("{} {edges}, {} up", self.edges, self.up);
        if figures.is_traced {
            text.push_str(&format!(
                ", {} new/s, {} B/s to servers, {} B/s to clients, {} retransmits/s, {} failed/s",
                narrow(figures.opened),
                narrow(figures.to_server),
                narrow(figures.to_client),
                narrow(figures.retransmits),
                narrow(figures.failed()),
            ));
        }
        text
    }

    /// What is missing, where anything is: `overflow 12, untracked 3`.
    pub fn missing(&self) -> Option<String> {
        missing(&self.losses, &self.overflow)
    }
}

/// In words, what is missing; `None` where nothing is.
pub fn missing(losses: &[(&'static str, u64)], overflow: &Totals) -> Option<String> {
    let counted = losses.iter().filter(|(_, count)| *count > 0);
    let mut parts: Vec<String> =
        counted.map(|(reason, count)| format!("{reason} {count}")).collect();
    if !overflow.is_zero() {
        parts.push(format!(
            "in edges without room: {} opened, {} bytes, as each end counted",
            overflow.opened,
            overflow.bytes_sent.saturating_add(overflow.bytes_received)
        ));
    }
    if parts.is_empty() { None } else { Some(parts.join(", ")) }
}

#[cfg(test)]
mod tests;
