//! The neighbours that are known, and how sure that is: RFC 4861, section 7.3; for ARP the same, as
//! on Linux.
//!
//! The table has a limit. Only packets of ours, and requests for our own addresses, make entries,
//! the latter in a part of it; who was not heard of for longest makes room.

use core::{net::IpAddr, time::Duration};

use alloc::{collections::BTreeSet, vec::Vec};

use portolan_wire::ethernet;

use crate::{
    Instant,
    keyed::{Keyed, KeyedMap},
};

/// What is known about a neighbour to whom a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Its hardware address.
    Hardware(ethernet::Address),
    /// It is asked; `is_new` says whether the question has still to be sent.
    Wait {
        /// Whether this packet is the first one.
        is_new: bool,
    },
    /// It did not answer a moment ago.
    Silent,
    /// There is no room to remember it.
    Full,
}

/// How a hardware address became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The neighbour answered us.
    Answer {
        /// Whether what was known is wrong, if it differs.
        overrides: bool,
    },
    /// It told all, or us unasked.
    Announcement {
        /// As above.
        overrides: bool,
    },
    /// It asked for an address of ours.
    Request,
}

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask for the hardware address; ask the neighbour alone if it is given.
    Solicit {
        /// Whose.
        address: IpAddr,
        /// To whom; all if none.
        hardware: Option<ethernet::Address>,
    },
    /// Tell those who wait that it does not answer.
    GiveUp {
        /// Who.
        address: IpAddr,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The place is not used.
    Free,
    /// It was asked so often.
    Incomplete(u8),
    /// It answered a short time ago: until the entry's moment.
    Reachable,
    /// It answered once.
    Stale,
    /// A packet was sent to it since; upper layers may hear of it until the entry's moment.
    Delay,
    /// It alone was asked so often.
    Probe(u8),
    /// It did not answer: until the entry's moment it is not asked again.
    Silent,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: IpAddr,
    hardware: ethernet::Address,
    state: State,
    at: Instant,
    /// Whether a packet was sent to it since the hand last passed.
    is_used: bool,
    /// Whether it is here only because it asked for us.
    is_asker: bool,
}

/// The table.
#[derive(Debug)]
pub struct Cache {
    entries: Vec<Entry>,
    free: Vec<u32>,
    index: KeyedMap<IpAddr, u32>,
    timers: BTreeSet<(Instant, u32)>,
    hand: usize,
    limit: usize,
    incomplete: usize,
    askers: usize,
    reachable_time: Duration,
}

impl Cache {
    /// A table for so many neighbours.
    pub fn new(limit: usize, key: Keyed) -> Self {
        Self {
            entries: Vec::with_capacity(limit),
            free: Vec::with_capacity(limit),
            index: KeyedMap::with_capacity_and_hasher(limit, key),
            timers: BTreeSet::new(),
            hand: 0,
            limit,
            incomplete: 0,
            askers: 0,
            reachable_time: REACHABLE_TIME,
        }
    }

    /// For how long a neighbour counts as reachable, as a router advertised.
    pub fn set_reachable_time(&mut self, time: Duration) {
        self.reachable_time = time.clamp(REACHABLE_TIME_MIN, REACHABLE_TIME_MAX);
    }

    /// Where a packet to this neighbour goes. It is sent if the answer is a hardware address.
    pub fn lookup(&mut self, address: IpAddr, now: Instant) -> Lookup {
        let Some(at) = self.find(address) else {
            return match self.begin(address, now) {
                true => Lookup::Wait { is_new: true },
                false => Lookup::Full,
            };
        };
        let Some(entry) = self.entries.get_mut(at as usize) else { return Lookup::Full };
        entry.is_used = true;
        match entry.state {
            State::Reachable if now < entry.at => return Lookup::Hardware(entry.hardware),
            State::Reachable | State::Stale => {}
            State::Delay | State::Probe(_) => return Lookup::Hardware(entry.hardware),
            State::Silent if now < entry.at => return Lookup::Silent,
            State::Incomplete(_) => return Lookup::Wait { is_new: false },
            State::Silent | State::Free => {
                if self.incomplete >= self.limit / 2 {
                    return Lookup::Full;
                }
                self.enter(at, State::Incomplete(1), now + RETRANSMIT);
                return Lookup::Wait { is_new: true };
            }
        }
        let hardware = entry.hardware;
        self.enter(at, State::Delay, now + DELAY_FIRST_PROBE);
        Lookup::Hardware(hardware)
    }

