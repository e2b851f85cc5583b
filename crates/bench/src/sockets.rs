//! The scenario `sockets`: what listing the TCP sockets of a host costs, as its user sees it.
//!
//! Everyone is a whole process with its real output. A task is a question that a user asks, and
//! each has the program that answers it on every host as its baseline: list; list with owners;
//! count by state; count by peer; and those of one state that few sockets are in, or none, which
//! shows who leaves the choice to the kernel.

use std::ops::RangeInclusive;

use portolan_sockets::MethodName;

use crate::{
    CommandLine, Contestant, Error, Program, Scenario, World, peers,
    peers::{LIST_BASELINE, OWNERS_BASELINE},
    program::{Executable, Output},
    scenario, world,
};

/// How [`Sockets`] is set up.
#[derive(Clone, Debug)]
pub struct SocketsOptions {
    /// This program, with the arguments that make it call [`crate::hold()`] when those of
    /// [`crate::Hold::to_args`] follow.
    pub hold: Program,
    /// The same for `portolan sockets` and its flags.
    pub list: Program,
    /// Peers of quadratic cost take part up to this many sockets; always if `None`.
    pub slow_peers_max: Option<u64>,
}

/// The scenario.
#[derive(Clone, Debug)]
pub struct Sockets {
    options: SocketsOptions,
}

/// A question, and the flags that ask it.
struct Task {
    name: &'static str,
    baseline: &'static str,
    about: &'static str,
    args: &'static [&'static str],
    output: Output,
    rows: fn(u64) -> RangeInclusive<u64>,
}

impl Sockets {
    /// How the command line calls it.
    pub const NAME: &str = "sockets";

    /// What it is about.
    pub const ABOUT: &str = "listing TCP sockets: whole processes with their output";

    /// The sizes, in sockets; 16,000 is that of the netstat work of 2018.
    pub const SIZES: [u64; 4] = [1_000, 10_000, 16_000, 100_000];

    /// The scenario with these options.
    #[must_use]
    pub fn new(options: SocketsOptions) -> Self {
        Self { options }
    }

    /// This program with the flags of `task`; without `method`, with the one that it chooses.
    fn own(&self, task: &Task, method: Option<MethodName>) -> CommandLine {
        let how = method.map_or("auto", MethodName::name);
        // The filter comes last.
        let args = ["--method", how].into_iter().chain(task.args.iter().copied()).collect();
        CommandLine {
            name: format!("portolan {} {how}", task.args.join(" ")),
            task: task.name,
            baseline: task.baseline,
            about: task.about,
            file: Executable::Own { program: self.options.list.clone(), method },
            args,
            output: task.output,
            rows: task.rows,
            counts_reads: true,
            size_max: None,
        }
    }

    /// This program with every method, and with the one that it chooses.
    fn every_method(&self, task: &Task) -> Vec<CommandLine> {
        let methods = MethodName::ALL.into_iter().map(Some);
        std::iter::once(None).chain(methods).map(|method| self.own(task, method)).collect()
    }

    /// The contestants of `task`: this program in all its ways, then others.
    fn cast(&self, task: &Task) -> Vec<CommandLine> {
        let slow = self.options.slow_peers_max;
        let peers = match task.name {
            "list" => vec![peers::ss(task.args), peers::netstat(task.args), peers::cat()],
            "owners" => vec![peers::ss_owners(slow), peers::netstat_owners(slow)],
            "summary" => vec![peers::ss_summary()],
            "group" => vec![peers::ss_awk()],
            _ => vec![CommandLine { about: task.about, ..peers::ss(task.args) }],
        };
        let as_asked = |peer| CommandLine {
            task: task.name,
            baseline: task.baseline,
            rows: task.rows,
            ..peer
        };
        let own = self.every_method(task);
        own.into_iter().chain(peers.into_iter().map(as_asked)).collect()
    }
}

impl Scenario for Sockets {
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
        let all = TASKS.iter().flat_map(|task| self.cast(task));
        all.map(|one| -> Box<dyn Contestant> { Box::new(one) }).collect()
    }

    fn left_out(&self, size: u64) -> Option<String> {
        world::left_out(size)
    }

    fn prepare(&self, size: u64) -> Result<Box<dyn scenario::World>, Error> {
        Ok(Box::new(World::of_sockets(&self.options.hold, size)?))
    }
}

fn listening(size: u64) -> RangeInclusive<u64> {
    let count = world::listeners(size);
    count..=count
}

fn none(_size: u64) -> RangeInclusive<u64> {
    0..=0
}

const TASKS: [Task; 6] = [
    Task {
        name: "list",
        baseline: LIST_BASELINE,
        about: peers::LISTS,
        args: &["-tan"],
        output: Output::Rows { heading: 1, mark: "" },
        rows: peers::every_socket,
    },
    Task {
        name: "owners",
        baseline: OWNERS_BASELINE,
        about: peers::FINDS_OWNERS,
        args: &["-tanp"],
        // The number of the process; addresses of the world are IPv4 and have no brackets.
        output: Output::Rows { heading: 1, mark: "[" },
        rows: peers::every_socket,
    },
    Task {
        name: "summary",
        baseline: LIST_BASELINE,
        about: "counts them by state",
        args: &["-ta", "--summary"],
        output: Output::Total { mark: "total" },
        rows: peers::every_socket,
    },
    Task {
        name: "group",
        baseline: "ss -tan | awk",
        about: "counts them by the peer's address",
        args: &["-ta", "--group-by", "peer"],
        output: Output::Total { mark: "total" },
        rows: peers::every_socket,
    },
    Task {
        name: "listening",
        baseline: "ss -tan state listening",
        about: "lists those that listen, a few of all",
        args: &["-tan", "state", "listening"],
        output: Output::Rows { heading: 1, mark: "" },
        rows: listening,
    },
    Task {
        name: "close-wait",
        baseline: "ss -tan state close-wait",
        about: "lists those in a state that none is in",
        args: &["-tan", "state", "close-wait"],
        output: Output::Rows { heading: 1, mark: "" },
        rows: none,
    },
];

#[cfg(test)]
mod tests;
