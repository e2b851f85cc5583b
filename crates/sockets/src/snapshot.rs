//! The method `snapshot`: one reading of all sockets of the host, bundled.
//!
//! A netlink socket stays in the namespace where it was opened, so each namespace is entered once
//! and then read from outside. Holding one keeps its namespace alive, so it is closed as soon as
//! nothing else shows that the namespace exists.

mod memory;
mod observer;
mod warnings;

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    time::Instant,
};

use portolan_flow::{
    Bundle, Bundler, End, NetnsId, Observation, Owner, Phase, PortRange, Transport,
};
use portolan_sys::limits;

use crate::{
    Choice, Coverage, Details, Error, Hidden, Method, MethodName, Owners, Place, Query, Row,
    Source, State, Wish, choose, hidden_processes, method, owner, place,
};
use memory::Memory;
use observer::Observers;
use warnings::Unopened;

/// After so many readings owners are looked up again even if no new socket appeared: a socket may
/// have been handed from one process to another.
const READINGS_PER_WALK: u32 = 15;

/// What to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// The listing method; the best that works where `None`.
    pub method: Option<MethodName>,
    /// Only the observer's own network namespace.
    pub own_namespace_only: bool,
}

/// One reading.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The edges and the listening ports.
    pub bundle: Bundle,
    /// How complete it is.
    pub coverage: Coverage,
    /// What could not be seen, why, and what to do; stable from one reading to the next.
    pub warnings: Vec<String>,
}

/// Reads the sockets of this host again and again.
pub struct Snapshot {
    options: SnapshotOptions,
    choice: Choice,
    ephemeral: PortRange,
    readers: HashMap<NetnsId, (Place, Box<dyn Method>)>,
    owners: Owners,
    /// Sockets that the last walk did not find: no reason for another.
    unowned: HashSet<u32>,
    /// Those of them that certainly exist.
    hidden: HashSet<u32>,
    readings_since_walk: u32,
    memory: Memory,
    observers: Observers,
}

impl Snapshot {
    /// Finds out how to read this host.
    ///
    /// # Errors
    /// When no method works, or not the one asked for.
    pub fn open(options: SnapshotOptions) -> Result<Self, Error> {
        let choice = match options.method {
            Some(method) => Choice { method, passed_over: Vec::new() },
            None => choose(&Wish { query: &query(Transport::Tcp), owners: true, again: true })?,
        };
        let (first, last) =
            limits::ephemeral_ports().unwrap_or((PortRange::LINUX.first, PortRange::LINUX.last));
        let here = Place::here();
        let reader = method::open(choice.method, &here)?;
        Ok(Self {
            options,
            choice,
            ephemeral: PortRange { first, last },
            readers: HashMap::from([(here.netns, (here, reader))]),
            owners: Owners::from(Source::choose(true)),
            unowned: HashSet::new(),
            hidden: HashSet::new(),
            readings_since_walk: READINGS_PER_WALK,
            memory: Memory::default(),
            observers: Observers::new(owner::name_of(std::process::id())),
        })
    }