    /// Takes what a neighbour said. Whether packets that waited for it can go.
    ///
    /// RFC 4861, section 7.2.5; for ARP, each answer overrides.
    pub fn learn(
        &mut self,
        address: IpAddr,
        hardware: ethernet::Address,
        evidence: Evidence,
        now: Instant,
    ) -> bool {
        let Some(at) = self.find(address) else {
            if evidence == Evidence::Request
                && self.askers < self.limit / 4
                && let Some(at) = self.allocate(address)
            {
                self.askers += 1;
                if let Some(entry) = self.entries.get_mut(at as usize) {
                    (entry.hardware, entry.is_asker) = (hardware, true);
                }
                self.enter(at, State::Stale, now);
            }
            return false;
        };
        let Some(entry) = self.entries.get_mut(at as usize) else { return false };
        let (was, differs) = (entry.state, entry.hardware != hardware);
        let is_answer = matches!(evidence, Evidence::Answer { .. });
        let (reachable_until, stale) = (now + self.reachable_time, (State::Stale, now));
        let (state, at_moment) = match (was, evidence) {
            (State::Incomplete(_) | State::Silent | State::Free, _) => {
                entry.hardware = hardware;
                if is_answer { (State::Reachable, reachable_until) } else { stale }
            }
            (
                _,
                Evidence::Answer { overrides: false } | Evidence::Announcement { overrides: false },
            ) if differs => {
                if was != State::Reachable {
                    return false;
                }
                stale
            }
            (_, Evidence::Answer { .. }) => {
                entry.hardware = hardware;
                (State::Reachable, reachable_until)
            }
            _ if differs => {
                entry.hardware = hardware;
                stale
            }
            _ => return false,
        };
        self.enter(at, state, at_moment);
        matches!(was, State::Incomplete(_))
    }

    /// Whether an answer of this neighbour is waited for.
    pub fn is_asked(&self, address: IpAddr) -> bool {
        let entry = self.find(address).and_then(|at| self.entries.get(at as usize));
        entry.is_some_and(|entry| matches!(entry.state, State::Incomplete(_) | State::Probe(_)))
    }

    /// Its hardware address if it is known, for an advertisement that does not repeat it.
    pub fn hardware(&self, address: IpAddr) -> Option<ethernet::Address> {
        let entry = self.find(address).and_then(|at| self.entries.get(at as usize))?;
        let is_known =
            matches!(entry.state, State::Reachable | State::Stale | State::Delay | State::Probe(_));
        is_known.then_some(entry.hardware)
    }

    /// The next thing to do that is due. Call it until there is none.
    pub fn pop(&mut self, now: Instant) -> Option<Action> {
        loop {
            let (at, key) = *self.timers.first()?;
            if now < at {
                return None;
            }
            let Some(&Entry { address, hardware, state, .. }) = self.entries.get(key as usize)
            else {
                self.timers.remove(&(at, key));
                continue;
            };
            let all = Action::Solicit { address, hardware: None };
            let alone = Action::Solicit { address, hardware: Some(hardware) };
            match state {
                State::Incomplete(count) if count < SOLICITATIONS_MAX => {
                    self.enter(key, State::Incomplete(count + 1), now + RETRANSMIT);
                    return Some(all);
                }
                State::Incomplete(_) => {
                    self.enter(key, State::Silent, now + SILENCE);
                    return Some(Action::GiveUp { address });
                }
                State::Delay => {
                    self.enter(key, State::Probe(1), now + RETRANSMIT);
                    return Some(alone);
                }
                State::Probe(count) if count < SOLICITATIONS_MAX => {
                    self.enter(key, State::Probe(count + 1), now + RETRANSMIT);
                    return Some(alone);
                }
                State::Probe(_) => self.release(key),
                State::Free | State::Reachable | State::Stale | State::Silent => {
                    self.timers.remove(&(at, key));
                }
            }
        }
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// How many neighbours are in the table.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    fn find(&self, address: IpAddr) -> Option<u32> {
        self.index.get(&address).copied()
    }

