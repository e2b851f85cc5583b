//! What is done when the blocks of memory run short: nobody gets much more, who finds none is told
//! when there are some again, and what silent peers have sent behind a gap is dropped.

use alloc::collections::VecDeque;
use core::time::Duration;

use super::{ConnectionId, Context, Ready, Tcp, Teller};
use crate::Instant;

impl Context<'_> {
    /// How many bytes of one connection may wait to be sent or acknowledged. With few blocks left
    /// it is less, so that peers who do not read take no memory from those who do.
    pub(super) fn send_limit(&self) -> u32 {
        let limit = self.config.send_buffer_bytes;
        let is_short = self.pool.is_half_used();
        if is_short { limit.min(SEND_UNDER_PRESSURE) } else { limit }
    }
}

impl Tcp {
    /// The program found no block for what it wrote, and nothing of the connection is on its way
    /// whose acknowledgment could tell it to try again.
    pub(super) fn wait_for_blocks(&mut self, index: u32) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if !core::mem::replace(&mut connection.owner.is_starved, true) {
            self.starved.push_back(index);
        }
    }

    /// Tells as many of those who wait as there are blocks.
    pub(super) fn wake_starved(&mut self) {
        if self.starved.is_empty() {
            return;
        }
        let mut free = self.pool.left_for_writers();
        while free > 0
            && let Some(index) = self.starved.pop_front()
        {
            let Some(connection) = self.connections.get_mut(index) else { continue };
            let owner = &mut connection.owner;
            if !core::mem::take(&mut owner.is_starved) {
                continue;
            }
            free -= 1;
            owner.ready |= Ready::WRITABLE;
            if !core::mem::replace(&mut owner.is_queued, true) {
                self.tellers.push_back(Teller::Connection(index));
            }
        }
    }
}

impl Tcp {
    /// The connection has begun to hold early data.
    pub(super) fn remember_holder(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id.index) else { return };
        connection.receiver.is_holder = true;
        self.holders.push_back(id);
        // Twice as many are looked at as come: those who hold no more are never more than those who
        // do, and a few.
        for _ in 0..2 {
            let Some(first) = self.holders.pop_front() else { return };
            if self.holds_early_data(first) {
                self.holders.push_back(first);
            }
        }
    }

    /// Drops the early data of a few who have not filled their gap for long, but for that of
    /// `index`: RFC 2018, section 8, allows it, and the peer sends it again if it is there (RFC
    /// 9293, section 3.10.7.4 only asks to keep it). Who is about to mend a loss is left in peace.
    pub(super) fn discard_early_data(&mut self, index: u32, now: Instant) {
        for _ in 0..HOLDERS_PER_SEGMENT.min(self.holders.len()) {
            let Some(first) = self.holders.pop_front() else { return };
            if !self.holds_early_data(first) {
                continue;
            }
            self.holders.push_back(first);
            if first.index != index {
                self.discard_if_silent(first.index, now);
            }
            if !self.pool.is_filling() {
                return;
            }
        }
    }

    /// Whether the one from the queue has to stay there.
    fn holds_early_data(&mut self, id: ConnectionId) -> bool {
        let is_same = self.connections.generation(id.index) == Some(id.generation);
        let Some(connection) = self.connections.get_mut(id.index).filter(|_| is_same) else {
            return false;
        };
        connection.receiver.is_holder = connection.receiver.holds_early_data();
        connection.receiver.is_holder
    }

    fn discard_if_silent(&mut self, index: u32, now: Instant) {
        let (mut context, connections) = self.context(now);
        let Some(connection) = connections.get_mut(index) else { return };
        let receiver = &mut connection.receiver;
        let since = receiver.reassembly.as_deref().map(|reassembly| reassembly.since());
        if since.is_some_and(|since| now.since(since) >= GAP_PATIENCE) {
            receiver.discard_early_data(&mut context);
            context.counters.early_discarded += 1;
        }
    }
}

/// Who holds early data, each connection once; among them some who do not any more. It is gone
/// round in a circle.
pub(super) type Holders = VecDeque<ConnectionId>;

/// Who waits for blocks, the first one first.
pub(super) type Starved = VecDeque<u32>;

/// The congestion window of a fast path may be more; but it is something to go on with.
const SEND_UNDER_PRESSURE: u32 = 16_384;

/// How many of those who hold early data are looked at for one segment.
const HOLDERS_PER_SEGMENT: usize = 4;

/// How long a gap may be open before what lies behind it is dropped if memory is short. A sender
/// that is there has sent what was lost a second time by then: the first timeout is a second where
/// nothing is known of the way, the next one two (RFC 6298, sections 2.1 and 5.5).
const GAP_PATIENCE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
