//! A history that ends with the program: for `--no-store`, and for tests.

use std::{cmp::Reverse, collections::BTreeMap};

use portolan_flow::{Flow, Listener};

use super::{Rows, Seen, Store, StoreError, row::Keyed};

/// What is known of a row beside its key.
#[derive(Clone, Copy, Debug)]
struct Facts {
    first_seen_ms: u64,
    last_seen_ms: u64,
    guessed: bool,
}

/// Rows in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    edges: BTreeMap<Flow, Facts>,
    listeners: BTreeMap<Listener, Facts>,
}

impl Memory {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

fn add<T: Keyed>(table: &mut BTreeMap<T, Facts>, rows: &[Seen<T>]) {
    for row in rows {
        let (key, guessed) = row.what.key();
        let Seen { first_seen_ms, last_seen_ms, .. } = *row;
        let facts = table.entry(key).or_insert(Facts { first_seen_ms, last_seen_ms, guessed });
        facts.first_seen_ms = facts.first_seen_ms.min(first_seen_ms);
        facts.last_seen_ms = facts.last_seen_ms.max(last_seen_ms);
        facts.guessed &= guessed;
    }
}

fn newest<T: Keyed>(table: &BTreeMap<T, Facts>, since_ms: u64, max: usize) -> Vec<(&T, Facts)> {
    let mut rows: Vec<(&T, Facts)> = table.iter().map(|(key, facts)| (key, *facts)).collect();
    rows.retain(|(_, facts)| facts.last_seen_ms >= since_ms);
    rows.sort_by_key(|(_, facts)| Reverse(facts.last_seen_ms));
    rows.truncate(max);
    rows
}

fn load<T: Keyed>(table: &BTreeMap<T, Facts>, since_ms: u64, max: usize) -> Vec<Seen<T>> {
    let seen = |(key, facts): (&T, Facts)| Seen {
        what: key.clone().with_guessed(facts.guessed),
        first_seen_ms: facts.first_seen_ms,
        last_seen_ms: facts.last_seen_ms,
    };
    newest(table, since_ms, max).into_iter().map(seen).collect()
}

fn drop_old<T: Keyed>(table: &mut BTreeMap<T, Facts>, before_ms: u64, max: usize) -> u64 {
    let count = table.len();
    let kept = newest(table, before_ms, max);
    *table = kept.into_iter().map(|(key, facts)| (key.clone(), facts)).collect();
    (count - table.len()) as u64
}

impl Store for Memory {
    fn load(&mut self, since_ms: u64, rows_max: usize) -> Result<Rows, StoreError> {
        Ok(Rows {
            edges: load(&self.edges, since_ms, rows_max),
            listeners: load(&self.listeners, since_ms, rows_max),
        })
    }

    fn save(&mut self, rows: &Rows) -> Result<(), StoreError> {
        add(&mut self.edges, &rows.edges);
        add(&mut self.listeners, &rows.listeners);
        Ok(())
    }

    fn forget(&mut self, before_ms: u64, rows_max: usize) -> Result<u64, StoreError> {
        let edges = drop_old(&mut self.edges, before_ms, rows_max);
        Ok(edges + drop_old(&mut self.listeners, before_ms, rows_max))
    }
}
