//! The scenario `sweep`: what it costs to find the open ports of a network.
//!
//! Everyone is a whole process with its real output, as its users start it when they are in a
//! hurry, with its own time to wait for late answers. The network is behind a pair of devices, and
//! every address of it answers. There is a second one, on the way to which, and back, every
//! twentieth packet gets lost: who asks once does not find all of it.

mod blocks;
mod found;
mod network;
mod peers;
mod sweeper;

use crate::{
    Contestant, Error, Program, Scenario, program::Executable, scenario, world::Scenery,
    world::Stage,
};
use found::Format;
use network::{CLEAN, LOSSY, Network, SIZE_MAX};
use sweeper::{Loss, Sweeper, Task};

/// How [`Sweep`] is set up.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// This program, with the arguments that make it call [`crate::listen()`] when those of
    /// [`crate::Listen::to_args`] follow.
    pub listen: Program,
    /// The same for `portolan probe` and its flags.
    pub probe: Program,
    /// Peers that are slow with many hosts take part up to this many addresses; always if `None`.
    pub slow_peers_max: Option<u64>,
}

/// The scenario.
#[derive(Clone, Debug)]
pub struct Sweep {
    options: SweepOptions,
    stage: Stage,
    loss: Loss,
}

impl Sweep {
    /// How the command line calls it.
    pub const NAME: &str = "sweep";

    /// What it is about.
    pub const ABOUT: &str = "finding the open ports of a network: whole processes";

    /// The sizes, in addresses.
    pub const SIZES: [u64; 1] = [SIZE_MAX];

    /// The scenario with these options.
    #[must_use]
    pub fn new(options: SweepOptions) -> Self {
        Self { options, stage: Stage::default(), loss: Loss::default() }
    }

    /// The contestants of `task`: this program, then others.
    fn cast(&self, task: &'static Task) -> Vec<Sweeper> {
        let named = |name: &str| format!("{name}{}", task.mark);
        let sweeper = |name: &str, about, file, args, format, size_max| Sweeper {
            name: named(name),
            about,
            task,
            file,
            args,
            format,
            size_max,
            loss: self.loss.clone(),
        };
        let own = |(name, about, args)| {
            let file = Executable::Own { program: self.options.probe.clone(), method: None };
            sweeper(name, about, file, args, Format::Findings, None)
        };
        let peer = |peer: &peers::Peer| {
            let (program, install) = (peer.program, peer.install);
            let file = Executable::Peer { program, needs: &[], install };
            let size_max = self.options.slow_peers_max.filter(|_| peer.is_slow);
            sweeper(peer.name, peer.about, file, peer.args, peer.format, size_max)
        };
        peers::OWN.into_iter().map(own).chain(peers::PEERS.iter().map(peer)).collect()
    }
}

impl Scenario for Sweep {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn about(&self) -> &str {
        Self::ABOUT
    }

    fn unit(&self) -> &'static str {
        "addresses"
    }

    fn sizes(&self) -> &[u64] {
        &Self::SIZES
    }

    fn contestants(&self) -> Vec<Box<dyn Contestant>> {
        let all = TASKS.iter().flat_map(|task| self.cast(task));
        all.map(|one| -> Box<dyn Contestant> { Box::new(one) }).collect()
    }

    fn prepare(&self, size: u64) -> Result<Box<dyn scenario::World>, Error> {
        if size > SIZE_MAX {
            let (what, asked) = ("addresses", size);
            return Err(Error::TooMany { what, asked, max: SIZE_MAX, advice: "" });
        }
        let lossy = network::make(&self.stage, &self.options.listen)?;
        self.loss.set(lossy.err());
        Ok(Box::new(Scenery(self.stage.clone())))
    }
}

const TASKS: [Task; 2] = [
    Task { name: "sweep", baseline: "zmap", mark: "", network: &CLEAN },
    Task { name: "sweep-loss", baseline: "zmap (loss)", mark: " (loss)", network: &LOSSY },
];

#[cfg(test)]
mod tests;
