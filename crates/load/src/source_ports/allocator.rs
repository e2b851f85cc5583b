//! Who gets which source port.

use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
};

use serde::Serialize;

use super::{Choice, End, Host, Source, Strategy, pair::Pair};

/// Where the kernel chooses within a part of the range, the part has so many ports: few enough that
/// its search is short even when all but one are in use.
const WINDOW: u16 = 64;

/// A pair of source address and destination, by its number in one [`SourcePorts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairId(u32);

/// The right to one source port of one pair, until it is given back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a port that is not given back stays in use"]
pub struct Lease {
    pair: PairId,
    unit: u32,
    source: Source,
}

impl Lease {
    /// What is to be done with the socket.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Of which pair it is.
    #[must_use]
    pub fn pair(&self) -> PairId {
        self.pair
    }
}

/// How many ports of a pair, or of all, are what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// Handed out and not given back.
    pub in_use: u64,
    /// All others; of these, TIME-WAIT and other programs may have some.
    pub free: u64,
    /// How often a port that was handed out turned out to be taken.
    pub conflicts: u64,
}

/// The source ports of one worker, for every pair of a source address and a destination on its own.
///
/// To take and to give back takes constant time, whatever is in use. Of a pair nothing is held but
/// a number until its first connection; then two bitmaps of the worker's ports, of which all-empty
/// and all-full parts take no memory (8 KiB each at most).
///
/// Register pairs with [`Self::pair`], then: [`Self::take`], bind as [`Lease::source`] says,
/// connect, and [`Self::give_back`] at the end, or at once when the kernel says that the port is
/// taken; then take the next one.
#[derive(Debug)]
pub struct SourcePorts {
    strategy: Strategy,
    /// By unit: the first port of each.
    units: Box<[u16]>,
    /// Units that come last, as somebody listens there.
    last: Box<[u32]>,
    /// How many ports a unit has; of the last one of a range, maybe fewer.
    window: u16,
    /// The last port of all.
    end: u16,
    ports: u32,
    binds_address: bool,
    pairs: Vec<(IpAddr, SocketAddr, State)>,
    in_use: u64,
    conflicts: u64,
}

#[derive(Debug)]
enum State {
    /// Nothing was taken yet; where it will begin.
    Unused(u32),
    Used(Box<Pair>),
}

impl SourcePorts {
    /// The ports that `nth` of `of` workers has, so that workers share a range without meeting.
    ///
    /// Of `explicit`, those of `choice`'s range that are not reserved, every `of`th; those that
    /// somebody listens on come last. Of `range`, a part of the range without gaps, of which the
    /// kernel leaves out what is reserved. Of `kernel`, none: only counted is what it does.
    #[must_use]
    pub fn new(choice: &Choice, host: &Host, nth: usize, of: usize) -> Self {
        let strategy = choice.strategy;
        let range = choice.ports.clone();
        let is_reserved = |port: &u16| host.reserved.iter().any(|taken| taken.contains(port));
        let (units, window, part) = match strategy {
            Strategy::Range => {
                let part = share_range(&range, nth, of);
                (part.clone().step_by(WINDOW.into()).collect(), WINDOW, part)
            }
            Strategy::Kernel => ([].into(), 1, range),
            Strategy::Explicit | Strategy::Auto => {
                let ports = range.clone().filter(|port| !is_reserved(port));
                let units: Box<[u16]> = ports.skip(nth).step_by(of.max(1)).collect();
                (units, 1, range)
            }
        };
        let last = (0_u32..).zip(&units);
        let last =
            last.filter(|(_, port)| window == 1 && host.listening.binary_search(port).is_ok());
        let ports = match strategy {
            Strategy::Explicit | Strategy::Auto => units.len(),
            Strategy::Range => part.len(),
            // All workers have the same ports; each takes its share of them.
            Strategy::Kernel => part.len() / of.max(1),
        };
        Self {
            strategy,
            last: last.map(|(unit, _)| unit).collect(),
            units,
            window,
            end: *part.end(),
            ports: u32::try_from(ports).unwrap_or(u32::MAX),
            binds_address: choice.binds_address,
            pairs: Vec::new(),
            in_use: 0,
            conflicts: 0,
        }
    }

    /// A new pair, whose first port is `anywhere`, so that two runs in a row do not use the same.
    /// A port that would connect the destination with itself is never its source.
    pub fn pair(&mut self, source: IpAddr, destination: SocketAddr, anywhere: u32) -> PairId {
        let number = u32::try_from(self.pairs.len()).unwrap_or(u32::MAX);
        let start = anywhere % u32::try_from(self.units.len()).unwrap_or(0).max(1);
        self.pairs.push((source, destination, State::Unused(start)));
        PairId(number)
    }

