//! Network namespaces: which exist, and running code inside one.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    thread,
};

use rustix::thread::{LinkNameSpaceType, UnshareFlags};

/// Where `ip netns add` and compatible tools mount namespaces under a name.
const NAMED: &str = "/run/netns";

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netns {
    /// The inode number of its `nsfs` file: its identity while it lives.
    pub inode: u64,
    /// A path that opens it.
    pub path: PathBuf,
    /// The name it is mounted under, if it is.
    pub name: Option<String>,
    /// A process that lives in it, if one was found.
    pub pid: Option<u32>,
}

/// The inode number of the calling thread's network namespace.
///
/// # Errors
/// When `/proc` is not mounted.
pub fn current() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino())
}

/// The inode number of a process's network namespace; `None` where it is gone or may not be seen.
#[must_use]
pub fn of(pid: u32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(|found| found.ino())
}

/// What [`list`] found.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The namespaces, by inode number.
    pub namespaces: Vec<Netns>,
    /// How many processes would not say which namespace they live in (no privilege).
    pub hidden_processes: usize,
}

/// All network namespaces that are mounted by name or have a process.
///
/// # Errors
/// When `/proc` cannot be read at all; single processes that vanish or refuse are skipped.
pub fn list() -> io::Result<Listing> {
    let mut found: BTreeMap<u64, Netns> = BTreeMap::new();
    let mut hidden_processes = 0;
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let path = entry.path().join("ns/net");
        match fs::metadata(&path) {
            Ok(meta) => {
                let netns = Netns { inode: meta.ino(), path, name: None, pid: Some(pid) };
                found.entry(meta.ino()).or_insert(netns);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_zombie(pid) => {
                hidden_processes += 1;
            }
            Err(_) => {}
        }
    }
    for named in named() {
        let pid = found.get(&named.inode).and_then(|netns| netns.pid);
        found.insert(named.inode, Netns { pid, ..named });
    }
    Ok(Listing { namespaces: found.into_values().collect(), hidden_processes })
}

/// A process that ended and was not waited for has no namespace any more, and the kernel answers
/// as if it were a secret (`proc_ns_get_link` in fs/proc/namespaces.c).
fn is_zombie(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may hold any character, so the state follows the last parenthesis.
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

fn named() -> Vec<Netns> {
    let Ok(directory) = fs::read_dir(NAMED) else { return Vec::new() };
    let mut named: Vec<Netns> = directory
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            // A name whose namespace was unmounted is an empty file on the tmpfs, not on nsfs.
            let file = File::open(&path).ok()?;
            rustix::fs::fstatfs(file.as_fd()).ok().filter(|fs| fs.f_type == NSFS_MAGIC)?;
            let inode = file.metadata().ok()?.ino();
            let name = Some(entry.file_name().to_string_lossy().into_owned());
            Some(Netns { inode, path, name, pid: None })
        })
        .collect();
    named.sort_by(|a, b| a.name.cmp(&b.name));
    named
}

/// `NSFS_MAGIC` of include/uapi/linux/magic.h.
const NSFS_MAGIC: rustix::fs::FsWord = 0x6e73_6673;

/// Runs `work` on a thread of its own inside the namespace at `path`.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN; `ENOENT` when the namespace is gone.
pub fn run_in<T: Send>(path: &Path, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let file = File::open(path)?;
    let inside = move || {
        let kind = Some(LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(file.as_fd(), kind)?;
        Ok(work())
    };
    thread::scope(|scope| {
        scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Brings up the loopback interface of the calling thread's network namespace.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN over the namespace.
pub fn loopback_up() -> io::Result<()> {
    crate::interface::set_up("lo", true)
}

/// Moves the calling thread into a fresh network namespace that ends with the last thread or
/// process in it.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn unshare_thread() -> io::Result<()> {
    // SAFETY: unshares only the network namespace of this thread; file descriptors, memory and
    // the working directory stay shared, so no invariant of another thread changes.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
    Ok(())
}
