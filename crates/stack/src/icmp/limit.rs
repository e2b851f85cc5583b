//! How many ICMP errors are sent: RFC 4443, section 2.4 (f); RFC 1812, section 4.3.2.8.

use core::{net::IpAddr, time::Duration};

use alloc::vec::Vec;

use crate::{Instant, keyed::Keyed, random::Random};

/// A bucket of tokens in all, and one for each group of destinations that share a hash.
#[derive(Debug)]
pub struct Limiter {
    all: Bucket,
    destinations: Vec<Bucket>,
    key: Keyed,
    random: Random,
}

impl Limiter {
    /// All buckets are full. The key says which destinations share one.
    pub fn new(key: Keyed, random: Random) -> Self {
        let destinations = (0..BUCKETS).map(|_| Bucket::default()).collect();
        Self { all: Bucket::default(), destinations, key, random }
    }

    /// Whether one more may be sent there; if so, it is counted.
    pub fn allow(&mut self, destination: IpAddr, now: Instant) -> bool {
        let hash = match destination {
            IpAddr::V4(address) => self.key.hash(&address.to_bits()),
            // Of a network, anybody has as many addresses as he likes.
            IpAddr::V6(address) => self.key.hash(&(address.to_bits() >> 64)),
        };
        let [.., which] = hash.to_be_bytes();
        let Some(one) = self.destinations.get_mut(usize::from(which) % BUCKETS) else {
            return false;
        };
        if !one.has(DESTINATION_INTERVAL, DESTINATION_BURST, now) {
            return false;
        }
        if !self.all.has(INTERVAL, BURST, now) {
            return false;
        }
        one.take(DESTINATION_INTERVAL, now);
        // As on Linux (icmp_global_allow): who counts the answers that others leave him must not
        // learn exactly how many they got (CVE-2020-25705).
        for _ in 0..=self.random.below(3) {
            self.all.take(INTERVAL, now);
        }
        true
    }
}

/// A bucket of tokens: the moment at which it is full again.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    full_at: Instant,
}

impl Bucket {
    /// Whether there is a token left, of so many, each of which comes back after the interval.
    fn has(&self, interval: Duration, burst: u32, now: Instant) -> bool {
        self.full_at.since(now) + interval <= interval * burst
    }

    fn take(&mut self, interval: Duration, now: Instant) {
        self.full_at = self.full_at.max(now) + interval;
    }
}

const BUCKETS: usize = 256;
/// As Linux: 1,000 a second in all (net.ipv4.icmp_msgs_per_sec), of which the jitter takes half.
const INTERVAL: Duration = Duration::from_millis(1);
const BURST: u32 = 100;
/// To one destination 10 a second; traceroute sends 16 packets at once.
const DESTINATION_INTERVAL: Duration = Duration::from_millis(100);
const DESTINATION_BURST: u32 = 20;

#[cfg(test)]
mod tests;
