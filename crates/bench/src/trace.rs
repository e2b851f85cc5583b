//! The scenario `trace`: what it costs to watch who talks to whom.
//!
//! This is the measurement that was published in 2022: a tracer's CPU time, and what it adds to a
//! round trip, over the rate of short-lived connections, of requests over persistent ones and of
//! datagrams, and over the number of services. Every run is a load, alone or with a tracer that was
//! attached before it and is detached after it.
//!
//! The kernel's account of BPF programs costs time in every run of every program. So it is on only
//! where CPU time is looked at, in runs of their own, and off where response times are.

mod figures;
mod load;
mod said;
mod spent;
mod tracer;

use std::time::Duration;

use crate::{
    By, Column, Compared, Contestant, Error, Plot, Program, Scenario, Value, View, scenario,
};
use load::Flow;
use tracer::{Kind, Task, Traced};

/// How [`Trace`] is set up.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// What is loaded, and how.
    pub workload: Workload,
    /// This program, with the arguments that make it `portolan trace` when flags follow.
    pub trace: Program,
    /// The same for `portolan load`.
    pub load: Program,
    /// How long each run is looked at; the workload's own time if `None`.
    pub window: Option<Duration>,
    /// All sizes that were published, not only two of them.
    pub all: bool,
}

/// What is loaded, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Short-lived TCP connections at a rate.
    Short,
    /// Requests over persistent TCP connections at a rate.
    Persistent,
    /// Round trips of datagrams at a rate.
    Udp,
    /// Short-lived TCP connections to more and more services.
    Fan,
    /// One round trip after the other, as fast as they go.
    Latency,
}

impl Workload {
    /// All, in the order of a report.
    pub const ALL: [Self; 5] = [Self::Short, Self::Persistent, Self::Udp, Self::Fan, Self::Latency];

    /// Those that are measured where nobody says which.
    pub const USUAL: [Self; 2] = [Self::Short, Self::Latency];

    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Persistent => "persistent",
            Self::Udp => "udp",
            Self::Fan => "fan",
            Self::Latency => "latency",
        }
    }
}

/// The scenario.
#[derive(Clone, Debug)]
pub struct Trace {
    options: TraceOptions,
}

impl Trace {
    /// How the command line calls it.
    pub const NAME: &str = "trace";

    /// What it is about.
    pub const ABOUT: &str = "what tracing costs: CPU time, and time of those who are traced";

    /// Rates that were published, in connections, requests or round trips per second.
    pub const SIZES: [u64; 5] = [5_000, 10_000, 15_000, 20_000, 35_000];

    /// The scenario with these options.
    #[must_use]
    pub fn new(options: TraceOptions) -> Self {
        Self { options }
    }

    fn workload(&self) -> Workload {
        self.options.workload
    }

    fn window(&self) -> Duration {
        let usual = if self.workload() == Workload::Latency { SLICE } else { WINDOW };
        self.options.window.unwrap_or(usual)
    }

    /// Everyone who does `task`: nobody first.
    fn cast(&self, task: &'static Task) -> impl Iterator<Item = Traced> {
        METHODS.into_iter().map(move |(method, about)| Traced {
            name: format!("{} ({})", method.unwrap_or("none"), task.name),
            about,
            task,
            method,
            trace: self.options.trace.clone(),
            load: self.options.load.clone(),
            window: self.window(),
        })
    }
}

impl Scenario for Trace {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn about(&self) -> &str {
        match self.workload() {
            Workload::Short => "what tracing short-lived TCP connections costs",
            Workload::Persistent => "what tracing requests over 64 persistent connections costs",
            Workload::Udp => "what tracing round trips of datagrams costs",
            Workload::Fan => "what tracing 10,000 short-lived connections per second costs",
            Workload::Latency => "what tracing adds to a round trip, one after the other",
        }
    }

