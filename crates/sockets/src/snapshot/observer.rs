//! The observer is not part of what it observes: its page and the browser that looks at it would be
//! on every map, and so would be those of a second observer.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs,
    os::unix::fs::MetadataExt,
};

use portolan_flow::{Bundle, End};

/// The first argument of an observer that serves a page.
const SERVES_PAGE: &[u8] = b"map";

/// This process, and others that run the same program.
#[derive(Debug)]
pub(super) struct Observers {
    own: u32,
    /// The name of this process; that of every other one is compared to it, which is cheap.
    name: Option<String>,
    program: Option<(u64, u64)>,
    known: HashMap<u32, bool>,
}

impl Observers {
    pub fn new(name: Option<String>) -> Self {
        let own = std::process::id();
        Self { own, name, program: program(own), known: HashMap::new() }
    }

    /// Forgets who the other processes are: their ids may be others' now.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// What there is to see without the observers.
    pub fn without(&mut self, mut bundle: Bundle) -> Bundle {
        bundle.flows.retain(|flow| !self.holds(&flow.client) && !self.holds(&flow.server));
        bundle.listeners.retain(|listener| !self.holds(&listener.end));
        bundle
    }

    fn holds(&mut self, end: &End) -> bool {
        let pids = end.pids.as_slice();
        if pids.contains(&self.own) {
            return true;
        }
        let name = end.owner.process().map(|process| &process.name);
        name.is_some() && name == self.name.as_ref() && pids.iter().any(|&pid| self.is_page(pid))
    }

    fn is_page(&mut self, pid: u32) -> bool {
        match self.known.entry(pid) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                let same = self.program.is_some() && self.program == program(pid);
                *vacant.insert(same && serves_page(pid))
            }
        }
    }
}

/// The file that a process runs, by its device and inode number.
fn program(pid: u32) -> Option<(u64, u64)> {
    fs::metadata(format!("/proc/{pid}/exe")).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn serves_page(pid: u32) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|&byte| byte == 0).nth(1) == Some(SERVES_PAGE)
}
