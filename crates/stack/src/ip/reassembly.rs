//! Datagrams from their fragments: RFC 791, section 3.2; RFC 8200, section 4.5; RFC 5722.
//!
//! All costs are bounded: so many datagrams at once, so many of one source, so many fragments of
//! each, so many bytes in all, and a quarter of them of one source. A fragment is found and placed
//! by going through these few. What is too much takes the place of the oldest: of the same source
//! if that has its share, so that it harms itself alone; else of all. A new one is never refused
//! for old ones, which anybody can send in another's name and leave unfinished.

use core::{net::IpAddr, time::Duration};

use alloc::vec::Vec;

use super::carrier::{Carrier, Part};
use crate::{Instant, counters::Dropped};

/// A datagram that is whole.
#[derive(Debug)]
pub struct Whole {
    /// Its carrier. The first fragment, which it should point to, is `head`.
    pub carrier: Carrier<'static>,
    /// The first header of `data`.
    pub protocol: u8,
    /// The joined payloads.
    pub data: Vec<u8>,
    /// The beginning of the first fragment's packet, for an error to quote.
    pub head: Vec<u8>,
}

/// A datagram of which a part did not come in time.
#[derive(Debug)]
pub struct Expired {
    /// Its carrier, without the packet.
    pub carrier: Carrier<'static>,
    /// The beginning of the first fragment's packet; empty if that did not come.
    pub head: Vec<u8>,
}

/// What fragments of one datagram have in common.
type Name = (IpAddr, IpAddr, u32, u8);

#[derive(Debug)]
struct Datagram {
    name: Name,
    carrier: Carrier<'static>,
    deadline: Instant,
    /// The first header of the first fragment.
    protocol: u8,
    head: Vec<u8>,
    /// In the order of their offsets; they do not overlap.
    pieces: Vec<(u16, Vec<u8>)>,
    received: usize,
    /// Where the last fragment ends.
    total: Option<usize>,
    /// Fragments overlapped: the rest is thrown away as well.
    is_spoilt: bool,
}

impl Datagram {
    fn cost(&self) -> usize {
        self.received + self.pieces.len() * PIECE_COST + self.head.len()
    }
}

/// All datagrams of which fragments have come.
#[derive(Debug)]
pub struct Reassembly {
    /// In the order in which they began, but for those of IPv6, which stay longer.
    datagrams: Vec<Datagram>,
    bytes: usize,
    bytes_max: usize,
    /// How many were given up for others.
    evicted: u64,
    /// How many comparisons and moves were made, at most so many for each fragment.
    steps: u64,
}

impl Reassembly {
    /// Nothing has come. With 0 bytes, no fragments are kept.
    pub fn new(bytes_max: usize) -> Self {
        Self { datagrams: Vec::new(), bytes: 0, bytes_max, evicted: 0, steps: 0 }
    }

    /// Takes a fragment; says what is whole with it.
    ///
    /// # Errors
    ///
    /// Why it is dropped.
    pub fn insert(
        &mut self,
        carrier: &Carrier<'_>,
        part: &Part<'_>,
        now: Instant,
    ) -> Result<Option<Whole>, Dropped> {
        let end = usize::from(part.offset) + part.payload.len();
        let is_odd = part.more && !part.payload.len().is_multiple_of(8);
        let is_long = end + carrier.header_len > usize::from(u16::MAX) && carrier.source.is_ipv4();
        if part.payload.is_empty() || is_odd || is_long || end > usize::from(u16::MAX) {
            return Err(Dropped::FragmentMalformed);
        }
        let at = self.find_or_begin(carrier, part, now);
        let cost = part.payload.len() + PIECE_COST + HEAD_BYTES_MAX;
        let at = self.make_share(cost, at);
        let at = self.make_room(cost, at)?;
        let Some(datagram) = self.datagrams.get_mut(at) else {
            return Err(Dropped::FragmentLimit);
        };
        let before = datagram.cost();
        let placed = datagram.place(carrier, part, end, &mut self.steps);
        self.bytes = (self.bytes + datagram.cost()).saturating_sub(before);
        placed?;
        let is_whole = datagram.total == Some(datagram.received);
        Ok(if is_whole { self.take(at) } else { None })
    }

