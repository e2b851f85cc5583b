//! Runs the contestants of a scenario, size by size.
//!
//! The world of a size is made once. Everyone runs once to warm up, and is looked at closely;
//! then all that passed take turns, round by round, so that whatever disturbs the host disturbs
//! everyone. Who fails or gives a wrong result at any time is out for this size. At last, out of
//! every measurement, comes what disturbs the measured: counting their system calls.

use std::{io, ops::RangeInclusive, thread};

use crate::{
    Contestant, Difference, Error, Fault, Figure, Host, Purpose, Sample, Scenario, View,
    difference, order::Order,
};

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sizes; the scenario's own if empty.
    pub sizes: Vec<u64>,
    /// Timed runs of each contestant; the scenario's own number if `None`.
    pub rounds: Option<u32>,
    /// Who goes first.
    pub order: Order,
    /// Who all are compared with; if `None`, each with its own baseline.
    pub baseline: Option<String>,
    /// Only contestants whose name contains one of these, and whom they are compared with; all if
    /// empty.
    pub only: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sizes: Vec::new(),
            rounds: None,
            order: Order { seed: 1 },
            baseline: None,
            only: Vec::new(),
        }
    }
}

/// What became of a contestant at one size.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every run counted; these are the timed ones, in order.
    Measured(Vec<Sample>),
    /// It did not take part, for this reason.
    Absent(String),
    /// It did not work.
    Failed(String),
    /// It gave a result that cannot be right, so its times mean nothing.
    Wrong(String),
}

/// One contestant at one size.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Its name.
    pub contestant: String,
    /// What it does.
    pub about: String,
    /// Which part of the scenario's work it does.
    pub task: &'static str,
    /// Who it is compared with.
    pub baseline: String,
    /// Whether it is a way of this program, not another program.
    pub is_own: bool,
    /// The rows of its result, where it was seen to have rows.
    pub rows: Option<u64>,
    /// The calls that fetched the kernel's table, or why they were not counted; `None` where
    /// nobody asked.
    pub reads: Option<Result<u64, String>>,
    /// What was seen in a run of its own, or why it was not.
    pub closer: Result<Vec<Figure>, String>,
    /// By how much it differs from the one that it is compared with, where that is asked.
    pub differences: Vec<Difference>,
    /// What became of it.
    pub outcome: Outcome,
}

/// Everybody at one size.
#[derive(Clone, Debug)]
pub struct SizeResults {
    /// The size.
    pub size: u64,
    /// Why nothing was measured, and what to do about it; then all contestants are absent.
    pub left_out: Option<String>,
    /// The contestants, in the scenario's order.
    pub lanes: Vec<Lane>,
    /// The host when the measurement of this size began.
    pub host: Host,
}

/// A scenario's results.
#[derive(Clone, Debug)]
pub struct Results {
    /// The scenario's name.
    pub scenario: &'static str,
    /// What it is about.
    pub about: String,
    /// What a size counts.
    pub unit: &'static str,
    /// What reports show.
    pub view: View,
    /// Timed runs of each contestant.
    pub rounds: u32,
    /// Who went first.
    pub order: Order,
    /// The sizes measured so far, ascending as asked for.
    pub sizes: Vec<SizeResults>,
}

impl Results {
    /// Whether a contestant failed or was wrong.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        let is_fault = |lane: &Lane| matches!(lane.outcome, Outcome::Failed(_) | Outcome::Wrong(_));
        self.sizes.iter().flat_map(|size| &size.lanes).any(is_fault)
    }
}

/// What a runner tells while it works.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The world of a size is being made.
    Preparing {
        /// The size.
        size: u64,
    },
    /// Somebody is about to run.
    Running {
        /// The size.
        size: u64,
        /// 0 for the warm-up, then from 1.
        round: u32,
        /// How many timed rounds there will be.
        rounds: u32,
        /// Whose turn it is.
        contestant: &'a str,
    },
    /// The calls of somebody are about to be counted.
    Counting {
        /// The size.
        size: u64,
        /// Whose turn it is.
        contestant: &'a str,
    },
    /// A size is done; the last of these results is about it.
    Finished(&'a Results),
}

