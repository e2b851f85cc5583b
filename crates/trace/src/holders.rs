//! Who holds which socket, by the descriptors of all processes (proc(5)), where no program in the
//! kernel can look through them.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use portolan_sys::process;

use crate::{cgroups, edge::Name};

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub name: Name,
    pub pid: u32,
}

/// By inode number of the socket.
pub type Holders = HashMap<u32, Holder>;

/// Looks through all descriptors that may be seen. Of several that hold a socket it is the one with
/// the lowest id, as with the iterator.
pub fn find() -> Holders {
    let root = cgroups::root();
    let mut holders = Holders::new();
    for pid in pids() {
        let sockets: Vec<u32> = sockets(pid).collect();
        if sockets.iter().all(|inode| holders.contains_key(inode)) {
            continue;
        }
        let Some(holder) = holder(pid, root.as_deref()) else { continue };
        for inode in sockets {
            holders.entry(inode).or_insert(holder);
        }
    }
    holders
}

fn pids() -> Vec<u32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|it| it.file_name());
    let mut pids: Vec<u32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

fn sockets(pid: u32) -> impl Iterator<Item = u32> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = descriptors.filter_map(|it| fs::read_link(it.path()).ok());
    links.filter_map(|link| inode(&link))
}

/// The number in `socket:[NUMBER]`.
fn inode(link: &Path) -> Option<u32> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn holder(pid: u32, root: Option<&Path>) -> Option<Holder> {
    let facts = process::read(pid)?;
    let mut comm = [0; 16];
    let length = facts.comm.len().min(15);
    comm[..length].copy_from_slice(&facts.comm[..length]);
    let cgroup = root.and_then(|root| group(&facts.cgroup, root)).unwrap_or(0);
    Some(Holder { name: Name { comm, cgroup, is_threads: false }, pid })
}

/// The inode number of the group in the unified hierarchy, which has the number 0 and no
/// controllers (cgroups(7)).
fn group(lines: &[u8], root: &Path) -> Option<u64> {
    let text = std::str::from_utf8(lines).ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let directory: PathBuf = root.join(path);
    fs::metadata(directory).ok().map(|found| found.ino())
}

#[cfg(test)]
mod tests;
