//! What the parts of one worker share.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use super::routes::Routes;
use crate::{
    ClientOptions, TargetCounts,
    deadlines::{Deadlines, position},
    gather::Part,
    interval::Cuts,
    poll::Poll,
    socket,
    times::Measured,
};

/// The state of one worker besides its sockets.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) options: ClientOptions,
    pub(super) poll: Poll,
    pub(super) routes: Routes,
    pub(super) turns: Turns,
    pub(super) deadlines: Deadlines,
    pub(super) tally: Tally,
}

impl Run {
    #[inline]
    pub(super) fn counts(&mut self, target: u32) -> &mut TargetCounts {
        &mut self.tally.targets[position(target)]
    }

    /// Something waits from `now` on, for as long as everything does.
    #[inline]
    pub(super) fn wait(&mut self, number: u32, now: Instant) {
        self.deadlines.enter(number, now + self.options.timeout);
    }

    /// What is asked next over a connection to `home`: of several URLs at one address, each in its
    /// turn.
    #[inline]
    pub(super) fn next_request(&mut self, home: u32) -> u32 {
        if self.turns.at.is_empty() { home } else { self.turns.next(home) }
    }
}

/// URLs that have one address, in a circle.
#[derive(Debug)]
pub(super) struct Turns {
    /// For each target the last one that was asked for over connections to it.
    at: Box<[u32]>,
    next: Box<[u32]>,
}

impl Turns {
    pub(super) fn new(options: &ClientOptions) -> Self {
        let number = |of: usize| u32::try_from(of).unwrap_or(0);
        let addresses = if options.http.is_empty() { &[] } else { &options.targets[..] };
        let next = |(nth, address): (usize, &SocketAddr)| {
            let later = (nth + 1..addresses.len()).chain(0..=nth);
            let mut same = later.filter(|&other| addresses[other] == *address);
            number(same.next().unwrap_or(nth))
        };
        let at = (0..number(addresses.len())).collect();
        Self { at, next: addresses.iter().enumerate().map(next).collect() }
    }

    fn next(&mut self, home: u32) -> u32 {
        let at = &mut self.at[position(home)];
        let target = *at;
        *at = self.next[position(target)];
        target
    }
}

/// What one worker did.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) targets: Vec<TargetCounts>,
    /// Since the last part was taken.
    pub(super) measured: Measured,
    pub(super) started: u64,
    pub(super) completed: u64,
    pub(super) ports_skipped: u64,
    /// Starts that had to wait for a slot.
    pub(super) waited: u64,
    /// Held connections that have proved, in the proof that goes on or was last, to be alive.
    pub(super) verified: u64,
    /// When something was last started or completed.
    pub(super) last_at: Instant,
    /// As it was when the last part was taken.
    before: Before,
}

#[derive(Debug, Default)]
struct Before {
    counts: TargetCounts,
    started: u64,
    completed: u64,
    cpu: Duration,
    cpu_wait: Duration,
}

impl Tally {
    pub(super) fn new(targets: usize) -> Self {
        Self {
            targets: vec![TargetCounts::default(); targets],
            measured: Measured::default(),
            started: 0,
            completed: 0,
            ports_skipped: 0,
            waited: 0,
            verified: 0,
            last_at: Instant::now(),
            before: Before::default(),
        }
    }

    /// What happened since the last part, in the interval that goes on, which is `length` long.
    pub(super) fn part(&mut self, cuts: &Cuts, length: Duration, is_last: bool) -> Part {
        let mut counts = TargetCounts::default();
        for target in &self.targets {
            counts += *target;
        }
        let (cpu, cpu_wait) = (socket::thread_cpu(), socket::thread_cpu_wait());
        let (started, completed) = (self.started, self.completed);
        let now = Before { counts, started, completed, cpu, cpu_wait };
        let before = std::mem::replace(&mut self.before, now);
        counts -= before.counts;
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(0);
        let measured = self.measured.sparse();
        self.measured.clear();
        Part {
            nth: cuts.nth,
            begin: cuts.since,
            length,
            is_warm_up: cuts.is_warm_up(),
            is_last,
            started: started - before.started,
            completed: completed - before.completed,
            cpu_us: micros(cpu.saturating_sub(before.cpu)),
            cpu_wait_us: micros(cpu_wait.saturating_sub(before.cpu_wait)),
            counts,
            measured,
        }
    }

    #[inline]
    pub(super) fn started(&mut self, intended: Instant, now: Instant) {
        self.started += 1;
        self.last_at = now;
        self.measured.lateness.record(now.saturating_duration_since(intended));
    }

    /// A response came whole, to a request that was meant to begin at `intended` and was sent at
    /// `sent_at`.
    #[inline]
    pub(super) fn responded(&mut self, intended: Instant, sent_at: Instant, now: Instant) {
        self.measured.request.record(now.saturating_duration_since(intended));
        self.measured.service.record(now.saturating_duration_since(sent_at));
    }

    pub(super) fn completed(&mut self, now: Instant) {
        self.completed += 1;
        self.last_at = now;
    }
}
