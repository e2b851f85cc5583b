//! The names of network namespaces.

use std::collections::{BTreeMap, HashMap};

use portolan_flow::Namespace;
use portolan_sys::netns;

use crate::finder::Finder;

/// By what programs call them.
#[derive(Debug, Default)]
pub struct Namespaces {
    known: HashMap<u32, Namespace>,
}

impl Namespaces {
    /// Its name.
    pub fn of(&self, number: u32) -> Namespace {
        self.known.get(&number).cloned().unwrap_or_else(|| by_number(number))
    }

    /// Looks for the names of those that are new, each with a process that was seen there (0:
    /// none). One that is gone already, or that no process shows, is called by its number, and not
    /// looked for again.
    pub fn learn(&mut self, finder: &mut Finder, seen: impl Iterator<Item = (u32, u32)>) {
        let mut new = BTreeMap::<u32, u32>::new();
        for (number, pid) in seen.filter(|(number, _)| !self.known.contains_key(number)) {
            let known = new.entry(number).or_default();
            *known = pid.max(*known);
        }
        if new.is_empty() {
            return;
        }
        let listing = netns::list().unwrap_or_default();
        let mut names: HashMap<u64, Namespace> = HashMap::new();
        for found in listing.namespaces {
            names.insert(found.inode, Namespace::of(found.inode, found.name.as_deref()));
        }
        let here = netns::current().ok();
        names.extend(here.map(|inode| (inode, Namespace::new(Namespace::HOST))));
        for (number, pid) in new {
            let inode = finder.namespace(number, pid);
            let name = inode.and_then(|inode| names.get(&inode).cloned());
            let by_inode = || inode.map(|inode| Namespace::of(inode, None));
            match name.or_else(by_inode) {
                Some(name) => self.known.insert(number, name),
                // The next one may have a process.
                None if pid == 0 => None,
                None => self.known.insert(number, by_number(number)),
            };
        }
    }
}

/// Inode numbers of namespaces are large (`PROC_DYNAMIC_FIRST` of fs/proc/generic.c); whatever is
/// not one is the kernel's other number, which nothing in `/proc` shows.
fn by_number(number: u32) -> Namespace {
    match number {
        0 => Namespace::new("netns:unknown"),
        0xf000_0000.. => Namespace::of(u64::from(number), None),
        _ => Namespace::new(&format!("netns:cookie-{number}")),
    }
}

#[cfg(test)]
mod tests;
