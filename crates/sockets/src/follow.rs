//! A listing that is kept up to date by the kernel's own events, so that a refresh costs what
//! changed, not what exists.
//!
//! One walk finds what exists. From then on the tracepoint `inet_sock_set_state` tells every change
//! of a connection's state (`bpf/follow.bpf.c`). What has no events is read anew each time: UDP,
//! TIME-WAIT, and half-open connections, of which there are few, or which the kernel can select.
//! Where an event was lost, all is read again, and that is said.

mod count;
mod entry;
mod event;
mod question;
mod table;
mod tracer;

use std::collections::{HashMap, HashSet};

use portolan_flow::{NetnsId, Transport};

use crate::{
    Coverage, Details, Error, Method, MethodName, Place, Query, Row, State, States, diag::Diag,
    method,
};
use count::Count;
use event::Event;
pub use table::Change;
use table::Table;
use tracer::Tracer;

/// Sockets that are asked about in a refresh because no event tells what becomes of them: accepted
/// meanwhile, for example. Where there are more, others have their turn in the next.
const QUESTIONS_MAX: usize = 65_536;

/// Other sockets that are checked in a refresh, each in its turn. Events are lost without being
/// counted where the kernel does not call the program.
const CHECKS_MAX: usize = 1024;

/// So often the kernel's counts are compared in a refresh, until no event comes in between.
const COUNTS_MAX: usize = 4;

/// How to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowOptions {
    /// Size of the kernel's queue of events, bytes; rounded up to a power of two. A connection that
    /// opens and closes takes some 300 on each side.
    pub queue_bytes: u32,
    /// So many sockets are kept at most, some 100 bytes each.
    pub sockets_max: usize,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self { queue_bytes: 4 << 20, sockets_max: 4_000_000 }
    }
}

/// What [`Follow::refresh`] found.
#[derive(Debug, Default)]
pub struct Refresh {
    /// What changed since the last refresh, and in which namespace. In no order.
    pub changes: Vec<(NetnsId, Change)>,
    /// How complete the readings of the states without events were.
    pub coverage: Coverage,
    /// For people: why all was read again, where it was.
    pub rewalked: Option<String>,
    /// Sockets whose holder may be another by now, because there are too many such to ask about
    /// each: their turn comes in a later refresh.
    pub unasked: usize,
    /// Sockets that found no room in the table.
    pub left_out: u64,
    /// Namespaces that cannot be read any more, and are not followed from now on.
    pub failed: Vec<(Place, Error)>,
}

/// The sockets of some network namespaces, kept up to date.
///
/// Call [`Follow::refresh`] as often as the sockets are to be known; [`Follow::rows`] has them as
/// of the last one. Queues, timers and measurements have no events: these fields are 0. A change
/// of owner (`fchown`) or interface (`SO_BINDTODEVICE`) of an open connection is not seen.
pub struct Follow {
    tracer: Tracer,
    places: HashMap<NetnsId, Followed>,
    table: Table,
    /// Events that were lost before the last walk.
    lost: u64,
    turn: usize,
    /// How many events came.
    told: u64,
    /// By how much the kernel counted other sockets at the last refresh, where it did.
    doubts: HashMap<NetnsId, i64>,
    /// Drops events for tests, as if they had never come.
    #[cfg(test)]
    loses: Box<dyn FnMut(&Event) -> bool + Send>,
}

struct Followed {
    place: Place,
    /// For UDP.
    diag: Diag,
    /// For half-open connections: the fastest that works.
    half_open: Box<dyn Method>,
    count: Count,
    /// What existed when it was added is known.
    walked: bool,
}

