//! How far a sweep is, on a terminal.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::report::Verdicts;

/// What is over sooner shows nothing.
const DELAY: Duration = Duration::from_millis(500);

/// A line on standard error, where that is a terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    found: u64,
    /// What was found by an interrupted sweep, which this one goes on with.
    before: u64,
    started: Instant,
}

impl Progress {
    /// For so many checks, after so many that were done before.
    pub fn new(checks: u64, before: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(checks), ProgressDrawTarget::hidden());
        let line =
            "{percent:>3}% {bar:24} {human_pos} of {human_len}, {per_sec}, {msg}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(line) {
            bar.set_style(style);
        }
        Self { bar, found: 0, before, started: Instant::now() }
    }

    /// So much was found.
    pub fn tell(&mut self, verdicts: Verdicts) {
        let found = verdicts.total().saturating_sub(self.before);
        if self.found == found {
            return;
        }
        self.found = found;
        if self.bar.is_hidden() {
            if self.started.elapsed() < DELAY || !io::stderr().is_terminal() {
                return;
            }
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(found);
        self.bar.set_message(format!("{} open", verdicts.open));
    }

    /// Does something that may write to the same terminal.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.bar.is_hidden() { work() } else { self.bar.suspend(work) }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
