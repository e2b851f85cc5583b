//! One strategy of the experiment on source ports.

use std::ops::RangeInclusive;

use portolan_load::{
    Stop,
    ports::{Job, Measured, PortsOptions, Program as Copy, Strategy, run},
};

use crate::{Contestant, Error, Fault, Figure, Program, Purpose, Sample, world};

/// Ports are taken from here on.
const FIRST_PORT: u16 = 20_000;

/// As many as there are from there on.
pub(super) const SIZE_MAX: u64 = 45_000;

/// The contestant.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    name: String,
    about: &'static str,
    job: Job,
    strategy: Strategy,
    load: Program,
}

const STRATEGIES: [(Strategy, &str); 3] = [
    (Strategy::Explicit, "a bind to a port that the library's allocator chooses"),
    (Strategy::Range, "the kernel, within a few ports (IP_LOCAL_PORT_RANGE)"),
    (Strategy::Kernel, "the kernel, within all: what everybody does"),
];

impl Ports {
    /// Every strategy in both jobs.
    pub(super) fn all(load: &Program) -> Vec<Box<dyn Contestant>> {
        let of = |job: Job| {
            STRATEGIES.into_iter().map(move |(strategy, about)| -> Box<dyn Contestant> {
                let name = format!("{} ({job})", strategy.name());
                Box::new(Self { name, about, job, strategy, load: load.clone() })
            })
        };
        [Job::Connect, Job::Bind].into_iter().flat_map(of).collect()
    }

    /// The experiment with the one strategy: the range has one port more than there are calls, as
    /// 20000-60000 has for 40,000.
    fn options(&self, count: u32) -> PortsOptions {
        let of = |job: Job| Some(if self.job == job { count } else { 0 });
        let last = u16::try_from(u32::from(FIRST_PORT) + count).unwrap_or(u16::MAX);
        let program = self.load.clone().with(["ports", "--task"]);
        PortsOptions {
            connections: of(Job::Connect),
            binds: of(Job::Bind),
            range: Some(FIRST_PORT..=last),
            strategies: vec![self.strategy],
            on_host: false,
            program: Copy { path: program.path, arguments: program.args },
        }
    }

    fn measure(&self, size: u64) -> Result<Measured, Fault> {
        // The experiment makes one of its own; this says what is missing where that is refused.
        world::enter_fresh().map_err(|error| Fault::Refused(error.to_string()))?;
        let count = u32::try_from(size).unwrap_or(u32::MAX);
        let stop = Stop::new().map_err(Error::system("make an eventfd"))?;
        let mut outcome = run(&self.options(count), &stop, &mut |_| {})
            .map_err(|error| Fault::Failed(error.to_string()))?;
        if let Some((_, _, why)) = outcome.left_out.pop() {
            return Err(Fault::Refused(why));
        }
        let measured = outcome.measured.pop();
        let measured = measured.ok_or_else(|| Fault::Failed("nothing was measured".to_owned()))?;
        if measured.is_whole() {
            return Ok(measured);
        }
        let Measured { asked, distinct_ports, verified, failure, .. } = measured;
        let verified = verified.map_or_else(String::new, |alive| format!(", {alive} alive"));
        let failure = failure.map_or_else(String::new, |why| format!("; {why}"));
        let text = format!("{distinct_ports} ports{verified}, of {asked}{failure}");
        Err(Fault::Wrong(text))
    }
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let seconds = measured.series.total().as_secs_f64();
    let us = |name, seconds: f64| Figure { name, unit: "us", value: seconds * 1e6 };
    let calls = Figure::count("calls_per_second", "1/s", measured.count());
    let mut figures = vec![
        us("total_us", seconds),
        Figure { value: (calls.value / seconds.max(1e-9)).round(), ..calls },
    ];
    if let Some((first, last)) = measured.series.ends() {
        let median = |name, ns: u64| {
            let ns = Figure::count(name, "us", ns);
            Figure { value: ns.value / 1e3, ..ns }
        };
        figures.push(median("first_us_median", first.median_ns));
        figures.push(median("last_us_median", last.median_ns));
        figures.push(Figure::per("last_to_first", "×", last.total_ns, first.total_ns));
    }
    let cliff = measured.series.cliff();
    figures.extend(cliff.map(|cliff| Figure::count("cliff_after", "calls", cliff.after)));
    figures.push(Figure::count("conflicts", "ports", measured.conflicts));
    figures
}

impl Contestant for Ports {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn task(&self) -> &'static str {
        self.job.name()
    }

    fn baseline(&self) -> &'static str {
        match self.job {
            Job::Connect => "kernel (connect)",
            Job::Bind => "kernel (bind)",
        }
    }

    fn is_own(&self) -> bool {
        self.strategy != Strategy::Kernel
    }

    fn absent(&self, _size: u64) -> Option<String> {
        None
    }

    fn rows_expected(&self, size: u64) -> RangeInclusive<u64> {
        size..=size
    }

    fn run(&mut self, size: u64, _purpose: Purpose) -> Result<Sample, Fault> {
        let measured = self.measure(size)?;
        Ok(Sample {
            wall: measured.series.total(),
            rows: Some(measured.count()),
            figures: figures(&measured),
            ..Sample::default()
        })
    }
}

#[cfg(test)]
mod tests;