impl Follow {
    /// Begins to follow the sockets of these namespaces; all that exist are read once.
    ///
    /// # Errors
    /// [`Error::Bpf`] when BPF is not possible here; when a namespace cannot be entered or read.
    pub fn open(places: Vec<Place>, options: FollowOptions) -> Result<Self, Error> {
        let mut follow = Self {
            tracer: Tracer::open(options.queue_bytes)?,
            places: HashMap::new(),
            table: Table::new(options.sockets_max),
            lost: 0,
            turn: 0,
            told: 0,
            doubts: HashMap::new(),
            #[cfg(test)]
            loses: Box::new(|_| false),
        };
        let mut failed = follow.set_places(places);
        failed.extend(follow.refresh()?.failed);
        match failed.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(follow),
        }
    }

    /// Follows these namespaces from now on, and no others; the next refresh tells what is in those
    /// that are new. Returns those that cannot be followed. Each that is followed is kept alive.
    pub fn set_places(&mut self, places: Vec<Place>) -> Vec<(Place, Error)> {
        let gone = |netns: &NetnsId| !places.iter().any(|place| place.netns == *netns);
        let gone: Vec<NetnsId> = self.places.keys().copied().filter(gone).collect();
        for netns in gone {
            self.drop_place(netns);
        }
        let mut failed = Vec::new();
        for place in places {
            if self.places.contains_key(&place.netns) {
                continue;
            }
            match self.add(&place) {
                Err(error) => {
                    self.tracer.remove(place.netns);
                    failed.push((place, error));
                }
                Ok(followed) => drop(self.places.insert(place.netns, followed)),
            }
        }
        failed
    }

    fn add(&mut self, place: &Place) -> Result<Followed, Error> {
        self.tracer.add(place.netns)?;
        let diag = Diag::open(place)?;
        let half_open = method::open(MethodName::Walk, place)
            .or_else(|_| method::open(MethodName::Diag, place))?;
        let count = Count::open(place)?;
        Ok(Followed { place: place.clone(), diag, half_open, count, walked: false })
    }

    /// Brings the table up to date.
    ///
    /// # Errors
    /// When the queue of events cannot be read.
    pub fn refresh(&mut self) -> Result<Refresh, Error> {
        let mut refresh = Refresh::default();
        self.table.begin();
        self.walk_new(&mut refresh);
        let mut complete = self.drain()?;
        self.look_at_listeners()?;
        self.read_without_events(&mut refresh);
        complete &= self.drain()?;
        let lost = self.tracer.lost()?;
        let mut reason = (lost != self.lost || !complete).then(|| why(lost - self.lost));
        if reason.is_none() {
            self.table.without_live();
            self.complete(&mut refresh)?;
            self.drain()?;
            reason = match self.table.silent() {
                0 => None,
                many => Some(format!("{many} sockets changed without an event")),
            };
        }
        let miscounted = if reason.is_none() { self.miscounted()? } else { HashSet::new() };
        if !miscounted.is_empty() {
            reason = Some("sockets opened or closed without an event".to_owned());
        }
        if reason.is_some() {
            self.walk_again(&mut refresh, |netns| {
                miscounted.is_empty() || miscounted.contains(&netns)
            });
            self.drain()?;
            self.lost = lost;
            self.complete(&mut refresh)?;
            self.table.silent();
            self.judge_counts(&miscounted);
        }
        refresh.rewalked = reason;
        self.table.without_live();
        refresh.changes = self.table.finish();
        refresh.left_out = self.table.left_out();
        Ok(refresh)
    }

    /// All sockets as of the last refresh, with their namespaces, in no order.
    pub fn rows(&self) -> impl Iterator<Item = (NetnsId, Row)> {
        self.table.entries().map(|entry| (entry.netns(), entry.row()))
    }

    /// How many sockets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room for more.
    pub(crate) fn is_full(&self) -> bool {
        self.table.is_full()
    }

    fn drop_place(&mut self, netns: NetnsId) -> Option<Place> {
        self.tracer.remove(netns);
        let followed = self.places.remove(&netns)?;
        self.table.forget(|one| one == netns);
        Some(followed.place)
    }

    fn drain(&mut self) -> Result<bool, Error> {
        let Self { table, places, told, .. } = self;
        #[cfg(test)]
        let loses = &mut self.loses;
        self.tracer.drain(&mut |event| {
            #[cfg(test)]
            if loses(&event) {
                return;
            }
            if places.contains_key(&event.netns) {
                *told += 1;
                table.apply(&event);
            }
        })
    }

    fn walk_new(&mut self, refresh: &mut Refresh) {
        let (table, tracer) = (&mut self.table, &self.tracer);
        let mut failed = Vec::new();
        for (netns, followed) in self.places.iter_mut().filter(|(_, followed)| !followed.walked) {
            let each = &mut |event: Event| table.apply(&event);
            match tracer.walk(&followed.place, each) {
                Ok(left) => refresh.coverage.skipped += u64::from(left > 0),
                Err(error) => failed.push((*netns, error)),
            }
            followed.walked = true;
            table.set_half_open(*netns, true);
        }
        self.fail(failed, refresh);
    }

    fn walk_again(&mut self, refresh: &mut Refresh, is_doubtful: impl Fn(NetnsId) -> bool) {
        self.table.forget(&is_doubtful);
        let doubtful = self.places.iter_mut().filter(|(netns, _)| is_doubtful(**netns));
        doubtful.for_each(|(_, followed)| followed.walked = false);
        self.walk_new(refresh);
    }

    /// Half-open connections are structures of their own, without events, but each listener counts
    /// its own.
    fn look_at_listeners(&mut self) -> Result<(), Error> {
        let table = &mut self.table;
        let questions = table.listeners();
        self.tracer.ask(&questions, &mut |cookie, answer| table.answer(cookie, &answer))
    }

    fn read_without_events(&mut self, refresh: &mut Refresh) {
        let table = &mut self.table;
        let mut failed = Vec::new();
        for (netns, followed) in &mut self.places {
            let udp =
                followed.diag.read(&query(Transport::Udp), &mut |row| table.dumped(*netns, row));
            let read = udp.and_then(|mut coverage| {
                if table.may_have_half_open(*netns) {
                    let mut rows = 0;
                    let keep = &mut |row: &Row| {
                        rows += 1;
                        table.dumped(*netns, row);
                    };
                    coverage.add(followed.half_open.read(&query(Transport::Tcp), keep)?);
                    table.set_half_open(*netns, rows > 0);
                }
                Ok(coverage)
            });
            match read {
                Ok(coverage) => refresh.coverage.add(coverage),
                Err(error) => failed.push((*netns, error)),
            }
        }
        self.fail(failed, refresh);
    }

    /// Asks about sockets that were not complete when they were told of.
    fn complete(&mut self, refresh: &mut Refresh) -> Result<(), Error> {
        let mut questions = self.table.questions(QUESTIONS_MAX, self.turn);
        self.turn = self.turn.wrapping_add(1) % (usize::MAX / QUESTIONS_MAX);
        refresh.unasked = self.table.unsettled() - questions.len();
        questions.extend(self.table.checks(CHECKS_MAX));
        let table = &mut self.table;
        self.tracer.ask(&questions, &mut |cookie, answer| table.answer(cookie, &answer))
    }

    /// The namespaces where the kernel counts other sockets than the table has, twice in a row
    /// with no event in between.
    fn miscounted(&mut self) -> Result<HashSet<NetnsId>, Error> {
        let opening = self.table.opening();
        let mut doubts = self.differences();
        let mut sure = HashSet::new();
        for _ in 0..COUNTS_MAX {
            if doubts.is_empty() {
                break;
            }
            let told = self.told;
            self.drain()?;
            let mut again = self.differences();
            again.retain(|netns, by| doubts.get(netns) == Some(by));
            doubts = again;
            if self.told == told {
                // What is just being opened may take its time, but not until the next refresh.
                let is_sure = |(netns, by): &(&NetnsId, &i64)| {
                    !opening.contains(netns) || self.doubts.get(netns) == Some(by)
                };
                sure = doubts.iter().filter(is_sure).map(|(&netns, _)| netns).collect();
                break;
            }
        }
        self.doubts = doubts;
        Ok(sure)
    }

    /// By how much the kernel counts other sockets than the table has, where it does.
    fn differences(&self) -> HashMap<NetnsId, i64> {
        if self.table.is_full() {
            return HashMap::new();
        }
        let difference = |(&netns, followed): (&NetnsId, &Followed)| {
            Some((netns, followed.count.sockets()? - self.table.in_use(netns)))
        };
        self.places.iter().filter_map(difference).filter(|(_, by)| *by != 0).collect()
    }

    /// After a walk because of these.
    fn judge_counts(&mut self, miscounted: &HashSet<NetnsId>) {
        let differences = self.differences();
        for netns in miscounted {
            if let Some(followed) = self.places.get_mut(netns) {
                followed.count.judge(!differences.contains_key(netns));
            }
        }
    }

    fn fail(&mut self, failed: Vec<(NetnsId, Error)>, refresh: &mut Refresh) {
        for (netns, error) in failed {
            if let Some(place) = self.drop_place(netns) {
                refresh.failed.push((place, error));
            }
        }
    }
}

/// For what has no events: all of UDP, the half-open of TCP.
fn query(transport: Transport) -> Query {
    let details = Details { holder: true, cookie: true, ..Details::NONE };
    let states = match transport {
        Transport::Tcp => States::NONE.with(State::SynReceived),
        Transport::Udp => States::ALL,
    };
    Query { states, details, ..Query::all(transport) }
}

fn why(lost: u64) -> String {
    match lost {
        0 => "events came faster than they could be read".to_owned(),
        1 => "an event was lost".to_owned(),
        more => format!("{more} events were lost"),
    }
}

#[cfg(test)]
mod tests;
