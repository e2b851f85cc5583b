//! The handle: one thread brings readings, any number ask.
//!
//! Locks, always taken in this order and never held across an `await`: the writer (store and
//! schedule; readings come one at a time), then the live graph (for as long as a reading is
//! worked in or a graph is taken, never for input or output).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use portolan_flow::Bundle;
use tokio::sync::{Semaphore, broadcast};

use crate::{
    graph::Graph,
    identity::Users,
    live::{Delta, Limits, Live, Reading, is_due},
    store::{Rows, Store, StoreError},
};

/// How far back a graph goes if nobody says otherwise, in milliseconds.
pub const WINDOW_MS: u64 = 24 * 3_600_000;

/// How often times that moved on are saved, in milliseconds.
const SAVE_MS: u64 = 10_000;

/// How often the store is searched for old rows, in milliseconds.
const FORGET_MS: u64 = 3_600_000;

/// How many events a reader may be behind before it gets the whole graph again.
const EVENTS_MAX: usize = 16;

/// How many readers may follow the events at a time.
const STREAMS_MAX: usize = 64;

/// What a hub is told at its start.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The name of the host, for people.
    pub host: String,
    /// The time between two readings, in milliseconds.
    pub interval_ms: u64,
    /// What the graph may grow to, and how long it remembers.
    pub limits: Limits,
    /// The names of users.
    pub users: Users,
}

/// Receives readings and answers questions. Clones are handles to the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: Mutex<Writer>,
    live: RwLock<Live>,
    /// `None` once the hub is closed, which ends all streams.
    events: Mutex<Option<broadcast::Sender<Update>>>,
    streams: Arc<Semaphore>,
}

/// A delta, ready to send.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    /// The revision that it leads to.
    pub revision: u64,
    /// The delta as JSON; `None` if readers need the graph instead.
    pub json: Option<Arc<str>>,
}

/// What only whoever brings a reading needs.
struct Writer {
    /// `None` once the hub is closed.
    store: Option<Box<dyn Store>>,
    limits: Limits,
    saved_ms: u64,
    forgot_ms: u64,
    /// The last attempt to save failed: everything is saved at the next one.
    has_failed: bool,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("saved_ms", &self.saved_ms).finish_non_exhaustive()
    }
}

