//! The program of `bpf/connections.bpf.c`, and the buffers that it fills.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use libbpf_rs::Object;

use super::run::{copy, run};
use crate::{Error, Place, Query, Slice, States, bpf, record};

static OBJECT: bpf::Lazy = bpf::Lazy::new(include_bytes!("../../bpf/connections.bpf.o"));

/// Threads that can walk side by side: `max_entries` of the map `chunks`.
const BUFFERS_COUNT: usize = 4;

/// What the program filled; empty until it is needed.
static BUFFERS: [Mutex<Vec<u8>>; BUFFERS_COUNT] = [const { Mutex::new(Vec::new()) }; BUFFERS_COUNT];

/// `struct chunk` without its rows.
const HEAD_BYTES: usize = 32;

/// Loads the program, if it is not yet.
///
/// # Errors
/// When BPF is not possible here.
pub fn load() -> Result<(), Error> {
    OBJECT.get().map(drop)
}

/// What a run is to read.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The bucket to go on with.
    next: u32,
    /// How many of its sockets are to be skipped.
    skip: u32,
    slice: Slice,
    states: u32,
    want: u64,
}

impl Request {
    /// For the beginning of a query's slice.
    pub fn new(query: &Query, states: States) -> Self {
        let want = record::wanted(query).into();
        Self { next: 0, skip: 0, slice: query.slice, states: states.bits(), want }
    }

    /// For what is left after a run.
    pub fn after(self, run: Run) -> Self {
        Self { next: run.next, skip: run.skip, ..self }
    }

    /// As the program's arguments (`enum` in `bpf/connections.bpf.c`).
    fn arguments(&self, chunk: u32) -> [u64; 7] {
        let Slice { index, of } = self.slice;
        let states = self.states.into();
        [
            chunk.into(),
            self.next.into(),
            self.skip.into(),
            index.into(),
            of.into(),
            states,
            self.want,
        ]
    }
}

/// What a run found.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    used: usize,
    next: u32,
    skip: u32,
    /// Chains that would not hold still.
    pub torn: u32,
    /// Whether there are buckets left.
    pub more: bool,
}

/// A buffer of the program's, and what was copied from it.
pub struct Chunk {
    object: &'static Object,
    index: u32,
    bytes: MutexGuard<'static, Vec<u8>>,
}

impl Chunk {
    /// A free one, or the next that becomes free.
    ///
    /// # Errors
    /// When BPF is not possible here.
    pub fn lease() -> Result<Self, Error> {
        let object = OBJECT.get()?;
        let free = BUFFERS.iter().zip(0..).find_map(|(buffer, index)| match buffer.try_lock() {
            Ok(bytes) => Some((bytes, index)),
            Err(TryLockError::Poisoned(poisoned)) => Some((poisoned.into_inner(), index)),
            Err(TryLockError::WouldBlock) => None,
        });
        let (bytes, index) =
            free.unwrap_or_else(|| (BUFFERS[0].lock().unwrap_or_else(PoisonError::into_inner), 0));
        Ok(Self { object, index, bytes })
    }

    /// Runs the program once, in the network namespace at `place`.
    pub fn fill(&mut self, place: &Place, request: &Request) -> Result<Run, Error> {
        let object = self.object;
        let arguments = request.arguments(self.index);
        let more = place.run(|| run(object, "connections", &arguments))??;
        copy(object, "chunks", self.index, &mut self.bytes)?;
        let word = |at| bpf::word(&self.bytes, at);
        let used = usize::try_from(word(0)).expect("it fits into memory");
        Ok(Run { used, next: word(4), torn: word(8), skip: word(12), more })
    }

    /// The rows of the last run.
    pub fn rows(&self, run: Run) -> &[u8] {
        let rows = &self.bytes[HEAD_BYTES..];
        &rows[..run.used.min(rows.len())]
    }
}
