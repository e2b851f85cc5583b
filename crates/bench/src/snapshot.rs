//! The scenario `snapshot`: what one reading of the map costs.
//!
//! All that the map does with a reading: TCP and UDP, owners, everything bundled to edges. Everyone
//! is a whole process, start and end included, but the last: `map poll` is one reading of a process
//! that goes on reading, as the map does. What listing alone costs is the scenario `sockets`; ss
//! stands here for comparison.

mod own;

use portolan_sockets::MethodName;

use crate::{
    CommandLine, Contestant, Error, Program, Read, Scenario, World, peers, scenario,
    snapshot::own::Own, world,
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

/// There is but one.
const TASK: &str = "map";

impl Snapshot {
    /// How the command line calls it.
    pub const NAME: &str = "snapshot";

    /// What it is about.
    pub const ABOUT: &str = "one reading of the map: sockets, owners, edges";

    /// The sizes, in sockets.
    pub const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

    /// The scenario with these options.
    #[must_use]
    pub fn new(options: SnapshotOptions) -> Self {
        Self { options }
    }

    fn own(&self, name: String, about: &'static str, read: Read) -> Box<dyn Contestant> {
        Box::new(Own { name, about, program: self.options.read.clone(), read })
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

    fn contestants(&self) -> Vec<Box<dyn Contestant>> {
        let once = |method: MethodName| {
            let read = Read { method: Some(method), repeat: 1 };
            self.own(format!("portolan map {method}"), READS_MAP, read)
        };
        let mut contestants: Vec<_> = MethodName::ALL.into_iter().map(once).collect();
        let steady = Read { method: None, repeat: 1 + own::READINGS_COUNTED };
        contestants.push(self.own("map poll (steady)".to_owned(), POLLS, steady));
        let slow = self.options.slow_peers_max;
        for peer in [peers::ss(&["-tan"]), peers::ss_owners(slow)] {
            let peer = CommandLine { task: TASK, counts_reads: false, ..peer };
            contestants.push(Box::new(peer));
        }
        contestants
    }

    fn left_out(&self, size: u64) -> Option<String> {
        world::left_out(size)
    }

    fn prepare(&self, size: u64) -> Result<Box<dyn scenario::World>, Error> {
        Ok(Box::new(World::of_sockets(&self.options.hold, size)?))
    }
}

const READS_MAP: &str = "first reading of the map: TCP and UDP, owners, bundled to edges";
const POLLS: &str = "one reading inside a running process, while no socket opens or closes: mean \
                     of 15, one of which finds owners";

#[cfg(test)]
mod tests;
