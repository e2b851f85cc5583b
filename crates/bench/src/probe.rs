//! The scenario `probe`: what it costs to ask one target again and again whether its port is open.
//!
//! This is the measurement that was published in 2018: sequential checks of one port by one
//! thread, every check from its beginning to its end. Everyone is a whole process. What was fast
//! then, a raw socket per check, is rebuilt here as it was ([`published()`]) and is the baseline.

mod capture;
mod checks;
mod count;
mod place;
mod published;

use crate::{Contestant, Error, Program, Scenario, scenario};
use checks::{Checks, Task};
use place::{CLOSED_PORT, OPEN_PORT, Place, Target};

pub use count::Count;
pub use published::{Published, published};

/// How [`Probe`] is set up.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// This program, with the arguments that make it call [`crate::listen()`] when those of
    /// [`crate::Listen::to_args`] follow.
    pub listen: Program,
    /// The same for [`published()`] and [`Published::to_args`].
    pub published: Program,
    /// The same for `portolan probe` and its flags.
    pub probe: Program,
    /// What is slow when thousands of connections are in TIME-WAIT takes part up to this many
    /// checks; always if `None`.
    pub slow_peers_max: Option<u64>,
}

/// The scenario.
#[derive(Clone, Debug)]
pub struct Probe {
    options: ProbeOptions,
    place: Place,
}

impl Probe {
    /// How the command line calls it.
    pub const NAME: &str = "probe";

    /// What it is about.
    pub const ABOUT: &str = "is that port open? sequential checks of one target";

    /// The sizes, in checks, of the work of 2018; its third, 1,000,000, takes long.
    pub const SIZES: [u64; 2] = [10_000, 100_000];

    /// The scenario with these options.
    #[must_use]
    pub fn new(options: ProbeOptions) -> Self {
        let place = Place::new(options.listen.clone());
        Self { options, place }
    }

    /// The contestants of `task`: this program in all its ways, then the published one.
    fn cast(&self, task: &'static Task) -> Vec<Checks> {
        let own = METHODS.iter().map(|&(method, about)| Checks {
            name: format!("portolan probe {method} ({})", task.name),
            about,
            task,
            program: self.options.probe.clone(),
            method: Some(method),
            place: self.place.clone(),
            size_max: self
                .options
                .slow_peers_max
                .filter(|_| (task.name, method) == ("open", "connect")),
        });
        let published = Checks {
            name: task.baseline.to_owned(),
            about: PUBLISHED,
            task,
            program: self.options.published.clone(),
            method: None,
            place: self.place.clone(),
            size_max: None,
        };
        own.chain([published]).collect()
    }
}

impl Scenario for Probe {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn about(&self) -> &str {
        Self::ABOUT
    }

    fn unit(&self) -> &'static str {
        "checks"
    }

    fn sizes(&self) -> &[u64] {
        &Self::SIZES
    }

    fn contestants(&self) -> Vec<Box<dyn Contestant>> {
        let all = TASKS.iter().flat_map(|task| self.cast(task));
        all.map(|one| -> Box<dyn Contestant> { Box::new(one) }).collect()
    }

    fn prepare(&self, _size: u64) -> Result<Box<dyn scenario::World>, Error> {
        self.place.renew()?;
        Ok(self.place.scenery())
    }
}

const TASKS: [Task; 3] = [
    Task {
        name: "open",
        baseline: "published (open)",
        target: Target::Loopback { port: OPEN_PORT },
        answer: |count| count.open,
    },
    Task {
        name: "refused",
        baseline: "published (refused)",
        target: Target::Loopback { port: CLOSED_PORT },
        answer: |count| count.closed,
    },
    Task {
        name: "filtered",
        baseline: "published (filtered)",
        target: Target::Silent { port: OPEN_PORT },
        answer: |count| count.filtered,
    },
];

/// How `portolan probe --method` calls them, and what they do.
const METHODS: [(&str, &str); 5] = [
    ("auto", "the method that the program chooses"),
    ("connect", "connects and closes; leaves a connection in TIME-WAIT"),
    ("linger", "connects and resets"),
    ("quiet", "connects without acknowledging, and resets: the server never accepts"),
    ("syn", "own segments through one raw socket"),
];

const PUBLISHED: &str = "the raw-socket method of 2018, rebuilt: a new raw socket for each check, \
                         and reading until an answer comes by";

#[cfg(test)]
mod tests;
