//! Every check that was asked for, once each, by number: what is to be probed costs memory by the
//! ranges that were named, not by the addresses in them.

mod permutation;
mod range;
mod ranges;
mod scope;
mod shard;

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr, SocketAddrV6},
};

pub use permutation::Permutation;
pub use range::AddressRange;
pub use ranges::{RANGES_MAX, Ranges};
pub use scope::{first_foreign, is_own, own_networks};
pub use shard::{Order, Shard, ShardError};

use crate::ports::PortSet;
use range::{Span, address};
use ranges::{SETTLE_MIN, limit, outside, settle};

/// At most so many checks: at a million each second they take nine years.
pub const CHECKS_MAX: u64 = 1 << 48;

/// Addresses that are to be probed, all at the same ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The addresses.
    pub range: AddressRange,
    /// The index of the interface that link-local IPv6 addresses are reached by, 0 where it was not
    /// said (RFC 4007 section 6). Of other addresses it means nothing and is dropped.
    pub zone: u32,
    /// The port, or those of the whole space.
    pub port: Option<u16>,
}

/// Every pair of an address and a port, numbered from 0, each of them once.
#[derive(Clone, Debug)]
pub struct Space {
    /// In order of their `base`.
    segments: Vec<Segment>,
    ports: PortSet,
    len: u64,
    addresses: u128,
    ranges: Ranges,
}

/// Addresses without a gap, with the same ports.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Of the first address, on the line of both families.
    first: u128,
    /// The number of its first check.
    base: u64,
    zone: u32,
    /// `None`: those of the space.
    port: Option<u16>,
}

/// Why the targets make no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// More than [`CHECKS_MAX`]. All of IPv6 is counted as one too few, and sums stop at the
    /// highest `u128`.
    #[error(
        "the targets ask for {0} checks, more than {CHECKS_MAX}: name smaller networks or fewer \
         ports, or probe the addresses that are known to be in use"
    )]
    Checks(u128),
    /// More than [`RANGES_MAX`].
    #[error(
        "the targets, or what is excluded, are more than {RANGES_MAX} ranges that do not touch: \
         name them as networks (10.0.0.0/8 rather than 10.*.*.1,3,5), or probe a part at a time"
    )]
    Ranges,
}

impl Space {
    /// `ports` are for the entries without one of their own. Entries may overlap, and excluded
    /// addresses are left out of all of them, whatever their zone.
    ///
    /// # Errors
    ///
    /// [`SpaceError`], where there are too many checks or too many ranges.
    pub fn new(
        ports: PortSet,
        entries: impl IntoIterator<Item = Entry>,
        excludes: &Ranges,
    ) -> Result<Self, SpaceError> {
        let gathered = gather(entries)?;
        let mut segments = Vec::new();
        let mut len = 0_u128;
        // What is probed at the ports of the space, in the zone that the loop is at: the map has
        // it before the ports of their own.
        let mut at_ports: (u32, &[Span]) = (0, &[]);
        let mut zones: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
        for (&(zone, port), spans) in &gathered {
            let mut left = subtract(spans, excludes.spans())?;
            match port {
                None => at_ports = (zone, spans),
                Some(port) if at_ports.0 == zone && ports.contains(port) => {
                    left = subtract(&left, at_ports.1)?;
                }
                Some(_) => {}
            }
            let each = port.map_or(ports.len() as u128, |_| 1);
            for &(first, last) in &left {
                // Where it does not fit, the sum is an error below.
                segments.push(Segment { first, base: len as u64, zone, port });
                let checks = (last - first).saturating_add(1).saturating_mul(each);
                len = len.saturating_add(checks);
            }
            limit(segments.len())?;
            zones.entry(zone).or_default().extend(left);
        }
        let len = u64::try_from(len)
            .ok()
            .filter(|len| *len <= CHECKS_MAX)
            .ok_or(SpaceError::Checks(len))?;
        let zones = zones.into_values().map(Ranges::of_spans);
        let (mut addresses, mut all) = (0_u128, Vec::new());
        for zone in zones {
            addresses = addresses.saturating_add(zone.addresses());
            all.extend_from_slice(zone.spans());
        }
        Ok(Self { segments, ports, len, addresses, ranges: Ranges::of_spans(all) })
    }

    /// How many checks: at most [`CHECKS_MAX`].
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Nothing is left to probe.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The check of that number, in the time of a binary search; `None` from [`Self::len`] on.
    #[must_use]
    pub fn get(&self, index: u64) -> Option<SocketAddr> {
        if index >= self.len {
            return None;
        }
        let after = self.segments.partition_point(|segment| segment.base <= index);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let offset = index - segment.base;
        let (nth, port) = match segment.port {
            Some(port) => (offset, port),
            None => {
                let each = self.ports.len() as u64;
                (offset / each, self.ports.get((offset % each) as usize)?)
            }
        };
        Some(match address(segment.first + u128::from(nth)) {
            IpAddr::V4(address) => (address, port).into(),
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, segment.zone).into(),
        })
    }

    /// How many addresses; one that is asked for in two zones is two hosts.
    #[must_use]
    pub fn addresses(&self) -> u128 {
        self.addresses
    }

    /// The addresses of all zones, for instance to ask of each range whether it [`is_own`].
    #[must_use]
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }
}

/// By zone and port, those for the ports of the space first.
type Gathered = BTreeMap<(u32, Option<u16>), Vec<Span>>;

fn gather(entries: impl IntoIterator<Item = Entry>) -> Result<Gathered, SpaceError> {
    let mut gathered = Gathered::new();
    let mut held = 0;
    let mut settle_at = SETTLE_MIN;
    for entry in entries {
        let zone = if has_zone(&entry.range) { entry.zone } else { 0 };
        gathered.entry((zone, entry.port)).or_default().push(entry.range.span());
        held += 1;
        // An entry may be written a million times: what is kept grows with what differs.
        if held >= settle_at {
            held = settle_all(&mut gathered)?;
            settle_at = (2 * held).max(SETTLE_MIN);
        }
    }
    settle_all(&mut gathered)?;
    Ok(gathered)
}

fn settle_all(gathered: &mut Gathered) -> Result<usize, SpaceError> {
    gathered.values_mut().for_each(settle);
    let held = gathered.values().map(Vec::len).sum();
    limit(held)?;
    Ok(held)
}

/// Link-local addresses mean another host on each link (RFC 4007 section 4).
fn has_zone(range: &AddressRange) -> bool {
    let local = |address| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    local(range.first()) && local(range.last())
}

fn subtract(spans: &[Span], holes: &[Span]) -> Result<Vec<Span>, SpaceError> {
    let mut left = Vec::new();
    for span in spans {
        outside(*span, holes, &mut |part| left.push(part));
        limit(left.len())?;
    }
    Ok(left)
}

#[cfg(test)]
mod tests;
