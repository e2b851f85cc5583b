//! One end of an edge: an address, and who is behind it as far as can be told.

use std::{cmp::Ordering, fmt, net::IpAddr, sync::Arc};

/// How many process ids one end lists; the rest is only said to exist.
pub const PIDS_MAX: usize = 16;

/// What stays the same when a process restarts. The process id is not part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// The kernel's name of the process (`comm`), completed where the kernel cut it at 15 bytes.
    pub name: String,
    /// The systemd unit, for example `postgresql@15-main.service`.
    pub unit: Option<String>,
    /// The container id, 64 hexadecimal digits for the common runtimes.
    pub container: Option<String>,
}

/// The network namespace of an end, by a name that is meant for people: `host` for the one the
/// observer runs in, `netns:NAME` for a mounted one, `netns:INODE` for any other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// The namespace that the observer runs in.
    pub const HOST: &str = "host";

    /// A namespace by its full name (`host`, `netns:NAME`).
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// Any but the observer's own: by the name that it is mounted under, else by its inode number.
    #[must_use]
    pub fn of(inode: u64, mounted: Option<&str>) -> Self {
        match mounted {
            Some(name) => Self::new(&format!("netns:{name}")),
            None => Self::new(&format!("netns:{inode}")),
        }
    }

    /// The name as it is shown.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether this is the observer's own namespace.
    #[must_use]
    pub fn is_host(&self) -> bool {
        &*self.0 == Self::HOST
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who holds the socket at an end.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// Nobody looked: the end is on another host, or its socket has no owner any more (TIME-WAIT).
    /// A record with an owner may fill this in.
    #[default]
    Unobserved,
    /// A process of this user holds it, but the observer may not see which.
    Hidden {
        /// The user id that the kernel reports for the socket.
        uid: u32,
    },
    /// This process holds it.
    Process(Arc<Process>),
}

impl Owner {
    /// The process, where it is known.
    #[must_use]
    pub fn process(&self) -> Option<&Process> {
        match self {
            Self::Process(process) => Some(process),
            Self::Unobserved | Self::Hidden { .. } => None,
        }
    }
}

/// One end of an edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The address; an IPv4-mapped IPv6 address is given as IPv4.
    pub address: IpAddr,
    /// The network namespace, where it was observed.
    pub namespace: Option<Namespace>,
    /// Who holds the socket.
    pub owner: Owner,
    /// Process ids, for people; never part of the identity.
    pub pids: Pids,
}

impl End {
    /// An end of which only the address is known.
    #[must_use]
    pub fn unobserved(address: IpAddr) -> Self {
        Self { address, namespace: None, owner: Owner::Unobserved, pids: Pids::default() }
    }

    /// Whether the owner or the namespace is still open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.owner == Owner::Unobserved || self.namespace.is_none()
    }

    /// Whether both are the same party: everything but the process ids is equal.
    #[must_use]
    pub fn same_party(&self, other: &Self) -> bool {
        self.party_cmp(other) == Ordering::Equal
    }

    /// Orders ends by identity.
    #[must_use]
    pub fn party_cmp(&self, other: &Self) -> Ordering {
        (self.address, &self.namespace, &self.owner).cmp(&(
            other.address,
            &other.namespace,
            &other.owner,
        ))
    }

    /// Whether `known` can be this end: it agrees with everything that this end already says.
    #[must_use]
    pub fn may_be(&self, known: &Self) -> bool {
        self.address == known.address
            && (self.namespace.is_none() || self.namespace == known.namespace)
            && (self.owner == Owner::Unobserved || self.owner == known.owner)
    }
}

/// A bounded, ordered set of process ids: the [`PIDS_MAX`] smallest.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pids {
    smallest: Vec<u32>,
    more: bool,
}

impl Pids {
    /// A set of one.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self { smallest: vec![pid], more: false }
    }

    /// Adds one process id.
    pub fn insert(&mut self, pid: u32) {
        if let Err(at) = self.smallest.binary_search(&pid) {
            self.smallest.insert(at, pid);
            self.cut();
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for &pid in &other.smallest {
            self.insert(pid);
        }
        self.more |= other.more;
    }

    /// The listed ids, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.smallest
    }

    /// Whether there were more ids than are listed.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.more
    }

    fn cut(&mut self) {
        if self.smallest.len() > PIDS_MAX {
            self.smallest.truncate(PIDS_MAX);
            self.more = true;
        }
    }
}

#[cfg(test)]
mod tests;
