//! Many seeds, on several threads.

use std::{
    any::Any,
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use crate::{
    scenario::{Scenario, generated},
    violation::Violation,
    world::{self, Outcome},
};

/// What many runs gave.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many seeds were run.
    pub runs: u64,
    /// Segments of all runs.
    pub segments: u64,
    /// Bytes that arrived in all runs.
    pub bytes: u64,
    /// Time on the virtual clocks, in seconds.
    pub virtual_s: u64,
    /// The seeds that failed, and how.
    pub failures: Vec<(u64, Violation)>,
}

/// Runs a scenario; a panic of the stack is a violation as well, but one of the peer that somebody
/// else wrote ends the run.
#[must_use]
pub fn run_safely(scenario: &Scenario) -> Outcome {
    let run = || world::run(scenario);
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let place = PLACE.take();
        let is_of_peer = place.contains("/smoltcp-");
        let violation = || Violation::new("panic", format!("{} at {place}", said(&*panic)));
        Outcome { violation: (!is_of_peer).then(violation), ..Outcome::default() }
    })
}

/// Panics say nothing on their own from now on, as runs report them.
pub fn keep_panics_quiet() {
    panic::set_hook(Box::new(|panic| {
        PLACE.set(panic.location().map(ToString::to_string).unwrap_or_default());
    }));
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the seeds from the first one up to the last one, without it. It ends early when so many
/// have failed; `done` hears the number of runs that are over from time to time.
pub fn run_seeds(
    (first, last): (u64, u64),
    threads: usize,
    failures_max: usize,
    done: &(dyn Fn(u64) + Sync),
) -> Tally {
    let next = AtomicU64::new(first);
    let is_over = AtomicBool::new(false);
    let tally = Mutex::new(Tally::default());
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        break;
                    }
                    let began = std::time::Instant::now();
                    let outcome = run_safely(&generated(seed));
                    if began.elapsed().as_millis() > 500 {
                        eprintln!("SLOW {seed}: {:?} {}", began.elapsed(), outcome.segments);
                    }
                    let mut tally = tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    tally.add(seed, outcome);
                    is_over.fetch_or(tally.failures.len() >= failures_max, Ordering::Relaxed);
                    done(tally.runs);
                }
            });
        }
    });
    let mut tally = tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    tally.failures.sort_by_key(|(seed, _)| *seed);
    tally
}

impl Tally {
    fn add(&mut self, seed: u64, outcome: Outcome) {
        self.runs += 1;
        self.segments += outcome.segments;
        self.bytes += outcome.bytes;
        self.virtual_s += outcome.lasted.as_secs();
        self.failures.extend(outcome.violation.map(|violation| (seed, violation)));
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "without a word".to_owned())
}
