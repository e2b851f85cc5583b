//! What the threads of a host have in common: the wish to end, frames that are handed over, and
//! what is counted.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, SyncSender},
    },
    time::Duration,
};

use portolan_stack::{Checksum, Counters, Joined, tcp};

use crate::{steer::Steering, waker::Waker};

/// Frames that wait for another thread at most; more are lost, and counted.
const INBOX_FRAMES_MAX: usize = 1_024;

/// Of these, so many datagrams that were put together: each may have 64 KiB.
const INBOX_JOINED_MAX: usize = 64;

/// How long spare buffers are at most: longer ones are given back to the system.
const SPARE_BYTES_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) steering: Steering,
    pub(crate) queues: Box<[PerQueue]>,
    is_ending: AtomicBool,
}

/// What others may touch of one queue.
#[derive(Debug)]
pub(crate) struct PerQueue {
    pub(crate) waker: Waker,
    inbox: Mutex<Inbox>,
    inbox_lost: AtomicU64,
    readings: Mutex<Readings>,
}

#[derive(Debug, Default)]
struct Inbox {
    frames: VecDeque<Handed>,
    /// How many of them are datagrams.
    joined: usize,
    spare: Vec<Vec<u8>>,
    questions: Vec<Question>,
    /// The thread has ended: nobody answers any more.
    is_closed: bool,
}

/// How connections stand, from this number on.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) first: usize,
    pub(crate) answer: SyncSender<Part>,
}

/// Some of the connections, and the number that comes next.
pub(crate) type Part = (Vec<tcp::Info>, Option<usize>);

/// What belongs to another thread.
#[derive(Debug)]
pub(crate) enum Handed {
    /// A frame, copied.
    Frame { bytes: Vec<u8>, checksum: Checksum },
    /// A datagram that was put together.
    Joined(Joined),
}

/// What one queue has counted, some milliseconds ago at most while it has work.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// The stack's counters.
    pub stack: Counters,
    /// TCP's counters.
    pub tcp: tcp::Counters,
    /// Connections, without those in TIME-WAIT.
    pub connections: usize,
    /// Connections in TIME-WAIT.
    pub time_waits: usize,
    /// Blocks of memory that the buffers of TCP take, 4 KiB each.
    pub blocks: usize,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// Frames that came by this queue of the device, and datagrams that it put together, that were
    /// handed to another one.
    pub handed_over: u64,
    /// Frames and datagrams that were to be handed to this queue, and found no room.
    pub handed_lost: u64,
    /// Frames that the device refused.
    pub refused: u64,
    /// How often the link went down.
    pub link_down: u64,
}

impl Shared {
    pub(crate) fn new(steering: Steering) -> io::Result<Self> {
        let one = |_| {
            Ok(PerQueue {
                waker: Waker::new()?,
                inbox: Mutex::default(),
                inbox_lost: AtomicU64::new(0),
                readings: Mutex::default(),
            })
        };
        let queues = (0..steering.queues()).map(one).collect::<io::Result<_>>()?;
        Ok(Self { steering, queues, is_ending: AtomicBool::new(false) })
    }

    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        for queue in &self.queues {
            queue.waker.wake();
        }
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }
}

impl PerQueue {
    /// Copies a frame for the queue's thread.
    pub(crate) fn hand_over(&self, frame: &[u8], checksum: Checksum) {
        let mut inbox = lock(&self.inbox);
        if inbox.frames.len() >= INBOX_FRAMES_MAX {
            self.inbox_lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut bytes = inbox.spare.pop().unwrap_or_default();
        bytes.extend_from_slice(frame);
        inbox.frames.push_back(Handed::Frame { bytes, checksum });
        drop(inbox);
        self.waker.wake();
    }

    /// Gives a datagram to the queue's thread.
    pub(crate) fn hand_joined(&self, joined: Joined) {
        let mut inbox = lock(&self.inbox);
        if inbox.frames.len() >= INBOX_FRAMES_MAX || inbox.joined >= INBOX_JOINED_MAX {
            self.inbox_lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        inbox.joined += 1;
        inbox.frames.push_back(Handed::Joined(joined));
        drop(inbox);
        self.waker.wake();
    }

    /// Asks the queue's thread, and waits for its answer; none if it has ended.
    pub(crate) fn ask(&self, first: usize) -> Option<Part> {
        let (answer, answered) = mpsc::sync_channel(1);
        let mut inbox = lock(&self.inbox);
        if inbox.is_closed {
            return None;
        }
        inbox.questions.push(Question { first, answer });
        drop(inbox);
        self.waker.wake();
        answered.recv().ok()
    }

    /// Nobody asks any more, and who did gets no answer.
    pub(crate) fn close(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.is_closed = true;
        inbox.questions.clear();
    }

    /// Exchanges what waits for what was dealt with; what others ask.
    pub(crate) fn take_handed(
        &self,
        frames: &mut VecDeque<Handed>,
        done: &mut Vec<Vec<u8>>,
    ) -> Vec<Question> {
        let mut inbox = lock(&self.inbox);
        std::mem::swap(&mut inbox.frames, frames);
        inbox.joined = 0;
        for mut bytes in done.drain(..) {
            if bytes.capacity() <= SPARE_BYTES_MAX {
                bytes.clear();
                inbox.spare.push(bytes);
            }
        }
        std::mem::take(&mut inbox.questions)
    }

    pub(crate) fn publish(&self, change: impl FnOnce(&mut Readings)) {
        let mut readings = lock(&self.readings);
        change(&mut readings);
        readings.handed_lost = self.inbox_lost.load(Ordering::Relaxed);
    }

    pub(crate) fn readings(&self) -> Readings {
        lock(&self.readings).clone()
    }
}

/// Every change under these locks is whole: who panics does not leave half of one.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
