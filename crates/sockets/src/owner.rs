//! Which process holds which socket.
//!
//! The kernel's tables name a socket's inode, and only `/proc/PID/fd` says who holds that inode.
//! One walk over all descriptors builds a table for all sockets at once: linear in the number of
//! descriptors, where a search per socket would be quadratic.

#[doc(hidden)]
pub mod cgroup;
mod names;
mod walk;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use portolan_flow::Process;

use crate::Error;
use walk::Walked;

/// The process that holds a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id, in the observer's PID namespace.
    pub pid: u32,
    /// What it is.
    pub process: Arc<Process>,
}

/// The name of a process, as a [`Holder`] has it.
pub(crate) fn name_of(pid: u32) -> Option<String> {
    names::read(pid).map(|process| process.name)
}

/// The holders of all sockets, as of the last [`Owners::walk`].
#[derive(Debug, Default)]
pub struct Owners {
    walked: Walked,
    processes: HashMap<u32, Arc<Process>>,
}

impl Owners {
    /// A table that knows nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Walks over the descriptors of all processes, on a few threads.
    ///
    /// # Errors
    /// When `/proc` cannot be read at all, or the means are missing (`EMFILE`, `ENFILE`, `ENOMEM`).
    /// Processes that vanish or refuse are skipped; those that refuse are counted in
    /// [`Owners::hidden_processes`].
    pub fn walk(&mut self) -> Result<(), Error> {
        self.walked = walk::walk().map_err(Error::system("walk over the processes", "/proc"))?;
        // Names are read again: a process may have called exec(), or its id may be another's now.
        self.processes.clear();
        Ok(())
    }

    /// Walks over the processes that started since the last walk, and keeps what is known.
    ///
    /// A socket that a listing showed and the walk did not find was closed in between, or its
    /// holder passed it on to a child that it started in between.
    ///
    /// # Errors
    /// As for [`Owners::walk`].
    pub fn walk_new(&mut self) -> Result<(), Error> {
        self.walked.walk_new().map_err(Error::system("walk over the processes", "/proc"))
    }

    /// Whether the last walk found a holder of the socket with this inode number.
    #[must_use]
    pub fn knows(&self, inode: u32) -> bool {
        self.walked.holders.contains_key(&inode)
    }

    /// Who holds the socket with this inode number. Of several processes that share it, the one
    /// with the lowest id, which opened it before the others inherited it; but PID 1 and the
    /// systemd of a user only if they are alone, since they keep the sockets that they pass on.
    /// Nobody if the process ended since the walk.
    pub fn holder(&mut self, inode: u32) -> Option<Holder> {
        let pid = *self.walked.holders.get(&inode)?;
        let process = match self.processes.entry(pid) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(vacant) => vacant.insert(Arc::new(names::read(pid)?)).clone(),
        };
        Some(Holder { pid, process })
    }

    /// How many processes would not show their descriptors (no CAP_SYS_PTRACE).
    #[must_use]
    pub fn hidden_processes(&self) -> usize {
        self.walked.hidden_processes
    }

    /// How many sockets have a known holder.
    #[must_use]
    pub fn len(&self) -> usize {
        self.walked.holders.len()
    }

    /// Whether no socket has a known holder.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.walked.holders.is_empty()
    }
}

#[cfg(test)]
mod tests;
