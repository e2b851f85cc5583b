//! The walk over `/proc/PID/fd`: every descriptor that is a socket, and whose it is.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    fs, io,
    mem::MaybeUninit,
    num::NonZero,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::table::Holders;
use crate::{Error, walk::Held};
use rustix::{
    fs::{Mode, OFlags, RawDir},
    io::Errno,
};

/// More threads gain nothing: they wait for the same locks of the kernel.
const THREADS_MAX: usize = 4;

/// `socket:[4294967295]` is 19 bytes; whatever is longer is no socket.
const LINK_BYTES_MAX: usize = 32;

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walked {
    /// The processes that were met.
    met: HashSet<u32>,
    /// The process id by inode number.
    pub holders: Holders,
    /// Processes that refused to show their descriptors.
    pub hidden_processes: usize,
    managers: Managers,
}

/// Walks over all processes.
pub fn walk() -> io::Result<Walked> {
    let mut walked = Walked::default();
    walked.walk_new()?;
    Ok(walked)
}

impl Walked {
    /// Who holds what, as these pairs of an inode number and a process id say.
    pub fn of(held: Vec<(u32, u32)>) -> Self {
        let mut walked = Self::default();
        walked.add(held);
        walked
    }

    /// Who holds what, by the BPF program that looks at all tables of descriptors.
    pub fn by_bpf() -> Result<Self, Error> {
        let mut walked = Self::default();
        crate::walk::holdings(&mut |held| match held {
            Held::Again => walked = Self::default(),
            Held::By { inode, pid } => walked.add_one(inode, pid),
        })?;
        Ok(walked)
    }

    /// Adds pairs of an inode number and the id of a process that holds it.
    pub fn add(&mut self, held: Vec<(u32, u32)>) {
        self.holders.reserve(held.len());
        held.into_iter().for_each(|(inode, pid)| self.add_one(inode, pid));
    }

    fn add_one(&mut self, inode: u32, pid: u32) {
        insert(&mut self.holders, inode, pid, |pid| self.managers.contains(pid));
    }

    /// Walks over the processes that were not met yet: those that started since.
    ///
    /// Without the means to look into a process, such as a free file descriptor, this fails: what
    /// it holds would be given to another.
    pub fn walk_new(&mut self) -> io::Result<()> {
        let mut pids = pids()?;
        pids.retain(|&pid| self.met.insert(pid));
        let parts = walk_side_by_side(&pids)?;
        for part in parts {
            self.hidden_processes += part.hidden_processes;
            self.add(part.found);
        }
        Ok(())
    }
}

/// Which processes are managers of services, such as that of a user: they keep the sockets that
/// they pass on. Looked up only for those that share one.
#[derive(Debug, Default)]
struct Managers(HashMap<u32, bool>);

impl Managers {
    fn contains(&mut self, pid: u32) -> bool {
        let is_manager =
            || fs::read(format!("/proc/{pid}/comm")).is_ok_and(|it| it == b"systemd\n");
        pid == 1 || *self.0.entry(pid).or_insert_with(is_manager)
    }
}

fn walk_side_by_side(pids: &[u32]) -> io::Result<Vec<Part>> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.min(THREADS_MAX).min(pids.len());
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| walk_some(pids, &next))).collect();
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// What one thread found.
#[derive(Debug, Default)]
struct Part {
    found: Vec<(u32, u32)>,
    hidden_processes: usize,
}

fn pids() -> io::Result<Vec<u32>> {
    let names = fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.to_str()?.parse().ok()).collect())
}

