//! From what the programs saw of a process to what it is.

use std::{collections::HashMap, sync::Arc};

use portolan_flow::{Owner, Process, cgroup};
use portolan_sys::process;

use crate::{cgroups, edge::Name};

/// So many are remembered; then it begins anew.
const KNOWN_MAX: usize = 65_536;

/// Finds out what processes are, and remembers it: many are gone when somebody asks.
#[derive(Debug, Default)]
pub struct Owners {
    known: HashMap<(Name, u32), Arc<Process>>,
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
        if let Some(known) = self.known.get(&(name, pid)) {
            return Owner::Process(Arc::clone(known));
        }
        let read = Self::read(name, pid);
        // Names are cut off, and the root is the group of all where there are no others: only a
        // process that is there says what it is.
        let process = Arc::new(read.unwrap_or_else(|| self.gone(name)));
        self.known.insert((name, pid), Arc::clone(&process));
        Owner::Process(process)
    }

    fn read(name: Name, pid: u32) -> Option<Process> {
        // Its id may be another's by now, or it may have called exec(): then it has another name.
        // Of a thread, only its id tells the process.
        let facts = process::read(pid);
        let facts = facts.filter(|facts| name.is_threads || facts.comm == name.comm())?;
        let group = cgroup::parse(&String::from_utf8_lossy(&facts.cgroup));
        Some(Process::of(&facts.comm, &facts.cmdline, group))
    }

    fn gone(&mut self, name: Name) -> Process {
        let group = self.group(name.cgroup).map(|path| cgroup::parse(&format!("0::{path}")));
        Process::of(name.comm(), &[], group.unwrap_or_default())
    }

    /// The path of a control group, by the inode number of its directory.
    fn group(&mut self, id: u64) -> Option<&str> {
        if !self.groups.contains_key(&id) && !self.searched {
            self.searched = true;
            self.groups = cgroups::paths();
        }
        self.groups.get(&id).map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