    /// Makes an entry for a neighbour that will be asked.
    fn begin(&mut self, address: IpAddr, now: Instant) -> bool {
        // Those who are not there must not drive out those who are.
        if self.incomplete >= self.limit / 2 {
            return false;
        }
        let Some(at) = self.allocate(address) else { return false };
        self.enter(at, State::Incomplete(1), now + RETRANSMIT);
        true
    }

    /// A free place, if need be that of one who was not used for longest.
    fn allocate(&mut self, address: IpAddr) -> Option<u32> {
        if self.free.is_empty() && self.entries.len() >= self.limit {
            self.evict();
        }
        let entry = Entry {
            address,
            hardware: ethernet::Address::default(),
            state: State::Free,
            at: Instant::ZERO,
            // Not by what makes the entry: who is spoken to but once goes first.
            is_used: false,
            is_asker: false,
        };
        let at = match self.free.pop() {
            Some(at) => {
                *self.entries.get_mut(at as usize)? = entry;
                at
            }
            None if self.entries.len() < self.limit => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1).ok()?
            }
            None => return None,
        };
        self.index.insert(address, at);
        Some(at)
    }

    /// Frees a place: a hand goes round and takes the first one that was not used since it last
    /// passed, or did not answer. It goes on a few steps at most; then it takes the first one that
    /// can be spared.
    fn evict(&mut self) {
        let mut spare = None;
        for _ in 0..HAND_STEPS_MAX.min(self.entries.len()) {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.entries.len().max(1);
            let Some(entry) = self.entries.get_mut(at) else { continue };
            let is_silent = entry.state == State::Silent;
            let is_idle = matches!(entry.state, State::Reachable | State::Stale);
            if is_silent || (is_idle && !entry.is_used) {
                spare = Some(at);
                break;
            }
            if is_idle && spare.is_none() {
                spare = Some(at);
            }
            entry.is_used = false;
        }
        if let Some(at) = spare.and_then(|at| u32::try_from(at).ok()) {
            self.release(at);
        }
    }

    fn release(&mut self, at: u32) {
        self.enter(at, State::Free, Instant::ZERO);
        let Some(entry) = self.entries.get_mut(at as usize) else { return };
        self.askers -= usize::from(core::mem::take(&mut entry.is_asker));
        self.index.remove(&entry.address);
        self.free.push(at);
    }

    /// Puts an entry into a state, and its timer with it.
    fn enter(&mut self, key: u32, state: State, at: Instant) {
        let Some(entry) = self.entries.get_mut(key as usize) else { return };
        let is_timed =
            |state| matches!(state, State::Incomplete(_) | State::Delay | State::Probe(_));
        if is_timed(entry.state) {
            self.timers.remove(&(entry.at, key));
        }
        let is_incomplete = |state| usize::from(matches!(state, State::Incomplete(_)));
        self.incomplete =
            (self.incomplete + is_incomplete(state)).saturating_sub(is_incomplete(entry.state));
        (entry.state, entry.at) = (state, at);
        if is_timed(state) {
            self.timers.insert((at, key));
        }
    }
}

// RFC 4861, section 10.
const REACHABLE_TIME: Duration = Duration::from_secs(30);
const RETRANSMIT: Duration = Duration::from_secs(1);
const DELAY_FIRST_PROBE: Duration = Duration::from_secs(5);
const SOLICITATIONS_MAX: u8 = 3;
/// What routers may advertise.
const REACHABLE_TIME_MIN: Duration = Duration::from_secs(1);
const REACHABLE_TIME_MAX: Duration = Duration::from_secs(3_600);
/// RFC 1122, section 2.3.2.1: one request per second and destination.
const SILENCE: Duration = Duration::from_secs(1);
const HAND_STEPS_MAX: usize = 32;

#[cfg(test)]
mod tests;