    fn find_or_begin(&mut self, carrier: &Carrier<'_>, part: &Part<'_>, now: Instant) -> usize {
        // RFC 791: the protocol is part of the name; over IPv6 fragments may name others: RFC 8200.
        let protocol = if carrier.source.is_ipv4() { part.protocol } else { 0 };
        let name = (carrier.source, carrier.destination, part.identification, protocol);
        self.steps += self.datagrams.len() as u64;
        if let Some(at) = self.datagrams.iter().position(|one| one.name == name) {
            return at;
        }
        let is_same = |one: &Datagram| one.carrier.source == carrier.source;
        self.steps += self.datagrams.len() as u64;
        if self.datagrams.iter().filter(|one| is_same(one)).count() >= PER_SOURCE_MAX {
            self.evict(self.datagrams.iter().position(is_same).unwrap_or(0));
        } else if self.datagrams.len() >= DATAGRAMS_MAX {
            self.evict(0);
        }
        let patience = if carrier.source.is_ipv4() { PATIENCE_V4 } else { PATIENCE_V6 };
        self.datagrams.push(Datagram {
            name,
            carrier: Carrier { packet: &[], ..*carrier },
            deadline: now + patience,
            protocol: part.protocol,
            head: Vec::new(),
            pieces: Vec::new(),
            received: 0,
            total: None,
            is_spoilt: false,
        });
        self.datagrams.len() - 1
    }

    /// Gives up the oldest other ones of the datagram's source while they all have more than its
    /// share with so many bytes more; says where the datagram is then.
    fn make_share(&mut self, cost: usize, mut at: usize) -> usize {
        let Some(source) = self.datagrams.get(at).map(|one| one.carrier.source) else { return at };
        let is_same = |one: &Datagram| one.carrier.source == source;
        self.steps += self.datagrams.len() as u64;
        let own = self.datagrams.iter().filter(|one| is_same(one));
        let mut bytes = own.map(Datagram::cost).sum::<usize>() + cost;
        while bytes > self.bytes_max / SHARE {
            let mut others = self.datagrams.iter().enumerate().filter(|(nth, _)| *nth != at);
            let oldest = others.find(|(_, one)| is_same(one));
            let Some((oldest, freed)) = oldest.map(|(nth, one)| (nth, one.cost())) else { break };
            self.evict(oldest);
            at -= usize::from(oldest < at);
            bytes -= freed;
        }
        at
    }

    /// Gives up the oldest ones until there is room; says where the datagram is then.
    fn make_room(&mut self, cost: usize, mut at: usize) -> Result<usize, Dropped> {
        while self.bytes + cost > self.bytes_max {
            match (at, self.datagrams.len()) {
                (0, ..=1) => {
                    self.evict(0);
                    return Err(Dropped::FragmentLimit);
                }
                (0, _) => self.evict(1),
                _ => {
                    self.evict(0);
                    at -= 1;
                }
            }
        }
        Ok(at)
    }

    fn evict(&mut self, at: usize) {
        self.remove(at);
        self.evicted += 1;
    }

    fn remove(&mut self, at: usize) -> Option<Datagram> {
        if at >= self.datagrams.len() {
            return None;
        }
        self.steps += self.datagrams.len() as u64;
        let datagram = self.datagrams.remove(at);
        self.bytes = self.bytes.saturating_sub(datagram.cost());
        Some(datagram)
    }

    fn take(&mut self, at: usize) -> Option<Whole> {
        let datagram = self.remove(at)?;
        let mut data = Vec::with_capacity(datagram.received);
        for (_, piece) in &datagram.pieces {
            data.extend_from_slice(piece);
        }
        let Datagram { carrier, protocol, head, .. } = datagram;
        Some(Whole { carrier, protocol, data, head })
    }

    /// A datagram for which it is too late. Call it until there is none.
    pub fn expire(&mut self, now: Instant) -> Option<Expired> {
        let at = self.datagrams.iter().position(|one| now >= one.deadline)?;
        let Datagram { carrier, head, .. } = self.remove(at)?;
        Some(Expired { carrier, head })
    }

