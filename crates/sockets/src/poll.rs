//! What changed between one listing and the next: for where events cannot be followed.
//!
//! The same answers as [`crate::Follow`] gives, at the price of a whole listing each time; and a
//! connection that came and went in between is not seen.

use std::{collections::HashMap, io, net::SocketAddr};

use portolan_flow::{NetnsId, Transport};

use crate::{
    Change, Details, Error, Method, MethodName, Place, Query, Refresh, Row, State, method,
};

/// What tells a socket from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Identity {
    netns: NetnsId,
    transport: Transport,
    local: SocketAddr,
    remote: SocketAddr,
    /// The cookie; where there is none and several may have these addresses, the inode number.
    number: u64,
}

impl Identity {
    fn of(netns: NetnsId, row: &Row) -> Self {
        let shared = matches!(row.state, State::Listen | State::Close);
        let number = match row.cookie {
            0 if shared => row.inode.into(),
            cookie => cookie,
        };
        let (transport, local, remote) = (row.transport, row.local, row.remote);
        Self { netns, transport, local, remote, number }
    }
}

/// Sockets listed again and again.
pub struct Poll {
    method: MethodName,
    readers: Vec<(Place, Box<dyn Method>)>,
    known: HashMap<Identity, Row>,
}

impl Poll {
    /// Lists the sockets of these namespaces by a method, once.
    ///
    /// # Errors
    /// When a namespace cannot be entered or read.
    pub fn open(method: MethodName, places: Vec<Place>) -> Result<Self, Error> {
        let mut poll = Self { method, readers: Vec::new(), known: HashMap::new() };
        let mut failed = poll.set_places(places);
        failed.extend(poll.refresh()?.failed);
        match failed.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(poll),
        }
    }

    /// Lists these namespaces from now on, and no others; the next refresh tells what is in those
    /// that are new, and that what was in the others is closed. Returns those that cannot be
    /// listed.
    pub fn set_places(&mut self, places: Vec<Place>) -> Vec<(Place, Error)> {
        let remains = |netns| places.iter().any(|place| place.netns == netns);
        self.readers.retain(|(place, _)| remains(place.netns));
        let mut failed = Vec::new();
        for place in places {
            if self.readers.iter().any(|(known, _)| known.netns == place.netns) {
                continue;
            }
            match method::open(self.method, &place) {
                Ok(reader) => self.readers.push((place, reader)),
                Err(error) => failed.push((place, error)),
            }
        }
        failed
    }

    /// Lists again, and compares.
    ///
    /// # Errors
    /// None so far; a namespace that cannot be read any more is told in [`Refresh::failed`].
    pub fn refresh(&mut self) -> Result<Refresh, Error> {
        let mut refresh = Refresh::default();
        let mut now: HashMap<Identity, Row> = HashMap::with_capacity(self.known.len());
        let readers = std::mem::take(&mut self.readers);
        for (place, mut reader) in readers {
            match list(place.netns, reader.as_mut(), &mut now) {
                Ok(coverage) => {
                    refresh.coverage.add(coverage);
                    self.readers.push((place, reader));
                }
                // It ended since it was looked for: its sockets are closed, and that is all.
                Err(error) if has_ended(&place, &error) => {}
                Err(error) => refresh.failed.push((place, error)),
            }
        }
        for (identity, row) in &now {
            let change = match self.known.remove(identity) {
                None => Change::Opened(row.clone()),
                Some(before) if is_same(&before, row) => continue,
                Some(before) => Change::Changed { before, after: row.clone() },
            };
            refresh.changes.push((identity.netns, change));
        }
        let closed = self.known.drain();
        refresh.changes.extend(closed.map(|(key, row)| (key.netns, Change::Closed(row))));
        self.known = now;
        Ok(refresh)
    }

    /// How many sockets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// Whether this is what [`Place::run`] answers where the namespace is gone. The own one never is.
fn has_ended(place: &Place, error: &Error) -> bool {
    place.netns != Place::here().netns
        && matches!(error, Error::System { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// What a change is about; all else moves on all the time.
fn is_same(before: &Row, after: &Row) -> bool {
    let told = |row: &Row| (row.state, row.inode, row.uid);
    told(before) == told(after)
}

fn list(
    netns: NetnsId,
    reader: &mut dyn Method,
    into: &mut HashMap<Identity, Row>,
) -> Result<crate::Coverage, Error> {
    let details = Details { holder: true, cookie: true, ..Details::NONE };
    let mut coverage = crate::Coverage::default();
    for transport in [Transport::Tcp, Transport::Udp] {
        let query = Query { details, ..Query::all(transport) };
        let read = reader.read(&query, &mut |row| {
            into.insert(Identity::of(netns, row), row.clone());
        });
        coverage.add(read?);
    }
    Ok(coverage)
}

#[cfg(test)]
mod tests;
