//! The listening ports of the last readings, and what the store has of them.

use std::collections::BTreeMap;

use portolan_flow::{Listener, Pids};

use crate::store::Seen;

/// When a port listened.
#[derive(Clone, Copy, Debug)]
struct Times {
    first_seen_ms: u64,
    last_seen_ms: u64,
    /// The `last_seen_ms` that the store has.
    saved_ms: Option<u64>,
    live: bool,
}

/// Listening ports without process ids. One that has ended stays until it is saved.
#[derive(Debug, Default)]
pub(super) struct Ports {
    known: BTreeMap<Listener, Times>,
}

impl Ports {
    /// Takes those of a reading. If the store fails for long, those that have ended are dropped
    /// where there are more than `max`.
    pub fn see(&mut self, listeners: Vec<Listener>, now_ms: u64, max: usize) {
        self.known.values_mut().for_each(|times| times.live = false);
        for mut listener in listeners {
            listener.end.pids = Pids::default();
            let times = self.known.entry(listener).or_insert(Times {
                first_seen_ms: now_ms,
                last_seen_ms: now_ms,
                saved_ms: None,
                live: true,
            });
            times.first_seen_ms = times.first_seen_ms.min(now_ms);
            times.last_seen_ms = times.last_seen_ms.max(now_ms);
            times.live = true;
        }
        let is_full = self.known.len() > max;
        self.known.retain(|_, times| times.live || (times.is_outdated() && !is_full));
    }

    /// Those that the store has never seen.
    pub fn unsaved(&self) -> Vec<Seen<Listener>> {
        self.rows(|times| times.saved_ms.is_none())
    }

    /// Those that the store does not have, or has with an older time.
    pub fn outdated(&self) -> Vec<Seen<Listener>> {
        self.rows(Times::is_outdated)
    }

    /// Notes that the store has these.
    pub fn mark_saved(&mut self, rows: &[Seen<Listener>]) {
        for row in rows {
            if let Some(times) = self.known.get_mut(&row.what) {
                times.saved_ms = Some(row.last_seen_ms);
            }
        }
    }

    /// Notes that the store has none.
    pub fn mark_unsaved(&mut self) {
        self.known.values_mut().for_each(|times| times.saved_ms = None);
    }

    fn rows(&self, wanted: impl Fn(&Times) -> bool) -> Vec<Seen<Listener>> {
        let wanted = self.known.iter().filter(|(_, times)| wanted(times));
        let row = |(listener, times): (&Listener, &Times)| Seen {
            what: listener.clone(),
            first_seen_ms: times.first_seen_ms,
            last_seen_ms: times.last_seen_ms,
        };
        wanted.map(row).collect()
    }
}

impl Times {
    fn is_outdated(&self) -> bool {
        self.saved_ms != Some(self.last_seen_ms)
    }
}
