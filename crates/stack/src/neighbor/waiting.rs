//! Packets whose neighbour is still asked for its hardware address: RFC 1122, section 2.3.2.2;
//! RFC 4861, section 7.2.2.

use core::net::IpAddr;

use alloc::collections::VecDeque;

use crate::outbox::Message;

/// A few packets, which are gone through.
#[derive(Debug, Default)]
pub struct Waiting {
    queue: VecDeque<(IpAddr, Message)>,
    bytes: usize,
}

impl Waiting {
    /// Keeps the packet; gives one back that is not kept: the oldest one for this neighbour if
    /// there are too many for it, or else the new one if there are too many in all.
    pub fn push(&mut self, neighbor: IpAddr, message: Message) -> Option<Message> {
        let mine = self.queue.iter().filter(|(one, _)| *one == neighbor).count();
        let oldest = if mine >= PER_NEIGHBOR_MAX { self.take(neighbor) } else { None };
        let len = message.bytes.len();
        if self.queue.len() >= PACKETS_MAX || self.bytes.saturating_add(len) > BYTES_MAX {
            // At most one is given back: the new one is not kept, so the old one can stay.
            if let Some(oldest) = oldest {
                self.bytes = self.bytes.saturating_add(oldest.bytes.len());
                self.queue.push_back((neighbor, oldest));
            }
            return Some(message);
        }
        self.bytes += len;
        self.queue.push_back((neighbor, message));
        oldest
    }

    /// Takes the first packet for the neighbour.
    pub fn take(&mut self, neighbor: IpAddr) -> Option<Message> {
        let at = self.queue.iter().position(|(one, _)| *one == neighbor)?;
        let (_, message) = self.queue.remove(at)?;
        self.bytes = self.bytes.saturating_sub(message.bytes.len());
        Some(message)
    }

    /// How many packets wait.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.queue.len()
    }
}

const PACKETS_MAX: usize = 64;
const PER_NEIGHBOR_MAX: usize = 4;
const BYTES_MAX: usize = 256 * 1024;

#[cfg(test)]
mod tests;
