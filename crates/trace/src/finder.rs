//! What programs are told of the host besides their events: what was there before, who holds what,
//! and, where they cannot look by themselves, what moved.

use libbpf_rs::Object;

use crate::{Attach, Error, TraceOptions, existing, listed::Listed};

/// How it is found.
#[derive(Debug)]
pub enum Finder {
    /// Iterators in the kernel look at sockets and descriptors (bpf/existing.h), and programs at
    /// sockets (bpf/walk.h).
    Iterators,
    /// The kernel's listings are handed to the programs (bpf/listed.h).
    Listings(Box<Listed>),
}

impl Finder {
    /// As the programs need it that are attached there.
    pub fn new(attach: Attach, options: &TraceOptions) -> Self {
        match attach {
            Attach::TpBtf | Attach::Fentry | Attach::Kprobe => Self::Iterators,
            Attach::Cgroup => Self::Listings(Box::new(Listed::new(options.ephemeral))),
        }
    }

    /// Makes known what is there already. Returns how many namespaces could not be entered.
    pub fn begin(&mut self, object: &Object) -> Result<usize, Error> {
        match self {
            Self::Iterators => {
                let hidden = existing::sockets(object)?;
                existing::owners(object)?;
                Ok(hidden)
            }
            Self::Listings(listed) => listed.begin(object),
        }
    }

    /// Looks for the processes that hold connections and listeners without a process.
    pub fn own(&mut self, object: &Object) -> Result<(), Error> {
        match self {
            Self::Iterators => existing::owners(object),
            Self::Listings(listed) => listed.own(object),
        }
    }

    /// Before the walk over what is up.
    pub fn refresh(&mut self, object: &Object) -> Result<(), Error> {
        match self {
            Self::Iterators => Ok(()),
            Self::Listings(listed) => listed.refresh(object),
        }
    }

    /// The inode number of the network namespace that programs call by this number, of which a
    /// process (0: none) was seen; `None` where nothing tells.
    pub fn namespace(&mut self, number: u32, pid: u32) -> Option<u64> {
        match self {
            Self::Iterators => Some(u64::from(number)),
            Self::Listings(listed) => listed.inode(number, pid),
        }
    }
}
