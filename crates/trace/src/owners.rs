//! From what the programs saw of a process to what it is.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::DirEntryExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use portolan_flow::{Owner, Process, cgroup};
use portolan_sys::process;

use crate::edge::Name;

/// So many are remembered; then it begins anew.
const KNOWN_MAX: usize = 65_536;

/// A tree of control groups is looked through this deep.
const DEPTH_MAX: usize = 32;

/// Finds out what processes are, and remembers it: many are gone when somebody asks.
#[derive(Debug, Default)]
pub struct Owners {
    known: HashMap<Name, Arc<Process>>,
    groups: HashMap<u64, String>,
    /// A group that was not found is not looked for again in the same reading.
    searched: bool,
}

impl Owners {
    /// A new reading begins: groups may be there that were not.
    pub fn refresh(&mut self) {
        self.searched = false;
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
    }

    /// The process by this name, of which `pid` was one (0: not known).
    pub fn of(&mut self, name: Name, pid: u32) -> Owner {
        if name.is_empty() {
            return Owner::Unobserved;
        }
        if let Some(known) = self.known.get(&name) {
            return Owner::Process(Arc::clone(known));
        }
        let process = Arc::new(self.read(name, pid));
        self.known.insert(name, Arc::clone(&process));
        Owner::Process(process)
    }

    fn read(&mut self, name: Name, pid: u32) -> Process {
        // Its id may be another's by now, or it may have called exec(): then it has another name.
        let facts = process::read(pid).filter(|facts| facts.comm == name.comm());
        if let Some(facts) = facts {
            let group = cgroup::parse(&String::from_utf8_lossy(&facts.cgroup));
            return Process::of(&facts.comm, &facts.cmdline, group);
        }
        let group = self.group(name.cgroup).map(|path| cgroup::parse(&format!("0::{path}")));
        Process::of(name.comm(), &[], group.unwrap_or_default())
    }

    /// The path of a control group, by the inode number of its directory.
    fn group(&mut self, id: u64) -> Option<&str> {
        if !self.groups.contains_key(&id) && !self.searched {
            self.searched = true;
            self.groups.clear();
            if let Some(root) = unified_root() {
                search(&root, "/", DEPTH_MAX, &mut self.groups);
            }
        }
        self.groups.get(&id).map(String::as_str)
    }
}

/// Where the unified hierarchy is mounted (proc(5), `/proc/mounts`).
fn unified_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let mut lines = mounts.lines().map(|line| line.split(' '));
    lines.find_map(|mut fields| {
        let (_, path, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(path))
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