    fn unit(&self) -> &'static str {
        match self.workload() {
            Workload::Short => "connections/s",
            Workload::Persistent => "requests/s",
            Workload::Udp => "round trips/s",
            Workload::Fan => "services",
            Workload::Latency => "at once",
        }
    }

    fn rounds(&self) -> u32 {
        if self.workload() == Workload::Latency { 20 } else { 5 }
    }

    fn view(&self) -> View {
        match self.workload() {
            Workload::Short | Workload::Persistent | Workload::Udp => {
                View::Figures { columns: &RATE_COLUMNS, plots: &RATE_PLOTS }
            }
            Workload::Fan => View::Figures { columns: &RATE_COLUMNS, plots: &FAN_PLOTS },
            Workload::Latency => View::Figures { columns: &LATENCY_COLUMNS, plots: &LATENCY_PLOTS },
        }
    }

    fn compared(&self) -> &'static [Compared] {
        &COMPARED
    }

    fn sizes(&self) -> &[u64] {
        match (self.workload(), self.options.all) {
            (Workload::Latency, _) => &[1],
            (Workload::Fan, true) => &[200, 400, 600, 800, 1_000],
            (Workload::Fan, false) => &[200, 1_000],
            (_, true) => &Self::SIZES,
            (_, false) => &[5_000, 20_000],
        }
    }

    fn contestants(&self) -> Vec<Box<dyn Contestant>> {
        let tasks: &'static [Task] = match self.workload() {
            Workload::Short => &SHORT,
            Workload::Persistent => &PERSISTENT,
            Workload::Udp => &UDP,
            Workload::Fan => &FAN,
            Workload::Latency => &LATENCY,
        };
        let all = tasks.iter().flat_map(|task| self.cast(task));
        all.map(|one| -> Box<dyn Contestant> { Box::new(one) }).collect()
    }

    fn prepare(&self, size: u64) -> Result<Box<dyn scenario::World>, Error> {
        let (what, max) = match self.workload() {
            Workload::Fan => ("services", load::SERVICES_MAX),
            Workload::Latency => ("connections at once", load::AT_ONCE_MAX),
            _ => ("per second", load::RATE_MAX),
        };
        if size > max {
            return Err(Error::TooMany { what, asked: size, max, advice: "" });
        }
        // Each run has a network namespace of its own.
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl scenario::World for Nothing {}

/// How long a run at a rate is looked at: several readings of a tracer.
const WINDOW: Duration = Duration::from_secs(3);

/// How long one of many turns of a closed loop is: a reading of a tracer, whenever it comes.
const SLICE: Duration = Duration::from_secs(1);

const METHODS: [(Option<&str>, &str); 5] = [
    (None, "no tracer"),
    (Some("snapshot"), "reads the kernel's socket tables each second: what is up, not what passes"),
    (Some("stream"), "an event per connection or datagram"),
    (Some("aggregate"), "sums per connection in the kernel, ephemeral port and all"),
    (Some("bundle"), "sums per edge in the kernel"),
];

const fn cost(flow: Flow) -> Task {
    Task { name: "cpu", baseline: "none (cpu)", kind: Kind::Cost, flow }
}

const fn response(flow: Flow) -> Task {
    Task { name: "response", baseline: "none (response)", kind: Kind::Response, flow }
}

const SHORT: [Task; 2] = [cost(Flow::Short), response(Flow::Short)];
const PERSISTENT: [Task; 2] = [cost(Flow::Persistent), response(Flow::Persistent)];
const UDP: [Task; 2] = [cost(Flow::Udp), response(Flow::Udp)];
const FAN: [Task; 1] = [cost(Flow::Fan)];
const LATENCY: [Task; 3] = [
    Task { name: "short", baseline: "none (short)", kind: Kind::Loop, flow: Flow::Short },
    Task {
        name: "persistent",
        baseline: "none (persistent)",
        kind: Kind::Loop,
        flow: Flow::Persistent,
    },
    Task { name: "udp", baseline: "none (udp)", kind: Kind::Loop, flow: Flow::Udp },
];

const fn less(figure: &'static str, name: &'static str) -> Compared {
    Compared { figure, name, by: By::Less }
}

const COMPARED: [Compared; 4] = [
    less("response_us_median", "added_us_median"),
    less("response_us_mean", "added_us_mean"),
    less("cycle_us", "added_us_cycle"),
    less("load_ns_per_operation", "added_load_ns_per_operation"),
];

const fn column(name: &'static str, heading: &'static str) -> Column {
    Column { value: Value::Figure(name), heading, has_ends: false }
}

const fn added(name: &'static str, heading: &'static str) -> Column {
    Column { value: Value::Difference(name), heading, has_ends: true }
}

const RATE_COLUMNS: [Column; 14] = [
    column("achieved_per_second", "achieved/s"),
    column("process_percent", "process %"),
    column("kernel_percent", "kernel %"),
    Column { value: Value::Figure("total_percent"), heading: "total %", has_ends: true },
    column("per_end_percent", "per end %"),
    column("ns_per_event", "ns/event"),
    column("ns_per_operation", "ns/operation"),
    column("response_us_median", "response"),
    added("added_us_median", "added µs [95 %]"),
    column("response_us_mean", "mean"),
    added("added_us_mean", "added to mean"),
    added("added_load_ns_per_operation", "added ns of the load"),
    column("edges", "edges"),
    column("lost", "lost"),
];

const LATENCY_COLUMNS: [Column; 8] = [
    column("response_us_median", "response"),
    added("added_us_median", "added µs [95 %]"),
    column("response_us_mean", "mean"),
    added("added_us_mean", "added to mean"),
    column("cycle_us", "cycle"),
    added("added_us_cycle", "added to cycle"),
    column("edges", "edges"),
    column("lost", "lost"),
];

const fn plot(title: &'static str, task: &'static str, value: Value) -> Plot {
    Plot { title, task, value }
}

const RATE_PLOTS: [Plot; 3] = [
    plot("CPU time, % of a core, both ends", "cpu", Value::Figure("total_percent")),
    plot("added to the median response, µs", "response", Value::Difference("added_us_median")),
    plot("added to the mean response, µs", "response", Value::Difference("added_us_mean")),
];

const FAN_PLOTS: [Plot; 1] =
    [plot("CPU time over services, % of a core, both ends", "cpu", Value::Figure("total_percent"))];

const LATENCY_PLOTS: [Plot; 4] = [
    plot("added to connect, request and response, µs", "short", ADDED),
    plot("added to a whole connection, µs", "short", Value::Difference("added_us_cycle")),
    plot("added to a round trip of persistent TCP, µs", "persistent", ADDED),
    plot("added to a round trip of UDP, µs", "udp", ADDED),
];

const ADDED: Value = Value::Difference("added_us_median");

#[cfg(test)]
mod tests;
