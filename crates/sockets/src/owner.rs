//! Which process holds which socket.
//!
//! The kernel's tables name a socket's inode, and only the descriptors of the processes say who
//! holds that inode. One walk over all descriptors builds a table for all sockets at once: linear
//! in the number of descriptors, where a search per socket would be quadratic.

mod names;
mod table;
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

/// Where descriptors are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// In `/proc/PID/fd`, a system call for each.
    #[default]
    Procfs,
    /// In the kernel's tables, by a BPF program (`bpf/holders.bpf.c`).
    Walk,
    /// By a BPF iterator (`bpf/iter.bpf.c`).
    Iter,
}

/// Loading a BPF program takes 10 to 20 milliseconds, in which so many descriptors are looked at in
/// `/proc`.
const DESCRIPTORS_WORTH_LOADING: u64 = 10_000;

impl Source {
    /// All sources, the fastest first.
    pub const ALL: [Self; 3] = [Self::Walk, Self::Iter, Self::Procfs];

    /// The fastest that works here, for one walk; or for many, so that what it takes to begin does
    /// not count.
    #[must_use]
    pub fn choose(again: bool) -> Self {
        if !again && open_descriptors() < DESCRIPTORS_WORTH_LOADING || !proc_is_own() {
            return Self::Procfs;
        }
        if crate::walk::can_find_holders() {
            Self::Walk
        } else if crate::iter::holdings().is_ok() {
            Self::Iter
        } else {
            Self::Procfs
        }
    }

    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Procfs => "procfs",
            Self::Walk => "walk",
            Self::Iter => "iter",
        }
    }

    /// For people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Procfs => "/proc/PID/fd",
            Self::Walk => "BPF walk over the tables of descriptors",
            Self::Iter => "BPF iterator over descriptors",
        }
    }
}

/// The holders of all sockets, as of the last [`Owners::walk`].
#[derive(Debug, Default)]
pub struct Owners {
    source: Source,
    walked: Walked,
    processes: HashMap<u32, Arc<Process>>,
}

impl Owners {
    /// A table that knows nobody yet, to be filled from `/proc`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A table that knows nobody yet, to be filled from `source`.
    #[must_use]
    pub fn from(source: Source) -> Self {
        Self { source, ..Self::default() }
    }

    /// Walks over the descriptors of all processes.
    ///
    /// # Errors
    /// When `/proc` cannot be read at all, or the means are missing (`EMFILE`, `ENFILE`, `ENOMEM`);
    /// or BPF is not possible here, where that is the source.
    /// Processes that vanish or refuse are skipped; those that refuse are counted in
    /// [`Owners::hidden_processes`].
    pub fn walk(&mut self) -> Result<(), Error> {
        self.walked = match self.source {
            Source::Procfs => walk::walk().map_err(walking)?,
            Source::Walk => match Walked::by_bpf() {
                // One directory after the other, it does not matter what ends meanwhile.
                Err(Error::Restless) => walk::walk().map_err(walking)?,
                walked => walked?,
            },
            Source::Iter => Walked::of(crate::iter::holdings()?),
        };
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
        match self.source {
            Source::Procfs => self.walked.walk_new().map_err(walking),
            // All of it costs less than to find out who is new.
            Source::Walk | Source::Iter => self.walk(),
        }
    }

    /// For a thread that looks up many.
    #[must_use]
    pub fn lookup(&self) -> Lookup<'_> {
        Lookup { owners: self, holders: HashMap::new() }
    }

    /// Whether the last walk found a holder of the socket with this inode number.
    #[must_use]
    pub fn knows(&self, inode: u32) -> bool {
        self.walked.holders.contains_key(&inode)
    }

    /// Who holds the socket with this inode number. Of several processes that share it, the one
    /// with the lowest id, which usually opened it before the others inherited it; but PID 1 and
    /// the systemd of a user only if they are alone, since they keep the sockets that they pass on.
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

/// Whether `/proc` is that of the PID namespace of this process: what BPF programs tell are ids of
/// that one, and names are looked up in `/proc`.
fn proc_is_own() -> bool {
    let own = std::fs::read_link("/proc/self");
    own.is_ok_and(|own| own.to_str() == Some(&*std::process::id().to_string()))
}

/// How many descriptors are open on this host (proc(5), `/proc/sys/fs/file-nr`); 0 where that is
/// not told.
fn open_descriptors() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/fs/file-nr").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn walking(error: std::io::Error) -> Error {
    Error::system("walk over the processes", "/proc")(error)
}

/// Looks up holders on one thread of several. Remembers what the processes are.
#[derive(Debug)]
pub struct Lookup<'a> {
    owners: &'a Owners,
    /// None of those that ended.
    holders: HashMap<u32, Option<Holder>>,
}

impl Lookup<'_> {
    /// As [`Owners::holder`].
    pub fn holder(&mut self, inode: u32) -> Option<&Holder> {
        let pid = *self.owners.walked.holders.get(&inode)?;
        let read = || names::read(pid).map(|it| Holder { pid, process: Arc::new(it) });
        self.holders.entry(pid).or_insert_with(read).as_ref()
    }
}

#[cfg(test)]
mod tests;