    /// How the ports are chosen.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// How many ports there are for each pair.
    #[must_use]
    pub fn ports(&self) -> u32 {
        self.ports
    }

    /// The pair's next port, or where the kernel is to look for it; `None` when all are in use.
    pub fn take(&mut self, pair: PairId) -> Option<Lease> {
        let units = u32::try_from(self.units.len()).unwrap_or(0);
        let (address, destination, state) = self.pairs.get_mut(position(pair.0))?;
        let (address, destination) = (*address, *destination);
        let has_several = self.window > 1;
        if let State::Unused(start) = *state {
            let mut fresh = Pair::new(units, start, has_several);
            self.last.iter().for_each(|&unit| fresh.put_last(unit));
            let is_same = address.is_unspecified() || address == destination.ip();
            if is_same
                && !has_several
                && let Ok(unit) = self.units.binary_search(&destination.port())
            {
                fresh.exclude(u32::try_from(unit).unwrap_or(u32::MAX));
            }
            *state = State::Used(Box::new(fresh));
        }
        let State::Used(used) = state else { return None };
        if self.strategy == Strategy::Kernel {
            used.in_use += 1;
            self.in_use += 1;
            let source = Source::Kernel(self.binds_address.then_some(address));
            return Some(Lease { pair, unit: 0, source });
        }
        let (window, end) = (self.window, self.end);
        let first = |unit: u32| self.units[position(unit)];
        let last = |unit: u32| first(unit).saturating_add(window - 1).min(end);
        let room = |unit: u32| u8::try_from(last(unit) - first(unit) + 1).unwrap_or(u8::MAX);
        let unit = used.take(room)?;
        self.in_use += 1;
        let source = if has_several {
            let address = self.binds_address.then_some(address);
            Source::Within(address, first(unit)..=last(unit))
        } else {
            Source::Port(SocketAddr::new(address, first(unit)))
        };
        Some(Lease { pair, unit, source })
    }

    /// A port is in use no longer.
    pub fn give_back(&mut self, lease: Lease, end: End) {
        let Some((_, _, State::Used(used))) = self.pairs.get_mut(position(lease.pair.0)) else {
            return;
        };
        self.in_use = self.in_use.saturating_sub(1);
        if end == End::Conflict {
            self.conflicts += 1;
        }
        if self.strategy == Strategy::Kernel {
            used.in_use = used.in_use.saturating_sub(1);
            used.conflicts += u64::from(end == End::Conflict);
        } else {
            used.give_back(lease.unit, end);
        }
    }

    /// What one pair has.
    #[must_use]
    pub fn occupancy(&self, pair: PairId) -> Occupancy {
        let (in_use, conflicts) = match self.pairs.get(position(pair.0)) {
            Some((_, _, State::Used(used))) => (u64::from(used.in_use), used.conflicts),
            _ => (0, 0),
        };
        Occupancy { in_use, free: u64::from(self.ports).saturating_sub(in_use), conflicts }
    }

    /// What all pairs have together.
    #[must_use]
    pub fn total(&self) -> Occupancy {
        let pairs = u64::try_from(self.pairs.len()).unwrap_or(u64::MAX);
        let all = u64::from(self.ports).saturating_mul(pairs);
        let (in_use, conflicts) = (self.in_use, self.conflicts);
        Occupancy { in_use, free: all.saturating_sub(in_use), conflicts }
    }

    /// Each pair that was used, with what it has.
    pub fn pairs(&self) -> impl Iterator<Item = (IpAddr, SocketAddr, Occupancy)> {
        let used = (0..).zip(&self.pairs);
        used.filter(|(_, (_, _, state))| matches!(state, State::Used(_))).map(
            |(nth, &(source, destination, _))| (source, destination, self.occupancy(PairId(nth))),
        )
    }

    #[cfg(test)]
    fn looked_at(&self, pair: PairId) -> u64 {
        match &self.pairs[position(pair.0)].2 {
            State::Used(used) => used.looked_at(),
            State::Unused(_) => 0,
        }
    }
}

/// The `nth` of `of` parts of a range, without gaps; all parts together are the range, unless it
/// has fewer ports than there are parts: then some have the same.
#[must_use]
pub fn share_range(range: &RangeInclusive<u16>, nth: usize, of: usize) -> RangeInclusive<u16> {
    let (count, of) = (range.len(), of.max(1));
    if count < of {
        return range.clone();
    }
    let nth = nth % of;
    let port = |at: usize| range.start() + u16::try_from(at).unwrap_or(u16::MAX);
    port(count * nth / of)..=port(count * (nth + 1) / of - 1)
}

fn position(number: u32) -> usize {
    crate::deadlines::position(number)
}

#[cfg(test)]
mod tests;
