//! The method `snapshot`: one reading of all sockets of the host, bundled.
//!
//! Who reads again and again has a table kept up to date by the kernel's events, where the host
//! allows that; otherwise the sockets are listed (`snapshot/listing.rs`). Either way each namespace
//! is entered once and then read from outside. What reads it keeps it alive, so that is closed as
//! soon as nothing else shows that the namespace exists.

mod holders;
mod listing;
mod memory;
mod observer;
mod seen;
mod warnings;

use std::time::{Duration, Instant};

use portolan_flow::{Bundle, Bundler, End, Namespace, Observation, Phase, PortRange, Transport};
use portolan_sys::limits;

use crate::{
    Choice, Coverage, Error, Hidden, MethodName, Place, Places, Source, hidden_processes, owner,
    place,
};
use holders::Holders;
use listing::Listing;
use memory::Memory;
use observer::Observers;
use seen::Seen;
use warnings::Unopened;

/// So long the edges of a reading are those of the next ones too, if no socket changed; less than
/// what [`Memory`] remembers.
const QUIET_MAX: Duration = Duration::from_secs(60);

/// What to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// The listing method; the best that works where `None`.
    pub method: Option<MethodName>,
    /// Only the observer's own network namespace.
    pub own_namespace_only: bool,
    /// Many readings are to come, so that what it takes to begin does not count. Where no method
    /// is asked for, the sockets are followed by the kernel's events if the host allows it.
    pub again: bool,
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
    listing: Listing,
    ephemeral: PortRange,
    holders: Holders,
    memory: Memory,
    observers: Observers,
    /// What the last reading found, if it succeeded, and when it was put together.
    last: Option<(Instant, Bundle)>,
}

impl Snapshot {
    /// Finds out how to read this host.
    ///
    /// # Errors
    /// When no method works, or not the one asked for.
    pub fn open(options: SnapshotOptions) -> Result<Self, Error> {
        let (first, last) =
            limits::ephemeral_ports().unwrap_or((PortRange::LINUX.first, PortRange::LINUX.last));
        Ok(Self {
            options,
            listing: Listing::open(options)?,
            ephemeral: PortRange { first, last },
            holders: Holders::from(Source::choose(options.again)),
            memory: Memory::default(),
            observers: Observers::new(owner::name_of(std::process::id())),
            last: None,
        })
    }

    /// For people: `snapshot (netlink sock_diag)`.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("snapshot ({})", self.listing.describe())
    }

    /// The listing method and what stood against faster ones; `None` where the sockets are followed
    /// by the kernel's events.
    #[must_use]
    pub fn choice(&self) -> Option<&Choice> {
        self.listing.choice()
    }

    /// Why the kernel's events are not followed, where that was tried.
    #[must_use]
    pub fn unfollowed(&self) -> Option<&Error> {
        self.listing.unfollowed()
    }

    /// Reads all sockets once.
    ///
    /// # Errors
    /// When the observer's own namespace cannot be read; trouble with any other is a warning.
    pub fn read(&mut self) -> Result<Reading, Error> {
        let last = self.last.take();
        let mut reading = Reading::default();
        let hidden = self.follow_namespaces(&mut reading.warnings)?;
        self.listing.read(&mut reading)?;
        self.holders.follow(&mut self.listing)?;
        let now = Instant::now();
        let same = last.filter(|(at, _)| self.is_as_it_was(now.duration_since(*at)));
        let (at, bundle) = same.unwrap_or_else(|| (now, self.bundle(now)));
        self.last = self.listing.is_followed().then(|| (at, bundle.clone()));
        reading.bundle = bundle;
        reading.warnings.extend(warnings::of_coverage(reading.coverage));
        reading.warnings.extend(self.hidden_warning(hidden));
        Ok(reading)
    }

    /// What another method saw, without the edges and listeners of the observer itself, as in the
    /// readings.
    #[must_use]
    pub fn without_observers(&mut self, bundle: Bundle) -> Bundle {
        self.observers.without(bundle)
    }

    /// Closes the readers in other namespaces: each keeps its namespace alive, though nobody else
    /// may, until the next reading. For those who read seldom; the next reading opens them again.
    pub fn release(&mut self) {
        // The own one is open, and nothing is opened.
        let _ = self.listing.set_places(vec![Place::here()]);
    }

    /// Whether the sockets and who holds them are what they were so long ago.
    fn is_as_it_was(&self, ago: Duration) -> bool {
        self.listing.is_quiet() && !self.holders.are_fresh() && ago < QUIET_MAX
    }

    fn bundle(&mut self, now: Instant) -> Bundle {
        let Self { listing, holders, memory, ephemeral, .. } = self;
        let mut bundler = Bundler::new(*ephemeral);
        let mut used = Vec::new();
        let mut inside = None;
        listing.each(&mut |seen| {
            if inside.is_none_or(|(netns, _)| netns != seen.netns) {
                inside = listing.namespace(seen.netns).map(|namespace| (seen.netns, namespace));
            }
            // One that could not be read to its end has none.
            let Some((_, namespace)) = inside else { return };
            let observation = observation(seen, namespace, holders);
            if seen.phase != Phase::Listening {
                used.push((seen.netns, seen.transport, seen.local.port()));
            } else if !is_datagram_client(seen, *ephemeral) {
                let bound = (seen.netns, seen.transport, seen.local);
                memory.listens(bound, listening_end(&observation), now);
            }
            bundler.observe(observation);
        });
        memory.used(used.into_iter(), now);
        memory.keep_namespaces(|netns| listing.namespace(netns).is_some());
        memory.tell(&mut bundler, now);
        if holders.are_fresh() {
            self.observers.forget();
        }
        self.observers.without(bundler.finish())
    }

    /// Looks into every new namespace, and no more into those that are gone. Returns how many
    /// processes may live in others.
    fn follow_namespaces(&mut self, warnings: &mut Vec<String>) -> Result<usize, Error> {
        let here = Place::here();
        let found = match self.options.own_namespace_only {
            true => Places { places: vec![here.clone()], hidden_processes: 0 },
            false => place::places()?,
        };
        let mut unopened = Unopened::default();
        for (place, error) in self.listing.set_places(found.places) {
            if place.netns == here.netns {
                return Err(error);
            }
            unopened.add(error);
        }
        warnings.extend(unopened.warnings());
        Ok(found.hidden_processes)
    }

    /// The same text as long as the same processes hide, so that it is not news each time.
    fn hidden_warning(&self, in_namespaces: usize) -> Option<String> {
        let hidden = self.holders.hidden_processes().max(in_namespaces);
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

/// Those come and go with every question that they ask.
fn is_datagram_client(socket: &Seen, ephemeral: PortRange) -> bool {
    socket.transport == Transport::Udp && ephemeral.contains(socket.local.port())
}

fn observation(seen: &Seen, namespace: &Namespace, holders: &mut Holders) -> Observation {
    let (owner, pid) = holders.of(seen);
    Observation {
        transport: seen.transport,
        netns: seen.netns,
        namespace: namespace.clone(),
        local: seen.local,
        remote: seen.remote,
        phase: seen.phase,
        owner,
        pid,
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
