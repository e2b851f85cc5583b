//! One thread of the client: starts what is due, then waits for sockets or for time.

use std::{
    io,
    num::NonZeroU64,
    time::{Duration, Instant},
};

use rustix::event::epoll::EventFlags;

use super::{
    job::Job,
    routes::Routes,
    run::{Run, Tally},
};
use crate::{
    ClientOptions, Mode, Stop,
    deadlines::Deadlines,
    poll::{self, Events, Poll, Token},
    schedule::Schedule,
    socket,
};

/// How many starts are made before sockets have their turn.
const STARTS_IN_TURN: u32 = 64;

/// Once somebody asked for the end, what is under way is waited for at most this long.
const STOPPING_MAX: Duration = Duration::from_secs(1);

/// The kernel may wake us so much later than asked for, instead of 50 us.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

pub(super) struct Worker {
    run: Run,
    job: Job,
    schedule: Schedule,
    slots: u32,
    stop: Stop,
    is_stopped: bool,
    /// When what is still under way is given up; set once nothing more is started.
    give_up_at: Option<Instant>,
}

/// What one worker did.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) tally: Tally,
    /// From the begin of the schedule until the last start or completion.
    pub(super) took: Duration,
    pub(super) cpu: Duration,
}

impl Worker {
    pub(super) fn new(
        options: &ClientOptions,
        schedule: &Schedule,
        routes: Routes,
        nth: usize,
        stop: &Stop,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.add(stop, Token::Stop, EventFlags::IN)?;
        let number = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        let (nth, threads) = (number(nth), number(options.threads).max(1));
        let slots = options.connections / threads + u32::from(nth < options.connections % threads);
        let tally = Tally::new(routes.targets());
        let deadlines = Deadlines::new(slots);
        let mut run = Run { options: options.clone(), poll, routes, deadlines, tally };
        let job = Job::new(&mut run, slots);
        let schedule = schedule.clone().share(nth.into(), threads.into());
        let (stop, is_stopped, give_up_at) = (stop.clone(), false, None);
        Ok(Self { run, job, schedule, slots, stop, is_stopped, give_up_at })
    }

    /// The whole run.
    pub(super) fn run(mut self) -> io::Result<Outcome> {
        // Without it, starts are a little later.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        let mut events = poll::no_events();
        if self.run.options.mode == Mode::Request {
            self.establish(&mut events)?;
        }
        let begin = Instant::now();
        self.run.tally.last_at = begin;
        loop {
            let next = self.start_due(begin);
            let now = Instant::now();
            self.job.expire(&mut self.run, now);
            if next.is_none() {
                let timeout = self.run.options.timeout;
                let longest = if self.is_stopped { timeout.min(STOPPING_MAX) } else { timeout };
                let give_up_at = *self.give_up_at.get_or_insert(now + longest);
                if self.job.slots().in_use() == 0 || now >= give_up_at {
                    break;
                }
            }
            self.wait(next.into_iter().chain(self.give_up_at).min(), now, &mut events)?;
        }
        self.job.finish(&mut self.run);
        let took = self.run.tally.took(begin);
        Ok(Outcome { tally: self.run.tally, took, cpu: socket::thread_cpu() })
    }

    /// Establishes all persistent connections, or fails to.
    fn establish(&mut self, events: &mut Events) -> io::Result<()> {
        let mut left = self.slots;
        while !self.is_stopped && (left > 0 || self.job.slots().in_use() > 0) {
            for _ in 0..left.min(STARTS_IN_TURN) {
                self.job.establish(&mut self.run);
                left -= 1;
            }
            let now = Instant::now();
            self.job.expire(&mut self.run, now);
            let wake_at = if left > 0 || self.job.slots().in_use() == 0 { Some(now) } else { None };
            self.wait(wake_at, now, events)?;
        }
        Ok(())
    }

    /// Starts what is due, and says when to come again; `None` when nothing more will be started.
    fn start_due(&mut self, begin: Instant) -> Option<Instant> {
        for _ in 0..STARTS_IN_TURN {
            let now = Instant::now();
            let since = now.saturating_duration_since(begin);
            let intended = begin + self.schedule.next(since).filter(|_| !self.is_stopped)?;
            if intended > now {
                return Some(intended);
            }
            if !self.job.start(&mut self.run, intended, now) {
                // All slots are in use; without any that rests, an event tells when to go on.
                let free_at = self.job.slots().free_at(now);
                return Some(free_at.unwrap_or(now + self.run.options.timeout));
            }
            self.schedule.advance();
        }
        Some(begin)
    }

    /// Waits for events until `wake_at`, or the first deadline, and handles them.
    fn wait(
        &mut self,
        wake_at: Option<Instant>,
        now: Instant,
        events: &mut Events,
    ) -> io::Result<()> {
        let deadline = self.run.deadlines.first().map(|(_, at)| at);
        let wake_at = wake_at.into_iter().chain(deadline).min();
        let longest = wake_at.map(|at| at.saturating_duration_since(now));
        let count = self.run.poll.wait(events, longest)?;
        for event in &events[..count] {
            match poll::read(event) {
                (Token::Stop, _) => {
                    self.run.poll.remove(&self.stop);
                    self.is_stopped = true;
                    self.give_up_at = None;
                }
                (Token::Slot(slot), flags) => self.job.handle(&mut self.run, slot, flags),
                (Token::Listener(_), _) => {}
            }
        }
        Ok(())
    }
}
