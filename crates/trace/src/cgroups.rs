//! The unified hierarchy of control groups (cgroups(7)).

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{DirEntryExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use libbpf_rs::{Link, Object};

use crate::{
    Error,
    object::{program, refused},
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

/// Attaches to the root of the control groups, which all sockets are below.
pub fn attach(object: &Object, names: &[&str]) -> Result<Vec<Link>, Error> {
    let what = "find the unified hierarchy of control groups";
    let place = "/proc/mounts";
    let not_found = || io::Error::new(io::ErrorKind::NotFound, "no cgroup2 is mounted: mount it");
    let root = root().ok_or_else(|| Error::system(what, place)(not_found()))?;
    // The root of a control group's namespace looks like one, and is not above all sockets.
    if !is_whole(&root) {
        let hidden = "only a part of it is visible: run it outside of the container";
        let refused = io::Error::new(io::ErrorKind::NotFound, hidden);
        return Err(Error::system(what, root.display().to_string())(refused));
    }
    let file = File::open(&root).map_err(Error::system(what, root.display().to_string()))?;
    let attach = |name: &&str| {
        let link = program(object, name).attach_cgroup(file.as_raw_fd());
        link.map_err(|error| refused(format!("attach {name}"), error))
    };
    names.iter().map(attach).collect()
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
