//! Who holds the sockets of a reading, looked up again only where somebody may hold a new one.

use std::collections::HashSet;

use portolan_flow::{NetnsId, Owner};

use super::{listing::Listing, seen::Seen};
use crate::{Error, Owners, Source};

/// After so many readings owners are looked up again even if no new socket appeared: a socket may
/// have been handed from one process to another.
const READINGS_PER_WALK: u32 = 15;

/// The holders as of the last walk over all descriptors.
pub(super) struct Holders {
    owners: Owners,
    /// Sockets that the last walk did not find: no reason for another.
    unowned: HashSet<u32>,
    /// Those of them that certainly exist.
    hidden: HashSet<u32>,
    readings_since_walk: u32,
}

impl Holders {
    /// Knows nobody until the first reading.
    pub fn from(source: Source) -> Self {
        Self {
            owners: Owners::from(source),
            unowned: HashSet::new(),
            hidden: HashSet::new(),
            readings_since_walk: READINGS_PER_WALK,
        }
    }

    /// Looks up owners again when a socket appeared that was not there before.
    pub fn follow(&mut self, listing: &mut Listing) -> Result<(), Error> {
        self.readings_since_walk += 1;
        let is_new = |inode| !self.owners.knows(inode) && !self.unowned.contains(&inode);
        if self.readings_since_walk < READINGS_PER_WALK && !listing.has_new(is_new) {
            return Ok(());
        }
        // If it fails, the next reading is to try again.
        self.readings_since_walk = READINGS_PER_WALK;
        self.owners.walk()?;
        let mut missing = self.missing(listing);
        if missing.iter().any(|(_, inode)| !self.unowned.contains(inode)) {
            self.owners.walk_new()?;
            missing = self.missing(listing);
            self.hidden = match self.owners.hidden_processes() {
                0 => HashSet::new(),
                _ => listing.still_there(&missing),
            };
        }
        self.unowned = missing.into_iter().map(|(_, inode)| inode).collect();
        self.readings_since_walk = 0;
        Ok(())
    }

    /// Whether this reading looked them up.
    pub fn are_fresh(&self) -> bool {
        self.readings_since_walk == 0
    }

    /// How many processes would not show their descriptors.
    pub fn hidden_processes(&self) -> usize {
        self.owners.hidden_processes()
    }

    /// Who holds a socket, and the process's id where it is known.
    pub fn of(&mut self, seen: &Seen) -> (Owner, Option<u32>) {
        match self.owners.holder(seen.inode) {
            Some(holder) => (Owner::Process(holder.process), Some(holder.pid)),
            // Where every process can be seen, a socket without one belongs to the kernel.
            None if self.hidden.contains(&seen.inode) && self.hidden_processes() > 0 => {
                (Owner::Hidden { uid: seen.uid }, None)
            }
            None => (Owner::Unobserved, None),
        }
    }

    /// The sockets that somebody holds, but nobody knows who.
    fn missing(&self, listing: &Listing) -> Vec<(NetnsId, u32)> {
        let mut missing = Vec::new();
        listing.each(&mut |seen| {
            if seen.inode != 0 && !self.owners.knows(seen.inode) {
                missing.push((seen.netns, seen.inode));
            }
        });
        missing
    }
}
