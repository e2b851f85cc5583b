//! The server's connections by number, whatever carries them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::EventFlags;

pub(super) use super::served::Goes;
use super::{
    counters::Counters,
    served::{Buffers, Served},
    service::Service,
    stream::{Socket, Stream},
};
use crate::deadlines::position;

/// The most bytes that one thread keeps for connections that read slower than they write.
const HELD_MAX: usize = 64 << 20;

/// Connections by the number of their slot, each with its handle: that of the kernel's socket, or
/// whatever it takes to come by a [`Stream`].
pub(super) struct Connections<H> {
    slots: Vec<Option<Connection<H>>>,
    free: Vec<u32>,
    /// Bytes that are kept for all of them.
    held: usize,
    buffers: Buffers,
}

struct Connection<H> {
    handle: H,
    /// Which of the server's addresses it came to.
    port: u32,
    served: Served,
    is_armed_to_write: bool,
    is_queued: bool,
}

impl<H> Connections<H> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), held: 0, buffers: Buffers::new() }
    }

    pub(super) fn set_time(&mut self, now: u32, since_1970: u64) {
        self.buffers.set_time(now, since_1970);
    }

    /// There are never more than descriptors, so the numbers suffice.
    pub(super) fn insert(&mut self, handle: H, port: u32, service: Service) -> u32 {
        let connection = Some(Connection {
            handle,
            port,
            served: Served::new(service),
            is_armed_to_write: false,
            is_queued: false,
        });
        if let Some(slot) = self.free.pop() {
            self.slots[position(slot)] = connection;
            return slot;
        }
        self.slots.push(connection);
        u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
    }

    fn get(&mut self, slot: u32) -> Option<&mut Connection<H>> {
        self.slots.get_mut(position(slot))?.as_mut()
    }

    /// Whether it was not in the queue before.
    pub(super) fn enqueue(&mut self, slot: u32) -> bool {
        self.get(slot).is_some_and(|it| !std::mem::replace(&mut it.is_queued, true))
    }

    pub(super) fn dequeue(&mut self, slot: u32) {
        if let Some(connection) = self.get(slot) {
            connection.is_queued = false;
        }
    }

    /// Its handle, which is no longer served.
    pub(super) fn close(&mut self, slot: u32, counters: &[Counters]) -> Option<H> {
        let connection = self.slots.get_mut(position(slot)).and_then(Option::take)?;
        counters[position(connection.port)].closed.add(1);
        self.held -= connection.served.held();
        self.free.push(slot);
        Some(connection.handle)
    }

    /// The slots in use.
    pub(super) fn slots(&self) -> Vec<u32> {
        let used = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
        used.filter_map(|(nth, _)| u32::try_from(nth).ok()).collect()
    }

    /// Closes those that keep HTTP waiting for longer than so many seconds, and less than two more:
    /// seconds are counted as they begin.
    pub(super) fn sweep(&mut self, timeout: u32, counters: &[Counters], mut closed: impl FnMut(H)) {
        let now = self.buffers.now();
        for slot in 0..self.slots.len() {
            let Some(Connection { served, port, .. }) = &self.slots[slot] else { continue };
            if served.waits_since().is_some_and(|since| now.saturating_sub(since) > timeout) {
                counters[position(*port)].timed_out.add(1);
                let handle = self.close(u32::try_from(slot).unwrap_or(u32::MAX), counters);
                handle.into_iter().for_each(&mut closed);
            }
        }
    }

    /// Deals with bytes where they lie, as far as that is possible before something is written.
    pub(super) fn take_in_place(
        &mut self,
        slot: u32,
        bytes: &[u8],
        counters: &[Counters],
    ) -> usize {
        let Some(connection) = self.get(slot) else { return 0 };
        let counters = &counters[position(connection.port)];
        connection.served.take_in_place(bytes, counters)
    }

    /// Reads what there is and answers it; `has_ended` if the other end has ended or reset it. Who
    /// is told that it is over closes it. The stream is made of the handle, and of whether the
    /// other end has ended.
    pub(super) fn go_on<'a, S: Stream>(
        &'a mut self,
        slot: u32,
        has_ended: bool,
        counters: &[Counters],
        stream: impl FnOnce(&'a H, bool) -> S,
    ) -> Goes {
        let Some(Some(connection)) = self.slots.get_mut(position(slot)) else { return Goes::Ended };
        connection.served.has_ended |= has_ended;
        let counters_here = &counters[position(connection.port)];
        let held = connection.served.held();
        let mut stream = stream(&connection.handle, connection.served.has_ended);
        let goes = connection.served.go_on(&mut stream, &mut self.buffers, counters_here);
        self.held = self.held - held + connection.served.held();
        if self.held > HELD_MAX && connection.served.held() > 0 && goes != Goes::Ended {
            counters_here.turned_away.add(1);
            return Goes::Ended;
        }
        goes
    }
}

impl Connections<OwnedFd> {
    pub(super) fn socket(&self, slot: u32) -> Option<BorrowedFd<'_>> {
        self.slots.get(position(slot))?.as_ref().map(|connection| connection.handle.as_fd())
    }

    /// Whether it was not watched for room before.
    pub(super) fn arm_to_write(&mut self, slot: u32) -> bool {
        let connection = self.get(slot);
        connection.is_some_and(|it| !std::mem::replace(&mut it.is_armed_to_write, true))
    }

    /// Reads what there is and answers it, after this happened to it.
    pub(super) fn serve(&mut self, slot: u32, happened: EventFlags, counters: &[Counters]) -> Goes {
        let has_ended = happened.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        let goes = self.go_on(slot, has_ended, counters, |socket, _| Socket(socket));
        if goes == Goes::Ended {
            drop(self.close(slot, counters));
        }
        goes
    }
}

#[cfg(test)]
mod tests;