/// Who hears of every [`Event`]; an error from it ends the measurement.
pub type Tell<'a> = dyn FnMut(Event<'_>) -> io::Result<()> + Send + 'a;

/// Runs `scenario`; `tell` hears of every step.
///
/// # Errors
/// When a world cannot be made, an option names nobody, or `tell` fails. Sizes that were finished
/// have been told.
pub fn run(
    scenario: &dyn Scenario,
    options: &Options,
    tell: &mut Tell<'_>,
) -> Result<Results, Error> {
    check_names(scenario, options)?;
    let sizes = if options.sizes.is_empty() { scenario.sizes() } else { &options.sizes };
    let mut results = Results {
        scenario: scenario.name(),
        about: scenario.about().to_owned(),
        unit: scenario.unit(),
        view: scenario.view(),
        rounds: rounds(scenario, options),
        order: options.order,
        sizes: Vec::with_capacity(sizes.len()),
    };
    for &size in sizes {
        // A world may change what belongs to its thread, so each gets a thread of its own.
        let measured = thread::scope(|scope| {
            let work = || measure_size(scenario, size, options, tell);
            scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        results.sizes.push(measured);
        tell(Event::Finished(&results)).map_err(Error::system("report"))?;
    }
    Ok(results)
}

/// Whether options name only contestants that there are.
fn check_names(scenario: &dyn Scenario, options: &Options) -> Result<(), Error> {
    let contestants = scenario.contestants();
    let names: Vec<&str> = contestants.iter().map(|one| one.name()).collect();
    let no_baseline = options.baseline.iter().find(|name| !names.contains(&name.as_str()));
    let unknown = |part: &&String| !names.iter().any(|known| known.contains(part.as_str()));
    match no_baseline.or_else(|| options.only.iter().find(unknown)) {
        Some(name) => Err(Error::NoSuchContestant { name: name.clone(), known: names.join(", ") }),
        None => Ok(()),
    }
}

fn measure_size(
    scenario: &dyn Scenario,
    size: u64,
    options: &Options,
    tell: &mut Tell<'_>,
) -> Result<SizeResults, Error> {
    let mut tell = |event: Event<'_>| tell(event).map_err(Error::system("report"));
    tell(Event::Preparing { size })?;
    let host = Host::here();
    let contestants = wanted(scenario.contestants(), options);
    if let Some(why) = scenario.left_out(size) {
        let absent = |one| Turn::with(one, Outcome::Absent(why.clone())).into_lane(options);
        let lanes = contestants.into_iter().map(absent).collect();
        return Ok(SizeResults { size, left_out: Some(why), lanes, host });
    }
    let world = scenario.prepare(size)?;
    let mut turns: Vec<Turn> = contestants.into_iter().map(|one| Turn::new(one, size)).collect();
    let rounds = rounds(scenario, options);
    for turn in turns.iter_mut().filter(|turn| turn.is_in()) {
        tell(Event::Running { size, round: 0, rounds, contestant: turn.contestant.name() })?;
        turn.take(size, Purpose::WarmUp);
    }
    for round in 0..rounds {
        for index in options.order.of_round(round, turns.len()) {
            let turn = &mut turns[index];
            if turn.is_in() {
                let contestant = turn.contestant.name();
                tell(Event::Running { size, round: round + 1, rounds, contestant })?;
                turn.take(size, Purpose::Timed);
            }
        }
    }
    for turn in turns.iter_mut().filter(|turn| turn.is_in()) {
        tell(Event::Counting { size, contestant: turn.contestant.name() })?;
        turn.reads = turn.contestant.count_reads();
        turn.closer = turn.contestant.look_closer(size);
    }
    drop(world);
    let mut lanes: Vec<Lane> = turns.into_iter().map(|turn| turn.into_lane(options)).collect();
    difference::compare(&mut lanes, scenario.compared());
    Ok(SizeResults { size, left_out: None, lanes, host })
}

fn rounds(scenario: &dyn Scenario, options: &Options) -> u32 {
    options.rounds.unwrap_or_else(|| scenario.rounds())
}

/// Those whose names were asked for, and whom they are compared with.
fn wanted(contestants: Vec<Box<dyn Contestant>>, options: &Options) -> Vec<Box<dyn Contestant>> {
    let is_named = |name: &str| {
        options.only.is_empty() || options.only.iter().any(|part| name.contains(part.as_str()))
    };
    let named = contestants.iter().filter(|one| is_named(one.name()));
    let baselines: Vec<String> =
        named.map(|one| baseline(one.as_ref(), options).to_owned()).collect();
    let is_wanted = |name: &str| is_named(name) || baselines.iter().any(|base| base == name);
    contestants.into_iter().filter(|one| is_wanted(one.name())).collect()
}

fn baseline<'a>(contestant: &'a dyn Contestant, options: &'a Options) -> &'a str {
    options.baseline.as_deref().unwrap_or_else(|| contestant.baseline())
}

/// A contestant and what became of it so far.
struct Turn {
    contestant: Box<dyn Contestant>,
    rows: Option<u64>,
    reads: Option<Result<u64, String>>,
    closer: Result<Vec<Figure>, String>,
    outcome: Outcome,
}

impl Turn {
    fn new(contestant: Box<dyn Contestant>, size: u64) -> Self {
        let outcome = match contestant.absent(size) {
            Some(why) => Outcome::Absent(why),
            None => Outcome::Measured(Vec::new()),
        };
        Self::with(contestant, outcome)
    }

    fn with(contestant: Box<dyn Contestant>, outcome: Outcome) -> Self {
        Self { contestant, rows: None, reads: None, closer: Ok(Vec::new()), outcome }
    }

    /// Whether the contestant goes on.
    fn is_in(&self) -> bool {
        matches!(self.outcome, Outcome::Measured(_))
    }

    /// Runs the contestant unless it is out.
    fn take(&mut self, size: u64, purpose: Purpose) {
        let Outcome::Measured(samples) = &mut self.outcome else { return };
        let expected = self.contestant.rows_expected(size);
        let ran = self.contestant.run(size, purpose);
        match ran.and_then(|sample| plausible(sample, &expected)) {
            Ok(sample) => {
                self.rows = sample.rows.or(self.rows);
                if purpose == Purpose::Timed {
                    samples.push(sample);
                }
            }
            Err(Fault::Refused(why)) => self.outcome = Outcome::Absent(why),
            Err(Fault::Failed(why)) => self.outcome = Outcome::Failed(why),
            Err(Fault::Wrong(why)) => self.outcome = Outcome::Wrong(why),
        }
    }

    fn into_lane(self, options: &Options) -> Lane {
        Lane {
            task: self.contestant.task(),
            baseline: baseline(self.contestant.as_ref(), options).to_owned(),
            contestant: self.contestant.name().to_owned(),
            about: self.contestant.about().to_owned(),
            is_own: self.contestant.is_own(),
            rows: self.rows,
            reads: self.reads,
            closer: self.closer,
            differences: Vec::new(),
            outcome: self.outcome,
        }
    }
}

/// Whoever counts rows has as many as there are.
fn plausible(sample: Sample, expected: &RangeInclusive<u64>) -> Result<Sample, Fault> {
    let Some(rows) = sample.rows.filter(|rows| !expected.contains(rows)) else {
        return Ok(sample);
    };
    let least = expected.start();
    Err(Fault::Wrong(match expected.end() {
        end if end == least => format!("{rows} rows, of {least}"),
        _ => format!("{rows} rows, of at least {least}"),
    }))
}

#[cfg(test)]
mod tests;
