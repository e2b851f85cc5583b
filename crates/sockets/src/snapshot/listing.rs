//! Where the sockets of a reading come from: a table that is kept up to date by the kernel's
//! events, or listings.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use portolan_flow::{Namespace, NetnsId, Transport};

use super::{Reading, SnapshotOptions, seen::Seen, warnings};
use crate::{
    Change, Choice, Coverage, Details, Error, Follow, FollowOptions, Method, Place, Query, Row,
    Wish, choose, method,
};

/// The sockets of some network namespaces, the own one among them.
pub(super) enum Listing {
    /// Followed by the kernel's events.
    Events(Box<Events>),
    /// Listed anew each time.
    Readers(Readers),
}

/// A table that events keep up to date.
pub(super) struct Events {
    pub follow: Follow,
    names: HashMap<NetnsId, Namespace>,
    /// Of sockets that are new, or have another holder than before, until somebody asks.
    news: HashSet<u32>,
    /// Whether the last reading found all as it was before.
    is_quiet: bool,
    /// When all had to be read again.
    rewalked: Option<Instant>,
}

/// A reader for each namespace, and what they read.
pub(super) struct Readers {
    pub choice: Choice,
    /// Why the kernel's events are not followed, where that was tried.
    unfollowed: Option<Error>,
    pub readers: HashMap<NetnsId, (Place, Box<dyn Method>)>,
    seen: Vec<Seen>,
}

impl Listing {
    /// Events where many readings are to come, no method was asked for, and this host allows them.
    pub fn open(options: SnapshotOptions) -> Result<Self, Error> {
        let here = Place::here();
        if !options.again || options.method.is_some() {
            return Ok(Self::Readers(Readers::open(options, here, None)?));
        }
        match Follow::open(vec![here.clone()], FollowOptions::default()) {
            Ok(follow) => Ok(Self::Events(Box::new(Events::of(follow, &here)))),
            Err(error) => Ok(Self::Readers(Readers::open(options, here, Some(error))?)),
        }
    }

    /// For people.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Events(_) => "followed by the kernel's events",
            Self::Readers(readers) => readers.choice.method.describe(),
        }
    }

    /// The listing method and what stood against faster ones; `None` where events are followed.
    pub fn choice(&self) -> Option<&Choice> {
        match self {
            Self::Events(_) => None,
            Self::Readers(readers) => Some(&readers.choice),
        }
    }

    /// What stood against following the kernel's events, where that was tried.
    pub fn unfollowed(&self) -> Option<&Error> {
        match self {
            Self::Events(_) => None,
            Self::Readers(readers) => readers.unfollowed.as_ref(),
        }
    }

    /// Looks at these namespaces from now on, and at no others. Returns those that cannot be
    /// entered. Each that is looked at is kept alive.
    pub fn set_places(&mut self, places: Vec<Place>) -> Vec<(Place, Error)> {
        match self {
            Self::Events(events) => events.set_places(places),
            Self::Readers(readers) => readers.set_places(places),
        }
    }

    /// Brings all up to date; adds how complete it is, and what went wrong elsewhere.
    ///
    /// # Errors
    /// When the observer's own namespace cannot be read.
    pub fn read(&mut self, reading: &mut Reading) -> Result<(), Error> {
        match self {
            Self::Events(events) => events.read(reading),
            Self::Readers(readers) => readers.read(reading),
        }
    }

    /// Hands every socket to `each`, as of the last reading.
    pub fn each(&self, each: &mut dyn FnMut(&Seen)) {
        match self {
            Self::Events(events) => {
                let rows = events.follow.rows();
                rows.filter_map(|(netns, row)| Seen::of(netns, &row)).for_each(|it| each(&it));
            }
            Self::Readers(readers) => readers.seen.iter().for_each(each),
        }
    }

    /// Whether an inode number is among the sockets' that is new in the eyes of `is_new`. Those
    /// that were there already when this was asked last may be left out.
    pub fn has_new(&mut self, is_new: impl Fn(u32) -> bool) -> bool {
        match self {
            Self::Events(events) => events.news.drain().any(is_new),
            Self::Readers(readers) => {
                let mut inodes = readers.seen.iter().map(|socket| socket.inode);
                inodes.any(|inode| inode != 0 && is_new(inode))
            }
        }
    }

    /// Whether events keep it up to date.
    pub fn is_followed(&self) -> bool {
        matches!(self, Self::Events(_))
    }

    /// Whether it is certain that the last reading found what the one before did.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Self::Events(events) if events.is_quiet)
    }

    /// The name of a namespace that is looked at.
    pub fn namespace(&self, netns: NetnsId) -> Option<&Namespace> {
        match self {
            Self::Events(events) => events.names.get(&netns),
            Self::Readers(readers) => readers.readers.get(&netns).map(|(it, _)| &it.namespace),
        }
    }

    /// Which of the sockets exist right now, by inode number: the others were closed between the
    /// reading and the walk, which says nothing about who may be seen.
    pub fn still_there(&mut self, sockets: &[(NetnsId, u32)]) -> HashSet<u32> {
        let wanted: HashSet<u32> = sockets.iter().map(|(_, inode)| *inode).collect();
        let mut existing = HashSet::new();
        match self {
            Self::Events(events) => {
                // What goes wrong goes wrong at the next reading too, and is said by that.
                let _ = events.read(&mut Reading::default());
                existing.extend(events.follow.rows().map(|(_, row)| row.inode));
                existing.retain(|inode| wanted.contains(inode));
            }
            Self::Readers(readers) => {
                let places: HashSet<NetnsId> = sockets.iter().map(|(netns, _)| *netns).collect();
                let readers = readers.readers.iter_mut();
                for (_, (_, reader)) in readers.filter(|(netns, _)| places.contains(netns)) {
                    // A namespace that cannot be read any more has no sockets.
                    let _ = read_both(reader.as_mut(), &mut |row| {
                        existing.extend(Some(row.inode).filter(|inode| wanted.contains(inode)));
                    });
                }
            }
        }
        existing
    }
}

