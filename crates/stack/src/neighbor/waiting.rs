//! Packets whose neighbour is still asked for its hardware address: RFC 1122, section 2.3.2.2;
//! RFC 4861, section 7.2.2.

use core::net::IpAddr;

use alloc::collections::VecDeque;

use portolan_wire::tcp::{self, Quoted};

use crate::outbox::{Envelope, Message, Origin};

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

    /// Puts a segment in the place of one that waits and that it sends again, so that only one of
    /// the two leaves; answers that one, or the segment itself if there is none. Linux does not
    /// send again what has not left (`skb_still_in_host_queue`, net/ipv4/tcp_output.c); here the
    /// newer one is kept, with the later acknowledgment and timestamp.
    pub fn replace(&mut self, neighbor: IpAddr, message: Message) -> Result<Message, Message> {
        let Some(begin) = beginning(&message) else { return Err(message) };
        let mut mine = self.queue.iter_mut().filter(|(one, _)| *one == neighbor);
        let Some((_, older)) = mine.find(|(_, older)| beginning(older) == Some(begin)) else {
            return Err(message);
        };
        let bytes = self.bytes.saturating_sub(older.bytes.len());
        let bytes = bytes.saturating_add(message.bytes.len());
        if bytes > BYTES_MAX {
            return Err(message);
        }
        self.bytes = bytes;
        Ok(core::mem::replace(older, message))
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

/// Which connection a segment is of, and with which number it begins; none if it takes no number,
/// and so is never sent again.
fn beginning(message: &Message) -> Option<(IpAddr, IpAddr, Quoted)> {
    let Envelope::Ip(packet) = &message.envelope else { return None };
    if message.origin != Origin::Tcp {
        return None;
    }
    let segment = tcp::Packet::parse(&message.bytes).ok()?;
    if segment.sequence_len() == 0 {
        return None;
    }
    let quoted = tcp::Packet::parse_quoted_ports(&message.bytes)?;
    Some((packet.header.source, packet.header.destination, quoted))
}

const PACKETS_MAX: usize = 64;
const PER_NEIGHBOR_MAX: usize = 4;
const BYTES_MAX: usize = 256 * 1024;

#[cfg(test)]
mod tests;
