//! SYNs under way, and what proves that an answer is to one of them.
//!
//! An answer is believed if it comes from the target's address and port to the source port that
//! was asked from, acknowledges the initial sequence number of that very check, and its checksum
//! holds. The number is a keyed hash of the tuple, moved on with each check, so that who did not
//! see the SYN has one chance in four billion for each segment that he forges (RFC 6528 has the
//! same argument for connections).

use std::{
    hash::Hasher,
    net::{IpAddr, SocketAddr},
};

use hashbrown::HashTable;
use portolan_wire::{
    Seq,
    tcp::{self, Quoted},
};
use siphasher::sip::SipHasher13;

use super::{ports::Ports, segment};
use crate::{Answer, Id};

/// What an arriving packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// An answer.
    Answer(Id, Answer),
    /// About none of the SYNs under way: somebody else's, or a second answer.
    Foreign,
    /// About one of them, but its sender has not seen that SYN, or it was damaged.
    Forged,
}

/// One SYN under way; if it is sent again, it is the same.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Who is asked.
    pub target: SocketAddr,
    /// The address that it is asked from.
    pub source: IpAddr,
    /// The port that it is asked from.
    pub source_port: u16,
    /// The initial sequence number.
    pub sequence: Seq,
    hash: u64,
    /// Questions so far.
    attempts: u8,
}

/// All SYNs under way from one block of ports.
#[derive(Debug)]
pub struct Flights {
    key: (u64, u64),
    ports: Ports,
    by_tuple: HashTable<u32>,
    flights: Vec<Option<Flight>>,
    /// How many were launched, round and round.
    launched: u32,
    /// The place of the last of them.
    newest: u32,
}

impl Flight {
    /// Whether it goes to this address and port from this port, whatever the zone.
    fn is_between(&self, target: SocketAddr, source_port: u16) -> bool {
        self.source_port == source_port
            && (self.target.ip(), self.target.port()) == (target.ip(), target.port())
    }
}

impl Flights {
    /// None yet, from these ports; `key` is secret and random.
    pub fn new(key: (u64, u64), ports: Ports) -> Self {
        Self { key, ports, by_tuple: HashTable::new(), flights: Vec::new(), launched: 0, newest: 0 }
    }

    /// The ports.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// How many are under way.
    pub fn count(&self) -> usize {
        self.by_tuple.len()
    }

    /// The SYN of check `id` to `target`, which is asked for the first time or once more; `None`
    /// when every source port has one under way to the same target.
    pub fn launch(&mut self, id: Id, target: SocketAddr, source: IpAddr) -> Option<(Flight, u8)> {
        let place = id.0 as usize;
        if self.flights.len() <= place {
            self.flights.resize(place + 1, None);
        }
        if let Some(flight) = &mut self.flights[place] {
            let attempt = flight.attempts;
            flight.attempts = flight.attempts.saturating_add(1);
            return Some((*flight, attempt));
        }
        self.launched = self.launched.wrapping_add(1);
        let (source_port, hash) = self.free_port(target)?;
        // Odd, so that it takes all values; a check differs from the one before it by far.
        let moved = self.launched.wrapping_mul(0x9e37_79b9);
        #[allow(clippy::cast_possible_truncation, reason = "the lower half")]
        let sequence = Seq((hash as u32).wrapping_add(moved));
        let flight = Flight { target, source, source_port, sequence, hash, attempts: 1 };
        self.flights[place] = Some(flight);
        self.newest = id.0;
        let hash_of = rehash(&self.flights);
        self.by_tuple.insert_unique(hash, id.0, hash_of);
        Some((flight, 0))
    }

    /// The last question was not sent after all.
    pub fn take_back(&mut self, id: Id) {
        let Some(Some(flight)) = self.flights.get_mut(id.0 as usize) else { return };
        flight.attempts = flight.attempts.saturating_sub(1);
        if flight.attempts == 0 {
            self.land(id);
        }
    }

    /// The check is over.
    pub fn land(&mut self, id: Id) {
        let Some(flight) = self.flights.get_mut(id.0 as usize).and_then(Option::take) else {
            return;
        };
        if let Ok(entry) = self.by_tuple.find_entry(flight.hash, |&place| place == id.0) {
            entry.remove();
        }
    }

    /// A TCP segment came from `source`; `is_cut` if the end of it is not there.
    pub fn hear_segment(&self, source: IpAddr, bytes: &[u8], is_cut: bool) -> Heard {
        let Ok(packet) = tcp::Packet::parse(bytes) else { return Heard::Foreign };
        let from = SocketAddr::new(source, packet.source_port());
        let Some((id, flight)) = self.find(from, packet.destination_port()) else {
            return Heard::Foreign;
        };
        let said = segment::conclude(&packet, flight.sequence, flight.attempts);
        // What is cut cannot be checked, and an answer to a SYN is not that long.
        let Some(answer) = said.filter(|_| !is_cut && segment::is_whole(&packet, source, flight))
        else {
            return Heard::Forged;
        };
        Heard::Answer(id, answer)
    }

    /// An ICMP error came about a packet to `destination`, of which it quotes this much of TCP.
    pub fn hear_error(&self, destination: IpAddr, quoted: Quoted, answer: Answer) -> Heard {
        let to = SocketAddr::new(destination, quoted.destination_port);
        let Some((id, flight)) = self.find(to, quoted.source_port) else { return Heard::Foreign };
        if quoted.sequence == flight.sequence { Heard::Answer(id, answer) } else { Heard::Forged }
    }

    fn find(&self, target: SocketAddr, source_port: u16) -> Option<(Id, &Flight)> {
        if !self.ports.contains(source_port) {
            return None;
        }
        // Where one check follows the other, it is this one.
        let newest = self.flights.get(self.newest as usize).and_then(Option::as_ref);
        match newest {
            Some(flight) if flight.is_between(target, source_port) => {
                Some((Id(self.newest), flight))
            }
            _ => self.find_hashed(self.hash(target, source_port), target, source_port),
        }
    }

    fn find_hashed(
        &self,
        hash: u64,
        target: SocketAddr,
        source_port: u16,
    ) -> Option<(Id, &Flight)> {
        let is_it = |&place: &u32| {
            let flight = self.flights.get(place as usize).and_then(Option::as_ref);
            flight
                .is_some_and(|flight| flight.hash == hash && flight.is_between(target, source_port))
        };
        let place = *self.by_tuple.find(hash, is_it)?;
        Some((Id(place), self.flights.get(place as usize)?.as_ref()?))
    }

    /// A source port that has no SYN under way to `target`, and the hash of the tuple.
    fn free_port(&self, target: SocketAddr) -> Option<(u16, u64)> {
        // One after the other, so that a peer that still knows the last check from a port is left
        // alone by the next one.
        (0..self.ports.count).find_map(|step| {
            let port = self.ports.nth(self.launched, step);
            let hash = self.hash(target, port);
            self.find_hashed(hash, target, port).is_none().then_some((port, hash))
        })
    }

    /// Of target and source port, without the zone of an address: what came does not always
    /// tell it.
    fn hash(&self, target: SocketAddr, source_port: u16) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        match target.ip() {
            IpAddr::V4(ip) => hasher.write(&ip.octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.write_u32(u32::from(target.port()) << 16 | u32::from(source_port));
        hasher.finish()
    }
}

fn rehash(flights: &[Option<Flight>]) -> impl Fn(&u32) -> u64 {
    |&place| flights.get(place as usize).and_then(Option::as_ref).map_or(0, |flight| flight.hash)
}

#[cfg(test)]
mod tests;