impl Events {
    fn of(follow: Follow, here: &Place) -> Self {
        let names = HashMap::from([(here.netns, here.namespace.clone())]);
        Self { follow, names, news: HashSet::new(), is_quiet: false, rewalked: None }
    }

    fn set_places(&mut self, places: Vec<Place>) -> Vec<(Place, Error)> {
        let alive: HashSet<NetnsId> = places.iter().map(|place| place.netns).collect();
        self.names.retain(|netns, _| alive.contains(netns));
        for place in &places {
            self.names.entry(place.netns).or_insert_with(|| place.namespace.clone());
        }
        let failed = self.follow.set_places(places);
        for (place, _) in &failed {
            self.names.remove(&place.netns);
        }
        failed
    }

    fn read(&mut self, reading: &mut Reading) -> Result<(), Error> {
        let refresh = self.follow.refresh()?;
        let news = refresh.changes.iter().filter_map(|(_, change)| new_inode(change));
        self.news.extend(news.filter(|&inode| inode != 0));
        self.is_quiet = refresh.changes.is_empty() && refresh.failed.is_empty();
        if refresh.rewalked.is_some() {
            self.rewalked = Some(Instant::now());
        }
        reading.coverage.add(refresh.coverage);
        reading.coverage.rows = u64::try_from(self.follow.len()).unwrap_or(u64::MAX);
        reading.warnings.extend(warnings::of_events(self.rewalked, self.follow.is_full()));
        let here = Place::here().netns;
        for (place, error) in refresh.failed {
            if place.netns == here {
                return Err(error);
            }
            self.names.remove(&place.netns);
            reading.warnings.push(error.to_string());
        }
        Ok(())
    }
}

/// Of a socket that has another holder than before, or none before.
fn new_inode(change: &Change) -> Option<u32> {
    match change {
        Change::Opened(row) => Some(row.inode),
        Change::Changed { before, after } => (before.inode != after.inode).then_some(after.inode),
        Change::Closed(_) => None,
    }
}

impl Readers {
    fn open(
        options: SnapshotOptions,
        here: Place,
        unfollowed: Option<Error>,
    ) -> Result<Self, Error> {
        let wish = Wish { query: &query(Transport::Tcp), owners: true, again: options.again };
        let choice = match options.method {
            Some(method) => Choice { method, passed_over: Vec::new() },
            None => choose(&wish)?,
        };
        let reader = method::open(choice.method, &here)?;
        let readers = HashMap::from([(here.netns, (here, reader))]);
        Ok(Self { choice, unfollowed, readers, seen: Vec::new() })
    }

    fn set_places(&mut self, places: Vec<Place>) -> Vec<(Place, Error)> {
        let alive: HashSet<NetnsId> = places.iter().map(|place| place.netns).collect();
        self.readers.retain(|netns, _| alive.contains(netns));
        let mut failed = Vec::new();
        for place in places {
            if self.readers.contains_key(&place.netns) {
                continue;
            }
            match method::open(self.choice.method, &place) {
                Ok(reader) => drop(self.readers.insert(place.netns, (place, reader))),
                Err(error) => failed.push((place, error)),
            }
        }
        failed
    }

    fn read(&mut self, reading: &mut Reading) -> Result<(), Error> {
        let here = Place::here().netns;
        self.seen.clear();
        let mut gone = Vec::new();
        for (netns, (_, reader)) in &mut self.readers {
            let before = self.seen.len();
            let mut again = |seen: &mut Vec<Seen>| {
                seen.truncate(before);
                read_both(reader.as_mut(), &mut |row| seen.extend(Seen::of(*netns, row)))
            };
            let mut listed = again(&mut self.seen);
            if listed.as_ref().is_ok_and(|coverage| coverage.torn) {
                listed = again(&mut self.seen);
            }
            match listed {
                Ok(coverage) => reading.coverage.add(coverage),
                Err(error) if *netns == here => return Err(error),
                Err(error) => {
                    reading.warnings.push(error.to_string());
                    gone.push(*netns);
                }
            }
        }
        for netns in gone {
            self.readers.remove(&netns);
        }
        Ok(())
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
