//! The edges of the last readings: those that are gone fade out, so that nothing jumps away.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use portolan_flow::{End, Flow, Pids, Transport};

use crate::trace::{figures::Figures, order::Order, pick::has_words, table::Names};

/// So long an edge stays where nothing happens any more.
const FADE: Duration = Duration::from_secs(5);

/// So many are kept that are gone.
const GONE_MAX: usize = 10_000;

/// What an edge is, whatever goes over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    transport: Transport,
    port: u16,
    client: End,
    server: End,
}

impl Key {
    fn of(flow: &Flow) -> Self {
        // Process ids come and go.
        let party = |end: &End| End { pids: Pids::default(), ..end.clone() };
        Self {
            transport: flow.transport,
            port: flow.server_port,
            client: party(&flow.client),
            server: party(&flow.server),
        }
    }
}

/// An edge that is shown.
#[derive(Clone, Debug)]
pub struct Kept {
    pub key: Key,
    pub flow: Flow,
    pub names: Names,
    pub figures: Figures,
    /// Since when nothing is up and nothing happens.
    pub gone: Option<Instant>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Edges {
    all: HashMap<Key, Kept>,
}

impl Edges {
    /// What a reading has of each.
    pub fn take(&mut self, flows: Vec<Flow>, now: Instant) {
        let mut before = std::mem::take(&mut self.all);
        for flow in flows {
            let key = Key::of(&flow);
            before.remove(&key);
            let (names, figures) = (Names::of(&flow), Figures::of(&flow));
            self.all.insert(key.clone(), Kept { key, flow, names, figures, gone: None });
        }
        let mut gone = 0;
        for (key, mut edge) in before {
            let since = *edge.gone.get_or_insert(now);
            if now.duration_since(since) < FADE && gone < GONE_MAX {
                gone += 1;
                edge.figures = edge.figures.idle();
                self.all.insert(key, edge);
            }
        }
    }

    /// Those that have all the words, in order.
    pub fn shown(&self, order: Order, words: &str) -> Vec<&Kept> {
        let mut edges: Vec<&Kept> =
            self.all.values().filter(|edge| has_words(&edge.flow, words)).collect();
        edges.sort_by(|one, other| {
            let by_name = || one.names.cmp(&other.names);
            order.compare(&one.figures, &other.figures).then_with(by_name)
        });
        edges
    }

    /// How many there are, shown or not.
    pub fn len(&self) -> usize {
        self.all.len()
    }
}
