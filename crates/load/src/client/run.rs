//! What the parts of one worker share.

use std::time::{Duration, Instant};

use super::routes::Routes;
use crate::{
    ClientOptions, TargetCounts,
    deadlines::{Deadlines, position},
    poll::Poll,
    times::Measured,
};

/// The state of one worker besides its sockets.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) options: ClientOptions,
    pub(super) poll: Poll,
    pub(super) routes: Routes,
    pub(super) deadlines: Deadlines,
    pub(super) tally: Tally,
}

impl Run {
    pub(super) fn counts(&mut self, target: u32) -> &mut TargetCounts {
        &mut self.tally.targets[position(target)]
    }

    /// The slot waits for something from `now` on.
    pub(super) fn wait(&mut self, slot: u32, now: Instant) {
        self.deadlines.enter(slot, now + self.options.timeout);
    }
}

/// What one worker did.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) targets: Vec<TargetCounts>,
    pub(super) measured: Measured,
    pub(super) started: u64,
    pub(super) completed: u64,
    pub(super) ports_skipped: u64,
    /// When something was last started or completed.
    pub(super) last_at: Instant,
}

impl Tally {
    pub(super) fn new(targets: usize) -> Self {
        Self {
            targets: vec![TargetCounts::default(); targets],
            measured: Measured::default(),
            started: 0,
            completed: 0,
            ports_skipped: 0,
            last_at: Instant::now(),
        }
    }

    pub(super) fn started(&mut self, intended: Instant, now: Instant) {
        self.started += 1;
        self.last_at = now;
        self.measured.lateness.record(now.saturating_duration_since(intended));
    }

    /// A response came whole, to a request that was meant to begin at `intended` and was sent at
    /// `sent_at`.
    pub(super) fn responded(&mut self, intended: Instant, sent_at: Instant, now: Instant) {
        self.measured.request.record(now.saturating_duration_since(intended));
        self.measured.service.record(now.saturating_duration_since(sent_at));
    }

    pub(super) fn completed(&mut self, now: Instant) {
        self.completed += 1;
        self.last_at = now;
    }

    pub(super) fn took(&self, begin: Instant) -> Duration {
        self.last_at.saturating_duration_since(begin)
    }
}
