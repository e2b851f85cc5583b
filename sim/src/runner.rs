//! Many seeds, on several threads.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    coverage::Coverage,
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
    /// What happened in all runs.
    pub coverage: Coverage,
    /// In how many runs each of it happened.
    pub runs_with: Coverage,
    /// The seeds that failed, and how.
    pub failures: Vec<(u64, Violation)>,
}

/// Runs a scenario; a panic of the stack is a violation as well, but one of the peer that somebody
/// else wrote ends the run.
#[must_use]
pub fn run_safely(scenario: &Scenario) -> Outcome {
    let run = || world::run(scenario);
    RUNS.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    RUNS.set(false);
    outcome.unwrap_or_else(|panic| {
        let place = PLACE.take();
        let is_of_peer = place.contains("/smoltcp-");
        let violation = || Violation::new("panic", format!("{} at {place}", said(&*panic)));
        Outcome { violation: (!is_of_peer).then(violation), ..Outcome::default() }
    })
}

/// Panics within runs say nothing on their own from now on, as the runs report them.
pub fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            PLACE.set(panic.location().map(ToString::to_string).unwrap_or_default());
            if !RUNS.get() {
                usual(panic);
            }
        }));
    });
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    /// Whether it is within a run.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

/// How [`run_seeds`] tells how it goes on.
pub trait Progress: Sync {
    /// So many runs are over.
    fn done(&self, runs: u64);
    /// The run of this seed takes so long that it may never end. It cannot be stopped: who wants to
    /// go on leaves the process.
    fn stuck(&self, seed: u64);
}

/// Runs the seeds from the first one up to the last one, without it. It ends early when so many
/// have failed.
pub fn run_seeds(
    (first, last): (u64, u64),
    threads: usize,
    failures_max: usize,
    progress: &dyn Progress,
) -> Tally {
    let next = AtomicU64::new(first);
    let is_over = AtomicBool::new(false);
    let tally = Mutex::new(Tally::default());
    let work = |watch: &Watch| {
        while !is_over.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= last {
                break;
            }
            watch.begin(seed);
            let outcome = run_safely(&generated(seed));
            let mut tally = locked(&tally);
            tally.add(seed, outcome);
            is_over.fetch_or(tally.failures.len() >= failures_max, Ordering::Relaxed);
            progress.done(tally.runs);
        }
        watch.end();
    };
    let watches: Vec<Watch> = (0..threads.max(1)).map(|_| Watch::default()).collect();
    thread::scope(|scope| {
        for watch in &watches {
            scope.spawn(move || work(watch));
        }
        while !watches.iter().all(Watch::is_over) {
            thread::park_timeout(Duration::from_millis(20));
            watches.iter().filter_map(Watch::stuck).for_each(|seed| progress.stuck(seed));
        }
    });
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.failures.sort_by_key(|(seed, _)| *seed);
    tally
}

/// What a thread does, for the one that watches over it.
#[derive(Debug, Default)]
struct Watch(Mutex<Doing>);

#[derive(Clone, Copy, Debug, Default)]
enum Doing {
    #[default]
    Nothing,
    Seed(u64, Instant),
    Told,
    Over,
}

impl Watch {
    fn begin(&self, seed: u64) {
        *locked(&self.0) = Doing::Seed(seed, Instant::now());
    }

    fn end(&self) {
        *locked(&self.0) = Doing::Over;
    }

    fn is_over(&self) -> bool {
        matches!(*locked(&self.0), Doing::Over)
    }

    /// The seed that takes too long, once.
    fn stuck(&self) -> Option<u64> {
        let mut doing = locked(&self.0);
        match *doing {
            Doing::Seed(seed, began) if began.elapsed() > STUCK_AFTER => {
                *doing = Doing::Told;
                Some(seed)
            }
            _ => None,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs take milliseconds; also on a busy machine.
const STUCK_AFTER: Duration = Duration::from_secs(60);

impl Tally {
    fn add(&mut self, seed: u64, outcome: Outcome) {
        self.runs += 1;
        self.segments += outcome.segments;
        self.bytes += outcome.bytes;
        self.virtual_s += outcome.lasted.as_secs();
        self.coverage.merge(&outcome.coverage);
        self.runs_with.merge(&outcome.coverage.once());
        self.failures.extend(outcome.violation.map(|violation| (seed, violation)));
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "without a word".to_owned())
}
