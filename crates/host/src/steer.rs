//! Which queue a frame belongs to, where the device has several (software RSS).
//!
//! The device spreads frames among its queues as it likes, and may change its mind within a
//! connection: a TAP follows whoever sent last. Each connection is known to one stack alone, so the
//! thread that finds a frame of another's hands it over.

use std::{net::IpAddr, ops::RangeInclusive};

use portolan_stack::{Joined, random::Key};
use portolan_wire::{
    arp,
    ethernet::{EtherType, Packet},
    ipv4, ipv6, protocol,
};

/// To which queue a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// To this one.
    Queue(usize),
    /// To each, because each has to learn from it: answers of neighbours, and errors about what
    /// was sent, which only its sender believes.
    All,
}

/// The rules, the same for all queues of a host.
#[derive(Debug)]
pub(crate) struct Steering {
    queues: usize,
    ports: RangeInclusive<u16>,
    key: Key,
}

impl Steering {
    /// `ports` are those that connections are opened from.
    pub(crate) fn new(queues: usize, ports: RangeInclusive<u16>, key: Key) -> Self {
        Self { queues, ports, key }
    }

    pub(crate) fn queues(&self) -> usize {
        self.queues
    }

    /// The part of the ports that the connections of one queue are opened from, so that their
    /// answers find back to it. Empty if there are more queues than ports.
    pub(crate) fn ports_of(&self, queue: usize) -> RangeInclusive<u16> {
        let (first, count) = (usize::from(*self.ports.start()), self.ports.len());
        let bound = |nth: usize| first + (nth * count).div_ceil(self.queues);
        let port = |port: usize| u16::try_from(port).unwrap_or(u16::MAX);
        let (begin, end) = (bound(queue), bound(queue + 1));
        if begin == end {
            #[allow(clippy::reversed_empty_ranges, reason = "no port at all")]
            return 1..=0;
        }
        port(begin)..=port(end - 1)
    }

    /// Where connections from another end to a port of this host are.
    pub(crate) fn of_flow(&self, local: (IpAddr, u16), remote: (IpAddr, u16)) -> usize {
        if self.ports.contains(&local.1) {
            let nth = usize::from(local.1 - self.ports.start());
            return nth * self.queues / self.ports.len().max(1);
        }
        let mut message = [0; 36];
        for (to, (address, port)) in message.chunks_exact_mut(18).zip([local, remote]) {
            let octets = match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            to[..16].copy_from_slice(&octets);
            to[16..].copy_from_slice(&port.to_be_bytes());
        }
        let hash = self.key.hash_hidden(&message) >> 32;
        // The upper half of a product of 32 bits each: evenly spread, without a division.
        usize::try_from((hash * self.queues as u64) >> 32).unwrap_or(0)
    }

    /// Where a frame belongs. What cannot be read goes to the first queue, which counts it.
    pub(crate) fn of_frame(&self, frame: &[u8]) -> Whose {
        self.find(frame).unwrap_or(Whose::Queue(0))
    }

    /// Where a datagram belongs that was put together from fragments, which all go to the first
    /// queue.
    pub(crate) fn of_joined(&self, joined: &Joined) -> Whose {
        let ends = (joined.source(), joined.destination());
        self.of_upper(ends, joined.protocol(), joined.payload()).unwrap_or(Whose::Queue(0))
    }

    fn of_upper(&self, ends: (IpAddr, IpAddr), protocol: u8, payload: &[u8]) -> Option<Whose> {
        match (protocol, ends.0) {
            (protocol::ICMPV4, IpAddr::V4(_)) => of_message(payload, &ICMPV4_FOR_ALL),
            (protocol::ICMPV6, IpAddr::V6(_)) => of_message(payload, &ICMPV6_FOR_ALL),
            _ => self.of_ports(protocol, ends, payload),
        }
    }

    fn find(&self, frame: &[u8]) -> Option<Whose> {
        let frame = Packet::parse(frame).ok()?;
        match frame.ethertype() {
            EtherType::ARP => {
                let arp = arp::Packet::parse(frame.payload()).ok()?;
                let is_announced = arp.sender_protocol() == arp.target_protocol();
                let is_for_all = arp.operation() == arp::Operation::Reply || is_announced;
                is_for_all.then_some(Whose::All)
            }
            EtherType::IPV4 => {
                let packet = ipv4::Packet::parse(frame.payload()).ok()?;
                let ends = (packet.source().into(), packet.destination().into());
                // Its parts meet in one place.
                let is_whole = !packet.is_fragment();
                is_whole.then(|| self.of_upper(ends, packet.protocol(), packet.payload()))?
            }
            EtherType::IPV6 => {
                let packet = ipv6::Packet::parse(frame.payload()).ok()?;
                let ends = (packet.source().into(), packet.destination().into());
                let upper = packet.upper_layer().ok()?;
                // RFC 6946: one that is all there is no part.
                let is_part = |of: ipv6::Fragment| of.offset > 0 || of.more_fragments;
                let is_whole = !upper.fragment.is_some_and(is_part);
                is_whole.then(|| self.of_upper(ends, upper.protocol, upper.payload))?
            }
            _ => None,
        }
    }

    fn of_ports(&self, protocol: u8, ends: (IpAddr, IpAddr), payload: &[u8]) -> Option<Whose> {
        // UDP's ports are at the same place (RFC 768).
        if protocol != protocol::TCP && protocol != protocol::UDP {
            return None;
        }
        let [a, b, c, d, ..] = payload else { return None };
        let (source, destination) = (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
        Some(Whose::Queue(self.of_flow((ends.1, destination), (ends.0, source))))
    }
}

fn of_message(message: &[u8], for_all: &[u8]) -> Option<Whose> {
    message.first().filter(|kind| for_all.contains(kind)).map(|_| Whose::All)
}

/// Unreachable, time exceeded, parameter problem: RFC 792.
const ICMPV4_FOR_ALL: [u8; 3] = [3, 11, 12];

/// The four errors of RFC 4443, and the advertisements of RFC 4861.
const ICMPV6_FOR_ALL: [u8; 6] = [1, 2, 3, 4, 134, 136];

#[cfg(test)]
mod tests;
