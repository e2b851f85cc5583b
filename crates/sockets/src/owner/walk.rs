//! The walk over `/proc/PID/fd`: every descriptor that is a socket, and whose it is.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    fs, io,
    mem::MaybeUninit,
    num::NonZero,
    os::fd::OwnedFd,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use rustix::fs::{Mode, OFlags, RawDir};

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
    pub holders: HashMap<u32, u32>,
    /// Processes that refused to show their descriptors.
    pub hidden_processes: usize,
}

/// Walks over all processes.
pub fn walk() -> io::Result<Walked> {
    let mut walked = Walked::default();
    walked.walk_new()?;
    Ok(walked)
}

impl Walked {
    /// Walks over the processes that were not met yet: those that started since.
    pub fn walk_new(&mut self) -> io::Result<()> {
        let mut pids = pids()?;
        pids.retain(|&pid| self.met.insert(pid));
        let parts = walk_side_by_side(&pids);
        self.holders.reserve(parts.iter().map(|part| part.found.len()).sum());
        for part in parts {
            self.hidden_processes += part.hidden_processes;
            for (inode, pid) in part.found {
                insert(&mut self.holders, inode, pid);
            }
        }
        Ok(())
    }
}

fn walk_side_by_side(pids: &[u32]) -> Vec<Part> {
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
fn walk_some(pids: &[u32], next: &AtomicUsize) -> Part {
    let mut part = Part::default();
    let mut entries = vec![MaybeUninit::uninit(); 32 * 1024];
    while let Some(&pid) = pids.get(next.fetch_add(1, Ordering::Relaxed)) {
        match descriptors(pid) {
            Ok(directory) => {
                let hides = sockets_of(pid, &directory, &mut entries, &mut part.found);
                part.hidden_processes += usize::from(hides);
            }
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => part.hidden_processes += 1,
            Err(_) => {} // it ended in the meantime
        }
    }
    part
}

fn descriptors(pid: u32) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/{pid}/fd"), flags, Mode::empty())
}

/// Returns whether the process hides what its descriptors are: the directory can be listed with
/// other rights than those that reading the links takes.
fn sockets_of(
    pid: u32,
    directory: &OwnedFd,
    entries: &mut [MaybeUninit<u8>],
    found: &mut Vec<(u32, u32)>,
) -> bool {
    let mut listing = RawDir::new(directory, entries);
    while let Some(Ok(entry)) = listing.next() {
        let mut link = [MaybeUninit::uninit(); LINK_BYTES_MAX];
        let link = match rustix::fs::readlinkat_raw(directory, entry.file_name(), &mut link) {
            Ok((link, _)) => link,
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => return true,
            Err(_) => continue,
        };
        if let Some(inode) = socket_inode(link) {
            found.push((inode, pid));
        }
    }
    false
}

/// The number in `socket:[NUMBER]`.
fn socket_inode(link: &[u8]) -> Option<u32> {
    let digits = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn insert(holders: &mut HashMap<u32, u32>, inode: u32, pid: u32) {
    match holders.entry(inode) {
        Entry::Vacant(vacant) => {
            vacant.insert(pid);
        }
        Entry::Occupied(mut known) => {
            if rank(pid) < rank(*known.get()) {
                known.insert(pid);
            }
        }
    }
}

/// The lowest id first, PID 1 last.
fn rank(pid: u32) -> (bool, u32) {
    (pid == 1, pid)
}

#[cfg(test)]
mod tests;