    /// For people: `snapshot (netlink sock_diag)`.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("snapshot ({})", self.choice.method.describe())
    }

    /// The listing method and what stood against faster ones.
    #[must_use]
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Reads all sockets once.
    ///
    /// # Errors
    /// When the observer's own namespace cannot be read; trouble with any other is a warning.
    pub fn read(&mut self) -> Result<Reading, Error> {
        let mut reading = Reading::default();
        let hidden = self.follow_namespaces(&mut reading.warnings)?;
        let (places, seen) = self.list(&mut reading)?;
        self.follow_owners(&seen)?;
        reading.bundle = self.bundle(&places, &seen, Instant::now());
        reading.warnings.extend(warnings::of_coverage(reading.coverage));
        reading.warnings.extend(self.hidden_warning(hidden));
        Ok(reading)
    }

    /// Closes the readers in other namespaces: each keeps its namespace alive, though nobody else
    /// may, until the next reading. For those who read seldom; the next reading opens them again.
    pub fn release(&mut self) {
        let here = Place::here().netns;
        self.readers.retain(|netns, _| *netns == here);
    }

    fn bundle(&mut self, places: &[Place], seen: &[Seen], now: Instant) -> Bundle {
        let mut bundler = Bundler::new(self.ephemeral);
        for socket in seen {
            let observation = self.observation(&places[socket.place], socket);
            if observation.phase == Phase::Listening && !self.is_datagram_client(socket) {
                let bound = (socket.netns, socket.transport, socket.local);
                self.memory.listens(bound, listening_end(&observation), now);
            }
            bundler.observe(observation);
        }
        let connected = seen.iter().filter(|socket| socket.phase != Phase::Listening);
        let ports = connected.map(|socket| (socket.netns, socket.transport, socket.local.port()));
        self.memory.used(ports, now);
        self.memory.keep_namespaces(|netns| self.readers.contains_key(&netns));
        self.memory.tell(&mut bundler, now);
        if self.readings_since_walk == 0 {
            self.observers.forget();
        }
        self.observers.without(bundler.finish())
    }

    /// Those come and go with every question that they ask.
    fn is_datagram_client(&self, socket: &Seen) -> bool {
        socket.transport == Transport::Udp && self.ephemeral.contains(socket.local.port())
    }

    /// Opens a reader in every new namespace and closes those of namespaces that are gone.
    fn follow_namespaces(&mut self, warnings: &mut Vec<String>) -> Result<usize, Error> {
        if self.options.own_namespace_only {
            return Ok(0);
        }
        let found = place::places()?;
        let here = found.places.first().map(|place| place.netns);
        let alive: HashSet<NetnsId> = found.places.iter().map(|place| place.netns).collect();
        self.readers.retain(|netns, _| alive.contains(netns));
        let mut unopened = Unopened::default();
        for place in found.places {
            if Some(place.netns) == here || self.readers.contains_key(&place.netns) {
                continue;
            }
            match method::open(self.choice.method, &place) {
                Ok(reader) => drop(self.readers.insert(place.netns, (place, reader))),
                Err(error) => unopened.add(error),
            }
        }
        warnings.extend(unopened.warnings());
        Ok(found.hidden_processes)
    }

    fn list(&mut self, reading: &mut Reading) -> Result<(Vec<Place>, Vec<Seen>), Error> {
        let here = Place::here().netns;
        let (mut places, mut seen) = (Vec::new(), Vec::new());
        let mut gone = Vec::new();
        for (netns, (place, reader)) in &mut self.readers {
            let before = seen.len();
            let mut again = |seen: &mut Vec<Seen>| {
                seen.truncate(before);
                let mut keep = |row: &Row| seen.extend(Seen::of(row, places.len(), *netns));
                read_both(reader.as_mut(), &mut keep)
            };
            let mut listed = again(&mut seen);
            if listed.as_ref().is_ok_and(|coverage| coverage.torn) {
                listed = again(&mut seen);
            }
            match listed {
                Ok(coverage) => reading.coverage.add(coverage),
                Err(error) if *netns == here => return Err(error),
                Err(error) => {
                    reading.warnings.push(error.to_string());
                    gone.push(*netns);
                }
            }
            places.push(place.clone());
        }
        for netns in gone {
            self.readers.remove(&netns);
        }
        Ok((places, seen))
    }

    /// Looks up owners again when a socket appeared that was not there before.
    fn follow_owners(&mut self, seen: &[Seen]) -> Result<(), Error> {
        self.readings_since_walk += 1;
        let inodes = || seen.iter().map(|socket| socket.inode).filter(|&inode| inode != 0);
        let is_new = |inode| !self.owners.knows(inode) && !self.unowned.contains(&inode);
        if self.readings_since_walk < READINGS_PER_WALK && !inodes().any(is_new) {
            return Ok(());
        }
        self.owners.walk()?;
        self.readings_since_walk = 0;
        let missing = |owners: &Owners| -> Vec<&Seen> {
            let held = seen.iter().filter(|socket| socket.inode != 0);
            held.filter(|socket| !owners.knows(socket.inode)).collect()
        };
        if missing(&self.owners).iter().any(|socket| !self.unowned.contains(&socket.inode)) {
            self.owners.walk_new()?;
            self.hidden = self.still_there(&missing(&self.owners));
        }
        self.unowned = missing(&self.owners).iter().map(|socket| socket.inode).collect();
        Ok(())
    }

    /// Which of the sockets exist right now, by inode number: the others were closed between the
    /// listing and the walk, which says nothing about who may be seen.
    fn still_there(&mut self, sockets: &[&Seen]) -> HashSet<u32> {
        let mut existing = HashSet::new();
        if self.owners.hidden_processes() == 0 {
            return existing;
        }
        let places: HashSet<NetnsId> = sockets.iter().map(|socket| socket.netns).collect();
        for (netns, (_, reader)) in &mut self.readers {
            if places.contains(netns) {
                // A namespace that cannot be read any more has no sockets.
                let _ = read_both(reader.as_mut(), &mut |row| {
                    existing.insert(row.inode);
                });
            }
        }
        sockets.iter().map(|socket| socket.inode).filter(|inode| existing.contains(inode)).collect()
    }

    fn observation(&mut self, place: &Place, seen: &Seen) -> Observation {
        let holder = self.owners.holder(seen.inode);
        let pid = holder.as_ref().map(|holder| holder.pid);
        let owner = match holder {
            Some(holder) => Owner::Process(holder.process),
            // Where every process can be seen, a socket without one belongs to the kernel.
            None if self.hidden.contains(&seen.inode) && self.owners.hidden_processes() > 0 => {
                Owner::Hidden { uid: seen.uid }
            }
            None => Owner::Unobserved,
        };
        Observation {
            transport: seen.transport,
            netns: place.netns,
            namespace: place.namespace.clone(),
            local: seen.local,
            remote: seen.remote,
            phase: seen.phase,
            owner,
            pid,
        }
    }

    /// The same text as long as the same processes hide, so that it is not news each time.
    fn hidden_warning(&self, in_namespaces: usize) -> Option<String> {
        let hidden = self.owners.hidden_processes().max(in_namespaces);
        (hidden > 0).then(|| {
            format!(
                "{}: their sockets are shown by user, and network namespaces (containers) where \
                 only they live are missing; {}",
                hidden_processes(hidden),
                Hidden::Both.advice()
            )
        })
    }
}

