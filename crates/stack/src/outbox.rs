//! What waits for the device: answers of ARP, neighbour discovery and ICMP, and UDP datagrams. TCP
//! keeps its own.

use alloc::{collections::VecDeque, vec::Vec};

use portolan_wire::ethernet::{self, EtherType};

use crate::{frame::Segmentation, ip::output::Header};

/// A packet without its outer headers, which are written when it leaves.
#[derive(Debug)]
pub struct Message {
    /// The outer headers.
    pub envelope: Envelope,
    /// An ARP packet, or that of an upper layer.
    pub bytes: Vec<u8>,
    /// Which program it is from.
    pub origin: Origin,
}

/// What a message goes in.
#[derive(Debug)]
pub enum Envelope {
    /// A frame to a hardware address.
    Link {
        /// The address.
        hardware: ethernet::Address,
        /// What the message is.
        ethertype: EtherType,
    },
    /// An IP packet.
    Ip(Packet),
}

/// How an IP packet is sent.
#[derive(Debug)]
pub struct Packet {
    /// Its header.
    pub header: Header,
    /// The neighbour's hardware address; none if it is to be found by the route.
    pub hardware: Option<ethernet::Address>,
    /// The fragments that were sent already end here, and have this identification.
    pub fragments: Option<(usize, u32)>,
    /// What is left to the device.
    pub offload: Offload,
}

/// What is left to the device. Lengths count from the upper layer's first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Whether the device completes the checksum of TCP.
    pub checksum: bool,
    /// How it cuts the segment.
    pub segmentation: Option<Segmentation>,
}

/// Who learns when a message cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: this host's own answers.
    Host,
    /// The one who bound the port.
    Udp,
    /// The connection.
    Tcp,
}

/// A queue with a limit, and buffers that are used again.
#[derive(Debug)]
pub struct Outbox {
    queue: VecDeque<Message>,
    bytes: usize,
    messages_max: usize,
    bytes_max: usize,
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    /// An empty queue for so many messages, and so many bytes.
    pub fn new(messages_max: usize, bytes_max: usize) -> Self {
        let queue = VecDeque::with_capacity(messages_max);
        Self { queue, bytes: 0, messages_max, bytes_max, spare: Vec::with_capacity(SPARE_MAX) }
    }

    /// An empty buffer for a message.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(SPARE_BYTES))
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        let is_usual = (SPARE_BYTES..=SPARE_BYTES_MAX).contains(&buffer.capacity());
        if is_usual && self.spare.len() < SPARE_MAX {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Whether a message of so many bytes fits. Programs may not fill the queue so far that this
    /// host could not answer.
    pub fn has_room(&self, len: usize, origin: Origin) -> bool {
        let (messages_max, bytes_max) = match origin {
            Origin::Host => (self.messages_max, self.bytes_max),
            Origin::Udp | Origin::Tcp => (self.messages_max / 4 * 3, self.bytes_max / 4 * 3),
        };
        self.queue.len() < messages_max && self.bytes.saturating_add(len) <= bytes_max
    }

    /// Puts the message at the end if there is room; whether there was.
    pub fn push(&mut self, message: Message) -> bool {
        let fits = self.has_room(message.bytes.len(), message.origin);
        if fits {
            self.resume(message);
        } else {
            self.recycle(message.bytes);
        }
        fits
    }

    /// Puts a message back that was taken out before, and had waited elsewhere, whose limit holds.
    pub fn resume(&mut self, message: Message) {
        self.bytes = self.bytes.saturating_add(message.bytes.len());
        self.queue.push_back(message);
    }

    /// Puts a message back of which only a part was sent.
    pub fn continue_with(&mut self, message: Message) {
        self.bytes = self.bytes.saturating_add(message.bytes.len());
        self.queue.push_front(message);
    }

    /// Takes the first one.
    pub fn pop(&mut self) -> Option<Message> {
        let message = self.queue.pop_front()?;
        self.bytes = self.bytes.saturating_sub(message.bytes.len());
        Some(message)
    }
}

const SPARE_MAX: usize = 64;
const SPARE_BYTES: usize = 2_048;
const SPARE_BYTES_MAX: usize = 16_384;

#[cfg(test)]
mod tests;
