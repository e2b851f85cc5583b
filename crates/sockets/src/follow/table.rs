//! All sockets as of now, and what changed since somebody asked.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use portolan_flow::NetnsId;

use super::{
    entry::{Entry, Tuple},
    event::{Event, Where},
    question::Answer,
};
use crate::{Row, State};

/// What happened to a socket since the last refresh. Who closes and opens between two refreshes
/// is not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "all variants but one are as large")]
pub enum Change {
    /// It is new.
    Opened(Row),
    /// It is gone.
    Closed(Row),
    /// It has another state, or another holder: it was accepted, or closed by its process.
    Changed {
        /// As it was told last.
        before: Row,
        /// As it is now.
        after: Row,
    },
}

/// A state without events: by cookie if it has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Cookie(u64),
    Tuple(Tuple),
}

/// The sockets.
#[derive(Debug)]
pub struct Table {
    /// Those whose changes are told, by cookie.
    live: HashMap<u64, Entry>,
    /// The others, as of the last refresh.
    dumped: HashMap<Key, Entry>,
    dumped_before: HashMap<Key, Entry>,
    /// What was changed of the first since then, as it was.
    touched: HashMap<u64, Option<Entry>>,
    /// Those of the first that need not be asked about, but may be.
    settled: HashMap<u64, Where>,
    /// Of these, the ones whose turn to be checked comes.
    unchecked: Vec<u64>,
    /// Those that changed though no event said so.
    silent: Vec<u64>,
    /// Those of the first that are to be asked about.
    unsettled: HashMap<u64, Where>,
    /// Those that listen.
    listeners: HashMap<u64, Where>,
    /// Where connections may be half-open.
    half_open: HashSet<NetnsId>,
    /// How many of the first are sockets that the kernel counts.
    in_use: HashMap<NetnsId, i64>,
    most: usize,
    left_out: u64,
}

impl Table {
    /// An empty table of at most so many sockets.
    pub fn new(most: usize) -> Self {
        Self {
            live: HashMap::new(),
            dumped: HashMap::new(),
            dumped_before: HashMap::new(),
            touched: HashMap::new(),
            settled: HashMap::new(),
            unchecked: Vec::new(),
            silent: Vec::new(),
            unsettled: HashMap::new(),
            listeners: HashMap::new(),
            half_open: HashSet::new(),
            in_use: HashMap::new(),
            most,
            left_out: 0,
        }
    }

    /// Begins a refresh.
    pub fn begin(&mut self) {
        self.left_out = 0;
        self.dumped_before = mem::take(&mut self.dumped);
    }

    /// Applies an event.
    pub fn apply(&mut self, event: &Event) {
        let cookie = event.row.cookie;
        if event.row.state != State::Close {
            self.insert(Entry::new(event.netns, &event.row), event.place);
            return;
        }
        match self.live.get(&cookie) {
            Some(entry) if entry.may_wait() => self.insert(entry.waiting(), event.place),
            Some(entry) => {
                // What is half-open at a listener outlives it for a while.
                if entry.state == State::Listen && event.row.receive_queue > 0 {
                    self.half_open.insert(event.netns);
                }
                self.remove(cookie);
            }
            None => {}
        }
    }

    fn insert(&mut self, entry: Entry, place: Where) {
        let cookie = entry.cookie;
        if self.is_full() && !self.live.contains_key(&cookie) {
            self.left_out += 1;
            return;
        }
        self.lose_place(cookie);
        let kind = if entry.state == State::Listen {
            &mut self.listeners
        } else if entry.is_settled() && matches!(place, Where::Socket(_)) {
            &mut self.settled
        } else {
            &mut self.unsettled
        };
        kind.insert(cookie, place);
        self.count(entry.netns(), place, 1);
        let before = self.live.insert(cookie, entry);
        self.touched.entry(cookie).or_insert(before);
    }

    fn lose_place(&mut self, cookie: u64) -> Option<Where> {
        let other = self.settled.remove(&cookie).or_else(|| self.unsettled.remove(&cookie));
        let place = other.or_else(|| self.listeners.remove(&cookie))?;
        let netns = self.live.get(&cookie).map(Entry::netns);
        netns.into_iter().for_each(|netns| self.count(netns, place, -1));
        Some(place)
    }

