//! The scenario `snapshot`: what one reading of all TCP sockets costs.
//!
//! Three tasks, and the contestants of each: list the sockets; list them with their owners; and
//! all that the map does with a reading. Everyone is a whole process, start and end included, but
//! the last: `map poll` is one reading of a process that goes on reading, as the map does.

mod own;

use portolan_sockets::MethodName;

use crate::{
    Contestant, Depth, Error, Program, Read, Scenario, World, program::Peer, scenario,
    snapshot::own::Own,
};

/// How a [`Snapshot`] is set up.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// This program, with the arguments that make it call [`crate::hold()`] when those of
    /// [`crate::Hold::to_args`] follow.
    pub hold: Program,
    /// The same for [`crate::read()`] and [`Read::to_args`].
    pub read: Program,
    /// Peers of quadratic cost take part up to this many sockets; always if `None`.
    pub slow_peers_max: Option<u64>,
}

/// The scenario.
#[derive(Clone, Debug)]
pub struct Snapshot {
    options: SnapshotOptions,
}

impl Snapshot {
    /// How the command line calls it.
    pub const NAME: &str = "snapshot";

    /// What it is about.
    pub const ABOUT: &str = "one reading of all TCP sockets: list, owners, map";

    /// The sizes, in sockets.
    pub const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

    /// The scenario with these options.
    #[must_use]
    pub fn new(options: SnapshotOptions) -> Self {
        Self { options }
    }

    fn own(&self, name: &'static str, about: &'static str, read: Read) -> Box<dyn Contestant> {
        Box::new(Own { name, about, program: self.options.read.clone(), read })
    }

    /// A peer whose cost is quadratic: it searches again for each socket.
    fn slow(&self, peer: Peer) -> Box<dyn Contestant> {
        Box::new(Peer { size_max: self.options.slow_peers_max, ..peer })
    }
}

impl Scenario for Snapshot {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn about(&self) -> &str {
        Self::ABOUT
    }

    fn unit(&self) -> &'static str {
        "sockets"
    }

    fn sizes(&self) -> &[u64] {
        &Self::SIZES
    }

    fn baseline(&self) -> &'static str {
        SS_LIST.name
    }

    fn contestants(&self) -> Vec<Box<dyn Contestant>> {
        use Depth::{List, Map, Owners};
        let once = |method, depth| Read { method: Some(method), depth, repeat: 1 };
        let (diag, procfs) = (MethodName::Diag, MethodName::Procfs);
        vec![
            self.own("portolan list diag", COUNTS, once(diag, List)),
            self.own("portolan list procfs", COUNTS, once(procfs, List)),
            Box::new(SS_LIST),
            Box::new(NETSTAT_LIST),
            Box::new(CAT),
            self.own("portolan owners diag", COUNTS_OWNERS, once(diag, Owners)),
            self.own("portolan owners procfs", COUNTS_OWNERS, once(procfs, Owners)),
            self.slow(SS_OWNERS),
            self.slow(NETSTAT_OWNERS),
            self.own("portolan map diag", READS_MAP, once(diag, Map)),
            self.own("portolan map procfs", READS_MAP, once(procfs, Map)),
            self.own(
                "map poll (steady)",
                POLLS,
                Read { repeat: 1 + own::READINGS_COUNTED, ..once(diag, Map) },
            ),
        ]
    }

    fn prepare(&self, size: u64) -> Result<Box<dyn scenario::World>, Error> {
        Ok(Box::new(World::of_sockets(&self.options.hold, size)?))
    }
}

const COUNTS: &str = "reads and counts the TCP sockets of its namespace, no text";
const COUNTS_OWNERS: &str = "reads and counts them, and finds the process that holds each";
const READS_MAP: &str = "first reading of the map: TCP and UDP, owners, bundled to edges";
const POLLS: &str = "one reading inside a running process: mean of 15, one of which finds owners";
const LISTS: &str = "lists the TCP sockets of its namespace as text";
const FINDS_OWNERS: &str = "lists them as text, with the process that holds each";

const SS_LIST: Peer = Peer {
    name: "ss -tan",
    about: LISTS,
    program: "ss",
    args: &["-tan"],
    install: "apt-get install iproute2",
    header_lines: 1,
    size_max: None,
};

const SS_OWNERS: Peer = Peer { name: "ss -tanp", about: FINDS_OWNERS, args: &["-tanp"], ..SS_LIST };

const NETSTAT_LIST: Peer = Peer {
    name: "netstat -tan",
    about: LISTS,
    program: "netstat",
    args: &["-tan"],
    install: "apt-get install net-tools",
    header_lines: 2,
    size_max: None,
};

const NETSTAT_OWNERS: Peer =
    Peer { name: "netstat -tanp", about: FINDS_OWNERS, args: &["-tanp"], ..NETSTAT_LIST };

const CAT: Peer = Peer {
    name: "cat /proc/net/tcp",
    about: "copies the kernel's table, nothing more",
    program: "cat",
    args: &["/proc/net/tcp"],
    install: "apt-get install coreutils",
    header_lines: 1,
    size_max: None,
};

#[cfg(test)]
mod tests;
