//! The unified hierarchy of control groups (cgroups(7)).

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::{DirEntryExt, MetadataExt},
    path::{Path, PathBuf},
};

/// A tree of control groups is looked through this deep.
const DEPTH_MAX: usize = 32;

/// The path of every group below the root, by the inode number of its directory, which is what the
/// kernel calls its id.
pub fn paths() -> HashMap<u64, String> {
    let mut found = HashMap::new();
    if let Some(root) = root() {
        search(&root, "/", DEPTH_MAX, &mut found);
    }
    found
}

/// Whether this is the root of all groups: its directory has the number 1 (fs/kernfs/mount.c).
pub fn is_whole(root: &Path) -> bool {
    fs::metadata(root).is_ok_and(|root| root.ino() == 1)
}

/// Where the unified hierarchy is mounted (proc(5), `/proc/mounts`).
pub fn root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let mut lines = mounts.lines().map(|line| line.split(' '));
    lines.find_map(|mut fields| {
        let (_, path, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(path.replace("\\040", " ")))
    })
}

fn search(directory: &Path, path: &str, depth: usize, found: &mut HashMap<u64, String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if depth == 0 || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let inside = format!("{path}{}", entry.file_name().to_string_lossy());
        search(&entry.path(), &format!("{inside}/"), depth - 1, found);
        found.insert(entry.ino(), inside);
    }
}

#[cfg(test)]
mod tests;