    /// One in TIME-WAIT is not the kernel's idea of a socket.
    fn count(&mut self, netns: NetnsId, place: Where, more: i64) {
        if matches!(place, Where::Socket(_)) {
            *self.in_use.entry(netns).or_default() += more;
        }
    }

    /// How many sockets the kernel should count in a namespace, if all events came.
    pub fn in_use(&self, netns: NetnsId) -> i64 {
        self.in_use.get(&netns).copied().unwrap_or(0)
    }

    /// Where connections began to be opened since the last refresh: these are told of before the
    /// kernel counts them.
    pub fn opening(&self) -> HashSet<NetnsId> {
        let touched = self.touched.keys().filter_map(|cookie| self.live.get(cookie));
        touched.filter(|entry| entry.state == State::SynSent).map(Entry::netns).collect()
    }

    fn place(&self, cookie: u64) -> Option<Where> {
        let other = self.settled.get(&cookie).or_else(|| self.unsettled.get(&cookie));
        other.or_else(|| self.listeners.get(&cookie)).copied()
    }

    fn remove(&mut self, cookie: u64) {
        self.lose_place(cookie);
        if let Some(before) = self.live.remove(&cookie) {
            self.touched.entry(cookie).or_insert(Some(before));
        }
    }

    /// Forgets those in namespaces that `gone` says so of.
    pub fn forget(&mut self, gone: impl Fn(NetnsId) -> bool) {
        let cookies = self.live.iter().filter(|(_, entry)| gone(entry.netns()));
        let cookies: Vec<u64> = cookies.map(|(&cookie, _)| cookie).collect();
        cookies.into_iter().for_each(|cookie| self.remove(cookie));
        self.half_open.retain(|&netns| !gone(netns));
        self.in_use.retain(|&netns, _| !gone(netns));
    }

    /// Takes in a socket in a state that has no events.
    pub fn dumped(&mut self, netns: NetnsId, row: &Row) {
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let entry = Entry::new(netns, row);
        let key = match row.cookie {
            0 => Key::Tuple(tuple(netns, row)),
            cookie => Key::Cookie(cookie),
        };
        self.dumped.insert(key, entry);
    }

    /// Ends the reading of such states: what has an event by now is told by that.
    pub fn without_live(&mut self) {
        let Self { live, dumped, touched, .. } = self;
        let touched = touched.keys().filter_map(|cookie| live.get(cookie));
        let nameless = dumped.keys().any(|key| matches!(key, Key::Tuple(_)));
        let told: HashSet<Tuple> =
            touched.filter(|_| nameless).map(|it| tuple(it.netns(), &it.row())).collect();
        dumped.retain(|key, entry| match key {
            Key::Cookie(_) => !live.contains_key(&entry.cookie),
            Key::Tuple(tuple) => !told.contains(tuple),
        });
    }

    /// All that listen, to be asked about by cookie.
    pub fn listeners(&self) -> Vec<(u64, Where)> {
        self.listeners.iter().map(|(&cookie, &place)| (cookie, place)).collect()
    }

    /// Whether a namespace may have half-open connections.
    pub fn may_have_half_open(&self, netns: NetnsId) -> bool {
        self.half_open.contains(&netns)
    }

    /// Sets that.
    pub fn set_half_open(&mut self, netns: NetnsId, may_have: bool) {
        if may_have {
            self.half_open.insert(netns);
        } else {
            self.half_open.remove(&netns);
        }
    }

    /// Which other sockets are to be asked about, at most so many, others each `turn`.
    pub fn questions(&self, most: usize, turn: usize) -> Vec<(u64, Where)> {
        let skipped = (turn * most).checked_rem(self.unsettled.len()).unwrap_or(0);
        let all = self.unsettled.iter().map(|(&cookie, &place)| (cookie, place));
        all.clone().skip(skipped).chain(all.take(skipped)).take(most).collect()
    }