/// What a reading keeps of a row until the owners are known.
#[derive(Debug)]
struct Seen {
    place: usize,
    netns: NetnsId,
    transport: Transport,
    phase: Phase,
    local: SocketAddr,
    remote: SocketAddr,
    inode: u32,
    uid: u32,
}

impl Seen {
    fn of(row: &Row, place: usize, netns: NetnsId) -> Option<Self> {
        Some(Self {
            place,
            netns,
            transport: row.transport,
            phase: phase(row)?,
            local: row.local,
            remote: row.remote,
            inode: row.inode,
            uid: row.uid,
        })
    }
}

fn read_both(reader: &mut dyn Method, keep: &mut dyn FnMut(&Row)) -> Result<Coverage, Error> {
    let mut coverage = reader.read(&query(Transport::Tcp), keep)?;
    coverage.add(reader.read(&query(Transport::Udp), keep)?);
    Ok(coverage)
}

/// What a reading asks for: not the queues.
fn query(transport: Transport) -> Query {
    Query { details: Details { holder: true, ..Details::NONE }, ..Query::all(transport) }
}

fn phase(row: &Row) -> Option<Phase> {
    match row.state {
        State::Listen => Some(Phase::Listening),
        State::Close => {
            (row.transport == Transport::Udp && row.local.port() != 0).then_some(Phase::Listening)
        }
        State::SynSent | State::SynReceived | State::NewSynReceived => Some(Phase::Opening),
        State::TimeWait => Some(Phase::TimeWait),
        State::BoundInactive => None,
        State::Established
        | State::FinWait1
        | State::FinWait2
        | State::CloseWait
        | State::LastAck
        | State::Closing => Some(Phase::Connected),
    }
}

/// What is remembered of a listener: its process may be gone by then.
fn listening_end(seen: &Observation) -> End {
    let namespace = Some(seen.namespace.clone());
    let owner = seen.owner.clone();
    End { namespace, owner, ..End::unobserved(seen.local.ip()) }
}

#[cfg(test)]
mod tests;