/// Takes processes off the shared list until there are none left.
fn walk_some(pids: &[u32], next: &AtomicUsize) -> io::Result<Part> {
    let mut part = Part::default();
    let mut entries = vec![MaybeUninit::uninit(); 32 * 1024];
    while let Some(&pid) = pids.get(next.fetch_add(1, Ordering::Relaxed)) {
        let directory = PathBuf::from(format!("/proc/{pid}/fd"));
        let listed = match sockets_of(pid, &directory, &mut entries, &mut part.found) {
            Ok(Listed::Nothing) if has_lost_its_leader(pid) => {
                sockets_of_threads(pid, &mut entries, &mut part.found)
            }
            listed => listed,
        };
        match listed.map_err(Obstacle::of) {
            Ok(_) | Err(Obstacle::Ended) => {}
            Err(Obstacle::Hidden) => part.hidden_processes += 1,
            Err(Obstacle::Other(error)) => return Err(error),
        }
    }
    Ok(part)
}

/// Why a process was not looked into.
#[derive(Debug)]
enum Obstacle {
    /// It ended in the meantime.
    Ended,
    /// It is not to be seen.
    Hidden,
    /// The observer lacks something, such as a free file descriptor.
    Other(io::Error),
}

impl Obstacle {
    fn of(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::SRCH | Errno::NOTDIR => Self::Ended,
            Errno::ACCESS | Errno::PERM => Self::Hidden,
            other => Self::Other(other.into()),
        }
    }
}

/// Whether there were descriptors.
#[derive(Debug)]
enum Listed {
    Nothing,
    Something,
}

/// Finds the sockets among the descriptors in a directory. It can be listed with other rights than
/// those that reading the links takes.
fn sockets_of(
    pid: u32,
    directory: &Path,
    entries: &mut [MaybeUninit<u8>],
    found: &mut Vec<(u32, u32)>,
) -> rustix::io::Result<Listed> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(directory, flags, Mode::empty())?;
    let mut listing = RawDir::new(&directory, entries);
    let mut listed = Listed::Nothing;
    while let Some(entry) = listing.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes().starts_with(b".") {
            continue;
        }
        listed = Listed::Something;
        let mut link = [MaybeUninit::uninit(); LINK_BYTES_MAX];
        match rustix::fs::readlinkat_raw(&directory, name, &mut link) {
            Ok((link, _)) => found.extend(socket_inode(link).map(|inode| (inode, pid))),
            // The descriptor was closed in the meantime.
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(listed)
}

/// Whether the first thread of the process ended, which leaves nothing in its directory while the
/// other threads go on with all descriptors.
fn has_lost_its_leader(pid: u32) -> bool {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may hold any character, so the state follows the last parenthesis.
    let at = stat.iter().rposition(|&byte| byte == b')');
    at.is_some_and(|at| stat[at + 1..].trim_ascii_start().starts_with(b"Z"))
}

/// Finds the sockets of the first thread that still shows any.
fn sockets_of_threads(
    pid: u32,
    entries: &mut [MaybeUninit<u8>],
    found: &mut Vec<(u32, u32)>,
) -> rustix::io::Result<Listed> {
    let threads = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(threads) => threads,
        Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    };
    for thread in threads.flatten() {
        match sockets_of(pid, &thread.path().join("fd"), entries, found) {
            Ok(Listed::Something) => return Ok(Listed::Something),
            // Of a thread that ended, what is left belongs to nobody: it hides nothing.
            Ok(Listed::Nothing) | Err(Errno::NOENT | Errno::SRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Listed::Nothing)
}

/// The number in `socket:[NUMBER]`.
fn socket_inode(link: &[u8]) -> Option<u32> {
    let digits = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn insert(holders: &mut Holders, inode: u32, pid: u32, mut is_manager: impl FnMut(u32) -> bool) {
    match holders.entry(inode) {
        Entry::Vacant(vacant) => {
            vacant.insert(pid);
        }
        Entry::Occupied(mut known) => {
            // The lowest id first, those that pass sockets on last.
            let mut rank = |pid| (is_manager(pid), pid);
            if *known.get() != pid && rank(pid) < rank(*known.get()) {
                known.insert(pid);
            }
        }
    }
}

#[cfg(test)]
mod tests;