    /// The next so many of those that need not be asked about: in turn all are, to find out whether
    /// an event was lost that nobody counted.
    pub fn checks(&mut self, most: usize) -> Vec<(u64, Where)> {
        if self.unchecked.is_empty() {
            self.unchecked = self.settled.keys().copied().collect();
        }
        let rest = self.unchecked.len().saturating_sub(most);
        let settled = &self.settled;
        let next = self.unchecked.drain(rest..);
        next.filter_map(|cookie| Some((cookie, *settled.get(&cookie)?))).collect()
    }

    /// Completes a socket that was asked about, or lets go of it.
    pub fn answer(&mut self, cookie: u64, answer: &Answer) {
        let (Some(known), Some(place)) = (self.live.get(&cookie), self.place(cookie)) else {
            return;
        };
        let now = match (place, answer) {
            (_, Answer::Unknown) => return,
            (Where::Chain(..), Answer::Gone) => return self.remove(cookie),
            (_, Answer::Waiting(state)) => known.in_state(*state),
            (_, Answer::Row(row)) if row.state == known.state => {
                if known.state == State::Listen && row.receive_queue > 0 {
                    self.half_open.insert(known.netns());
                }
                known.completed(row)
            }
            // The event is about to come, or was lost; or it came before the state was stored.
            _ if self.touched.contains_key(&cookie) => return,
            _ => return self.silent.push(cookie),
        };
        if now != *known {
            self.insert(now, place);
        }
    }

    /// How many sockets changed in silence: events that have come by now are told from these.
    pub fn silent(&mut self) -> usize {
        let silent = mem::take(&mut self.silent);
        silent.iter().filter(|cookie| !self.touched.contains_key(cookie)).count()
    }

    /// Ends a refresh: what changed, with the namespace.
    pub fn finish(&mut self) -> Vec<(NetnsId, Change)> {
        let mut pairs = Vec::new();
        for (cookie, before) in mem::take(&mut self.touched) {
            pairs.push((before, self.live.get(&cookie).cloned()));
        }
        let mut before = mem::take(&mut self.dumped_before);
        for (key, now) in &self.dumped {
            let known = before.remove(key);
            if known.as_ref() != Some(now) {
                pairs.push((known, Some(now.clone())));
            }
        }
        pairs.extend(before.into_values().map(|gone| (Some(gone), None)));
        changes(pairs)
    }

    /// All sockets, with their namespaces, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.live.values().chain(self.dumped.values())
    }

    /// How many sockets there are.
    pub fn len(&self) -> usize {
        self.live.len() + self.dumped.len()
    }

    /// How many are not complete.
    pub fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// How many sockets found no room since the refresh began.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether there is no room for another.
    pub fn is_full(&self) -> bool {
        self.len() >= self.most
    }
}

fn tuple(netns: NetnsId, row: &Row) -> Tuple {
    (netns, row.transport, row.local, row.remote)
}

/// A connection that went on from a state with events to one without is one change.
fn changes(pairs: Vec<(Option<Entry>, Option<Entry>)>) -> Vec<(NetnsId, Change)> {
    let mut changes = Vec::new();
    let (mut opened, mut closed) = (Vec::new(), HashMap::new());
    for pair in pairs {
        match pair {
            (Some(before), Some(after)) if before != after => {
                let change = Change::Changed { before: before.row(), after: after.row() };
                changes.push((after.netns(), change));
            }
            (None, Some(after)) => opened.push(after),
            (Some(before), None) => {
                let (netns, row) = (before.netns(), before.row());
                closed.entry(tuple(netns, &row)).or_insert_with(Vec::new).push(row);
            }
            _ => {}
        }
    }
    for entry in opened {
        let (netns, after) = (entry.netns(), entry.row());
        let same =
            |before: &Row| before.cookie == after.cookie || before.cookie == 0 || after.cookie == 0;
        let before = closed.get_mut(&tuple(netns, &after)).and_then(|rows| {
            let at = rows.iter().position(same)?;
            Some(rows.swap_remove(at))
        });
        changes.push((
            netns,
            match before {
                Some(before) => Change::Changed { before, after },
                None => Change::Opened(after),
            },
        ));
    }
    for ((netns, ..), rows) in closed {
        changes.extend(rows.into_iter().map(|row| (netns, Change::Closed(row))));
    }
    changes
}

#[cfg(test)]
mod tests;
