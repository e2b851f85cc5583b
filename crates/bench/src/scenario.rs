//! What is measured, and who takes part.

use std::ops::RangeInclusive;

use crate::{Compared, Error, Figure, Sample, View};

/// A named piece of work that several contestants do.
pub trait Scenario: Sync {
    /// How the command line and the records call it.
    fn name(&self) -> &'static str;

    /// One line for people: what the work is.
    fn about(&self) -> &str;

    /// What a size counts, in the plural: `sockets`.
    fn unit(&self) -> &'static str;

    /// How often each contestant is timed unless another number is asked for.
    fn rounds(&self) -> u32 {
        15
    }

    /// What its reports show.
    fn view(&self) -> View {
        View::Times
    }

    /// Which figures are compared with those of the baseline, round by round.
    fn compared(&self) -> &'static [Compared] {
        &[]
    }

    /// The sizes that are measured unless others are asked for, ascending.
    fn sizes(&self) -> &[u64];

    /// Who takes part, in the order of the report; no two of the same name.
    fn contestants(&self) -> Vec<Box<dyn Contestant>>;

    /// Why a size is not measured on this host now, and what to do about it.
    fn left_out(&self, _size: u64) -> Option<String> {
        None
    }

    /// Makes the world that the work needs; it ends when the returned value is dropped.
    ///
    /// It is called on a thread that is used for this size only, and the contestants run on the
    /// same thread, so a world may change what belongs to a thread: its namespaces.
    ///
    /// # Errors
    /// When the world cannot be made: no measurement at this size.
    fn prepare(&self, size: u64) -> Result<Box<dyn World>, Error>;
}

/// What has to be there while contestants run; dropping it cleans up.
pub trait World {}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To load caches, and to look at the result as closely as possible.
    WarmUp,
    /// To be timed.
    Timed,
}

/// One that does the work.
pub trait Contestant {
    /// How reports call it.
    fn name(&self) -> &str;

    /// What it does, and what of it is measured; one line.
    fn about(&self) -> &str;

    /// Which part of the scenario's work it does; contestants of a task stand together.
    fn task(&self) -> &'static str;

    /// The name of the contestant that it is compared with, unless another is asked for.
    fn baseline(&self) -> &'static str;

    /// Whether it is a way of this program, not another program.
    fn is_own(&self) -> bool;

    /// Why it does not take part at this size, and what to do about it.
    fn absent(&self, size: u64) -> Option<String>;

    /// How many rows a right result has.
    fn rows_expected(&self, size: u64) -> RangeInclusive<u64> {
        size..=u64::MAX
    }

    /// Does the work once.
    ///
    /// # Errors
    /// When there is no result, or one that cannot be right.
    fn run(&mut self, size: u64, purpose: Purpose) -> Result<Sample, Fault>;

    /// Does the work once more, unmeasured, and counts the system calls that fetched the kernel's
    /// table; `None` where that is not asked.
    ///
    /// # Errors
    /// Why it cannot be counted here, and what to do about it.
    fn count_reads(&mut self) -> Option<Result<u64, String>> {
        None
    }

    /// Does the work once more, unmeasured, and looks at what would have disturbed the measurement.
    ///
    /// # Errors
    /// Why that cannot be seen here, and what to do about it.
    fn look_closer(&mut self, _size: u64) -> Result<Vec<Figure>, String> {
        Ok(Vec::new())
    }
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It did not work.
    Failed(String),
    /// It gave a result that cannot be right.
    Wrong(String),
    /// This host does not let it work, which is not its fault.
    Refused(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A result with fewer than `least` of something cannot be right.
pub(crate) fn at_least(what: &str, found: u64, least: u64) -> Result<(), Fault> {
    if found >= least {
        return Ok(());
    }
    Err(Fault::Wrong(format!("{found} {what}, of at least {least}")))
}