    /// When it is too late for the first one.
    pub fn deadline(&self) -> Option<Instant> {
        self.datagrams.iter().map(|one| one.deadline).min()
    }

    /// How many datagrams were given up for others since the last call.
    pub fn take_evicted(&mut self) -> u64 {
        core::mem::take(&mut self.evicted)
    }

    /// How many bytes are kept, with what keeping them costs.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Datagram {
    /// Puts the fragment where it belongs.
    fn place(
        &mut self,
        carrier: &Carrier<'_>,
        part: &Part<'_>,
        end: usize,
        steps: &mut u64,
    ) -> Result<(), Dropped> {
        if self.is_spoilt {
            return Err(Dropped::FragmentOverlap);
        }
        *steps += u64::from(usize::BITS - self.pieces.len().leading_zeros()) + 1;
        let at = self.pieces.partition_point(|(offset, _)| *offset < part.offset);
        let behind = self.pieces.get(at);
        if behind.is_some_and(|(offset, piece)| *offset == part.offset && piece == part.payload) {
            return Err(Dropped::FragmentDuplicate);
        }
        let before = at.checked_sub(1).and_then(|at| self.pieces.get(at));
        let overlaps = before
            .is_some_and(|(offset, piece)| usize::from(*offset) + piece.len() > part.offset.into())
            || behind.is_some_and(|(offset, _)| usize::from(*offset) < end);
        let last_end = self.pieces.last().map_or(0, |(at, piece)| usize::from(*at) + piece.len());
        let contradicts = match (part.more, self.total) {
            (true, Some(total)) => end > total,
            (true, None) => false,
            (false, Some(total)) => end != total,
            (false, None) => last_end > end,
        };
        if overlaps || contradicts {
            self.spoil();
            return Err(Dropped::FragmentOverlap);
        }
        if self.pieces.len() >= PIECES_MAX {
            return Err(Dropped::FragmentLimit);
        }
        if !part.more {
            self.total = Some(end);
        }
        if part.offset == 0 {
            self.protocol = part.protocol;
            let head = carrier.packet.get(..HEAD_BYTES_MAX).unwrap_or(carrier.packet);
            self.head = head.to_vec();
            let congested = self.carrier.traffic_class & CONGESTION;
            self.carrier = Carrier { packet: &[], ..*carrier };
            self.mark(congested);
        }
        self.mark(carrier.traffic_class & CONGESTION);
        *steps += (self.pieces.len() - at) as u64;
        self.pieces.insert(at, (part.offset, part.payload.to_vec()));
        self.received += part.payload.len();
        Ok(())
    }

    /// RFC 3168, section 5.3: congestion that one fragment met, the datagram met.
    fn mark(&mut self, congestion: u8) {
        if congestion == CONGESTION {
            self.carrier.traffic_class |= CONGESTION;
        }
    }

    /// RFC 5722, section 4: the datagram and all fragments that are still to come are thrown away.
    fn spoil(&mut self) {
        self.is_spoilt = true;
        self.pieces = Vec::new();
        self.head = Vec::new();
        self.received = 0;
        self.total = None;
    }
}

/// How many datagrams are put together at once.
const DATAGRAMS_MAX: usize = 64;
/// How many of them may be of one source.
const PER_SOURCE_MAX: usize = 16;
/// Which part of the bytes may be of one source, unless it is one datagram.
const SHARE: usize = 4;
/// How many fragments a datagram may have: 65,535 bytes over a link of 576.
const PIECES_MAX: usize = 128;
/// What a fragment costs besides its bytes.
const PIECE_COST: usize = 64;
/// As much as an error over IPv6 quotes at most.
const HEAD_BYTES_MAX: usize = 1_232;
/// As Linux: net.ipv4.ipfrag_time; RFC 1122, section 3.3.2, would have 60 at least.
const PATIENCE_V4: Duration = Duration::from_secs(30);
/// RFC 8200, section 4.5.
const PATIENCE_V6: Duration = Duration::from_secs(60);
/// The bits of ECN, both set.
const CONGESTION: u8 = 3;

#[cfg(test)]
mod tests;
