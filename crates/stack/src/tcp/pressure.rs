//! What is done when the blocks of memory run short: nobody gets much more, and who finds none is
//! told when there are some again.

use alloc::collections::VecDeque;

use super::{Context, Ready, Tcp, Teller};

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

/// Who waits for blocks, the first one first.
pub(super) type Starved = VecDeque<u32>;

/// The congestion window of a fast path may be more; but it is something to go on with.
const SEND_UNDER_PRESSURE: u32 = 16_384;