impl Hub {
    /// A hub with the history of `store`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open(config: Config, mut store: Box<dyn Store>) -> Result<Self, StoreError> {
        let limits = config.limits;
        let mut live = Live::new(&config.host, config.interval_ms, limits, config.users);
        live.restore(store.load(0, limits.flows_max)?);
        // As if the clock had been set back: everything is due with the first reading.
        let (saved_ms, forgot_ms) = (u64::MAX, u64::MAX);
        let writer = Writer { store: Some(store), limits, saved_ms, forgot_ms, has_failed: false };
        let (events, _) = broadcast::channel(EVENTS_MAX);
        Ok(Self {
            inner: Arc::new(Inner {
                writer: Mutex::new(writer),
                live: RwLock::new(live),
                events: Mutex::new(Some(events)),
                streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            }),
        })
    }

    /// Takes a reading of `now_ms` (milliseconds since the Unix epoch), tells those who follow,
    /// and saves what is new. A store that fails is a warning on the map, and is tried again.
    ///
    /// Blocks for as long as the store takes; not to be called from asynchronous code.
    pub fn ingest(
        &self,
        bundle: Bundle,
        now_ms: u64,
        warnings: Vec<String>,
        method: &str,
    ) -> Delta {
        let mut writer = self.writer();
        let reading = Reading { bundle, warnings, method: method.to_owned() };
        // Nobody else changes the graph between these two: that takes the writer.
        let sorted = self.live().sort(reading);
        let delta = self.live_mut().apply(sorted, now_ms);
        if !delta.is_empty() {
            self.publish(&delta);
        }
        self.save(&mut writer, &delta, now_ms);
        delta
    }

    /// The graph of what is live or was seen at or after `since_ms` (`None`: within
    /// [`WINDOW_MS`] of the last reading).
    #[must_use]
    pub fn graph(&self, since_ms: Option<u64>) -> Graph {
        let take = {
            let live = self.live();
            live.graph(since_ms.unwrap_or_else(|| live.now_ms().saturating_sub(WINDOW_MS)))
        };
        take()
    }

    /// Saves everything that is not saved yet.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn flush(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let rows = self.live().outdated();
        self.write(&mut writer, &rows)
    }

    /// Saves everything, closes the store, and ends all streams of events, so that a server can
    /// end. Readings that come later change the map, and are saved nowhere.
    ///
    /// # Errors
    /// If the store cannot be written; it is closed and the streams are ended all the same.
    pub fn close(&self) -> Result<(), StoreError> {
        lock(&self.inner.events).take();
        let mut writer = self.writer();
        let rows = self.live().outdated();
        let saved = self.write(&mut writer, &rows);
        // Other handles may live on, and a store is tidy only when it is dropped.
        writer.store = None;
        saved
    }

    /// The events from now on, as JSON; `None` once the hub is closed.
    pub(crate) fn subscribe(&self) -> Option<broadcast::Receiver<Update>> {
        lock(&self.inner.events).as_ref().map(broadcast::Sender::subscribe)
    }

    /// The places for those who follow the events.
    pub(crate) fn streams(&self) -> Arc<Semaphore> {
        Arc::clone(&self.inner.streams)
    }

    fn publish(&self, delta: &Delta) {
        let Some(events) = lock(&self.inner.events).clone() else { return };
        if events.receiver_count() == 0 {
            return;
        }
        // Spelling it out is the expensive part, and done once for all who follow.
        let spell = || serde_json::to_string(&delta.reply()).ok();
        let json = if delta.needs_graph { None } else { spell().map(Into::into) };
        // An error means that the last reader has just left.
        let _ = events.send(Update { revision: delta.revision, json });
    }

    fn save(&self, writer: &mut Writer, delta: &Delta, now_ms: u64) {
        if writer.store.is_none() {
            return;
        }
        let is_due = is_due(writer.saved_ms, now_ms, SAVE_MS);
        let rows = if is_due {
            self.live().outdated()
        } else if writer.has_failed {
            return;
        } else {
            self.live().unsaved(&delta.edges)
        };
        if is_due {
            writer.saved_ms = now_ms;
        }
        // Without rows it is still worth asking whether the store is there.
        let mut result =
            if is_due || !rows.is_empty() { self.write(writer, &rows) } else { Ok(()) };
        if result.is_ok() && is_due_to_forget(writer, now_ms) {
            result = forget(writer, now_ms);
        }
        writer.has_failed = result.is_err();
        let warning = result
            .err()
            .map(|error| format!("the history is not being saved, and it is tried again: {error}"));
        self.live_mut().set_own_warning(warning);
    }

    fn write(&self, writer: &mut Writer, rows: &Rows) -> Result<(), StoreError> {
        let Some(store) = &mut writer.store else { return Ok(()) };
        match store.save(rows) {
            Ok(()) => self.live_mut().mark_saved(rows),
            Err(StoreError::Replaced { .. }) => {
                self.live_mut().mark_unsaved();
                let everything = self.live().outdated();
                store.save(&everything)?;
                self.live_mut().mark_saved(&everything);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        lock(&self.inner.writer)
    }

    fn live(&self) -> RwLockReadGuard<'_, Live> {
        self.inner.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn live_mut(&self) -> RwLockWriteGuard<'_, Live> {
        self.inner.live.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(writer: &mut Writer, now_ms: u64) -> Result<(), StoreError> {
    let Some(store) = &mut writer.store else { return Ok(()) };
    let before_ms = now_ms.saturating_sub(writer.limits.retention_ms);
    store.forget(before_ms, writer.limits.flows_max).map(drop)
}

fn is_due_to_forget(writer: &mut Writer, now_ms: u64) -> bool {
    let is_due = is_due(writer.forgot_ms, now_ms, FORGET_MS);
    if is_due {
        writer.forgot_ms = now_ms;
    }
    is_due
}

/// A thread that panicked leaves a graph that is at worst one reading behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
