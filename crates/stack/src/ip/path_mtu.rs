//! Which paths take smaller packets than the link does: RFC 1191, RFC 8201.

use core::{net::IpAddr, time::Duration};

use alloc::vec::Vec;

use crate::{
    Instant,
    keyed::{Keyed, KeyedMap},
};

/// What was learnt, about so many destinations at most.
///
/// The caller vouches that who sent an error had seen a packet of ours, as anybody can write one.
#[derive(Debug)]
pub struct PathMtus {
    link_mtu: u16,
    known: KeyedMap<IpAddr, Known>,
    /// The destinations in the order in which their places were taken.
    places: Vec<IpAddr>,
    /// The place that is given up next when all are taken.
    next: usize,
    limit: usize,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    mtu: u16,
    until: Instant,
}

impl PathMtus {
    /// Nothing is known but the link's MTU.
    pub fn new(link_mtu: u16, limit: usize, key: Keyed) -> Self {
        let known = KeyedMap::with_capacity_and_hasher(limit, key);
        Self { link_mtu, known, places: Vec::with_capacity(limit), next: 0, limit }
    }

    /// The largest packet in bytes that goes to the destination.
    pub fn get(&self, destination: IpAddr, now: Instant) -> u16 {
        let known = if self.known.is_empty() { None } else { self.known.get(&destination) };
        let valid = known.filter(|known| now < known.until);
        valid.map_or(self.link_mtu, |known| known.mtu.min(self.link_mtu))
    }

    /// A router on the way takes no larger packets than these. Whether that is news.
    ///
    /// A path does not get larger that way, and not smaller than hosts have to bear: RFC 8201,
    /// section 4; over IPv4 as with Linux's `min_pmtu`.
    pub fn reduce(&mut self, destination: IpAddr, mtu: u32, now: Instant) -> bool {
        let least = if destination.is_ipv4() { MTU_MIN_V4 } else { MTU_MIN_V6 };
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX).max(least);
        if mtu >= self.get(destination, now) || self.limit == 0 {
            return false;
        }
        let known = Known { mtu, until: now + LIFETIME };
        if let Some(old) = self.known.get_mut(&destination) {
            *old = known;
            return true;
        }
        if let Some(oldest) = self.places.get_mut(self.next)
            && self.known.len() >= self.limit
        {
            self.known.remove(oldest);
            *oldest = destination;
            self.next = (self.next + 1) % self.limit;
        } else {
            self.places.push(destination);
        }
        self.known.insert(destination, known);
        true
    }

    /// How many destinations are known.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.known.len()
    }
}

/// The next smaller MTU that links have, for errors that say none: RFC 1191, section 7.
pub fn plateau_below(length: usize) -> u32 {
    PLATEAUS.into_iter().find(|plateau| (*plateau as usize) < length).unwrap_or(68)
}

/// As Linux: /proc/sys/net/ipv4/route/min_pmtu.
const MTU_MIN_V4: u16 = 552;
/// RFC 8200, section 5.
pub const MTU_MIN_V6: u16 = 1_280;
/// RFC 1191, section 6.3; RFC 8201, section 5.3.
const LIFETIME: Duration = Duration::from_secs(600);
const PLATEAUS: [u32; 10] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];

#[cfg(test)]
mod tests;
