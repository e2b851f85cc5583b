//! Cumulative series, as many as there may be, and what did not find room among them.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use portolan_flow::{Flow, Totals, Transport};

use super::{
    account::Account,
    addresses::Addresses,
    labels::{self, Key, Labels},
};

/// How many reasons of losses are told apart.
const REASONS_MAX: usize = 64;

/// How much is told of an edge, and of how many.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many series there are at most; what finds no room is counted in one more.
    pub series_max: usize,
    /// A series of which nothing was seen for so long makes room.
    pub idle: Duration,
    /// Which addresses are kept.
    pub addresses: Addresses,
    /// Whether systemd units are labels.
    pub units: bool,
    /// Whether container ids are labels.
    pub containers: bool,
}

/// 2,000 series, an hour, the standard rules for addresses; neither units nor containers.
impl Default for Settings {
    fn default() -> Self {
        Self {
            series_max: 2_000,
            idle: Duration::from_hours(1),
            addresses: Addresses::default(),
            units: false,
            containers: false,
        }
    }
}

/// What was counted since the interval before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval<'a> {
    /// The edges, folded ([`portolan_flow::fold`]): one record per edge.
    pub flows: &'a [Flow],
    /// The sum of edges that the method had no room for, of either side.
    pub overflow: Option<&'a Totals>,
    /// What was lost since the interval before, by reason.
    pub losses: &'a [(&'a str, u64)],
    /// How full the method's table is.
    pub map: Option<MapUse>,
    /// When it ended, in milliseconds since the Unix epoch.
    pub now_ms: u64,
}

/// How full the table is in which a method counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapUse {
    /// Entries in use.
    pub entries: u64,
    /// Entries that there is room for.
    pub capacity: u64,
}

/// What an edge's labels say, and what was counted since when.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub labels: Labels,
    /// `None` of a series that has both.
    pub transport: Option<Transport>,
    /// Whether the sides are known.
    pub has_sides: bool,
    pub account: Account,
    /// Where its counters are 0, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    seen_ms: u64,
}

impl Entry {
    fn new(labels: Labels, transport: Option<Transport>, start_ms: u64, now_ms: u64) -> Self {
        let account = Account::default();
        Self { labels, transport, has_sides: true, account, start_ms, seen_ms: now_ms }
    }
}

/// Everything that is exported but the edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    pub start_ms: u64,
    pub intervals: u64,
    pub last_ms: u64,
    pub series: u64,
    pub series_max: u64,
    /// Records of edges that were counted in `other`.
    pub folded: u64,
    /// Series that were dropped because nothing happened.
    pub dropped: u64,
    pub losses: BTreeMap<Box<str>, u64>,
    pub map: Option<MapUse>,
}

/// The cumulative series.
#[derive(Debug)]
pub(super) struct Ledger {
    settings: Settings,
    /// Where in `entries` a series is.
    index: HashMap<Key<'static>, usize>,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// Of edges that found no room here.
    other: Entry,
    /// Of edges that the method had no room for.
    overflow: Entry,
    own: Own,
}

impl Ledger {
    /// Counts from `now_ms` on, in milliseconds since the Unix epoch.
    pub fn new(settings: Settings, now_ms: u64) -> Self {
        let fixed = |what| Entry::new(labels::of_all(what), None, now_ms, now_ms);
        let own = Own {
            start_ms: now_ms,
            last_ms: now_ms,
            series_max: u64::try_from(settings.series_max).unwrap_or(u64::MAX),
            ..Own::default()
        };
        Self {
            settings,
            index: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            other: fixed("other"),
            overflow: Entry { has_sides: false, ..fixed("overflow") },
            own,
        }
    }

    /// Adds what was counted in one interval.
    pub fn add(&mut self, interval: &Interval<'_>) {
        // What happened in it began after the interval before.
        let start_ms = self.own.last_ms.min(interval.now_ms);
        let series = self.entries.iter_mut().flatten();
        for entry in series.chain([&mut self.other]) {
            entry.account.active = 0;
        }
        for flow in interval.flows.iter().filter(|flow| !flow.counts_nothing()) {
            let entry = self.entry(flow, start_ms, interval.now_ms);
            entry.seen_ms = interval.now_ms;
            entry.account.add(flow);
        }
        if let Some(overflow) = interval.overflow {
            self.overflow.account.add_of_either_side(overflow);
        }
        self.add_losses(interval.losses);
        self.own.map = interval.map;
        self.own.intervals += 1;
        self.own.last_ms = interval.now_ms;
        self.drop_idle(interval.now_ms);
    }

    fn entry(&mut self, flow: &Flow, start_ms: u64, now_ms: u64) -> &mut Entry {
        let key = Key::of(flow, &self.settings);
        let known = find(&self.index, &key);
        if known.is_none() && self.index.len() >= self.settings.series_max {
            self.own.folded += 1;
            return &mut self.other;
        }
        let at = known.unwrap_or_else(|| {
            let at = self.free.pop().unwrap_or_else(|| {
                self.entries.push(None);
                self.entries.len() - 1
            });
            self.index.insert(key.clone().into_owned(), at);
            at
        });
        self.entries[at].get_or_insert_with(|| {
            Entry::new(key.labels(), Some(key.transport()), start_ms, now_ms)
        })
    }

    fn add_losses(&mut self, losses: &[(&str, u64)]) {
        for &(reason, more) in losses {
            let is_room = self.own.losses.len() < REASONS_MAX;
            let reason =
                if is_room || self.own.losses.contains_key(reason) { reason } else { "other" };
            let sum = match self.own.losses.get_mut(reason) {
                Some(sum) => sum,
                None => self.own.losses.entry(reason.into()).or_default(),
            };
            *sum = sum.saturating_add(more);
        }
    }

    fn drop_idle(&mut self, now_ms: u64) {
        let idle_ms = u64::try_from(self.settings.idle.as_millis()).unwrap_or(u64::MAX);
        let is_idle = |entry: &mut Entry| now_ms.saturating_sub(entry.seen_ms) > idle_ms;
        let Self { index, entries, free, own, .. } = self;
        index.retain(|_, &mut at| {
            if entries[at].take_if(|entry| is_idle(entry)).is_none() {
                return true;
            }
            own.dropped += 1;
            free.push(at);
            false
        });
        own.series = u64::try_from(index.len()).unwrap_or(u64::MAX);
    }

    /// All series and numbers as they are, and what holds for all: to be written out elsewhere.
    pub fn copy(&self) -> (Vec<Entry>, Own) {
        let further = [&self.other, &self.overflow].into_iter();
        let further = further.filter(|entry| !entry.account.is_zero());
        (self.entries.iter().flatten().chain(further).cloned().collect(), self.own.clone())
    }
}

/// A map of long-lived keys may be read as one of short-lived keys, so that a known edge is found
/// without a copy of its names.
fn find<'a>(index: &HashMap<Key<'a>, usize>, key: &Key<'a>) -> Option<usize> {
    index.get(key).copied()
}

#[cfg(test)]
mod tests;
