//! Mode `hold` of a worker: opens its connections, keeps them, and proves that they are alive.

use std::{io, time::Instant};

use super::worker::Worker;
use crate::{TargetCounts, gather::Message, poll::Events};

impl Worker {
    pub(super) fn hold(&mut self, events: &mut Events) -> io::Result<()> {
        self.open_all(events)?;
        let mut counts = TargetCounts::default();
        for target in &self.run.tally.targets {
            counts += *target;
        }
        self.say(Message::Held(counts.open()));
        self.keep(events)?;
        if !self.is_stopped {
            self.job.verify(&mut self.run);
            while !self.is_stopped && self.job.is_verifying(&mut self.run) {
                self.idle(None, events)?;
            }
        }
        Ok(())
    }

    /// Until the last one is open, or has failed to be.
    fn open_all(&mut self, events: &mut Events) -> io::Result<()> {
        loop {
            let next = self.start_next();
            if next.is_none() && (self.is_stopped || self.job.handshakes() == 0) {
                return Ok(());
            }
            self.idle(next, events)?;
        }
    }

    /// Until all workers' connections have been open as long as was asked for.
    fn keep(&mut self, events: &mut Events) -> io::Result<()> {
        let every = self.run.options.verify_every;
        let mut round_at = every.map(|every| Instant::now() + every);
        loop {
            let now = Instant::now();
            let is_verifying = self.job.is_verifying(&mut self.run);
            let until = self.gates.verify.at();
            if self.is_stopped || until.is_some_and(|until| until <= now) && !is_verifying {
                return Ok(());
            }
            if is_verifying {
                self.idle(None, events)?;
                continue;
            }
            if let Some(at) = round_at.filter(|&at| at <= now) {
                self.job.verify(&mut self.run);
                // Rounds that take longer than that follow each other.
                round_at = every.map(|every| (at + every).max(now));
                continue;
            }
            self.idle(round_at.into_iter().chain(until).min(), events)?;
        }
    }

    fn idle(&mut self, wake_at: Option<Instant>, events: &mut Events) -> io::Result<()> {
        let now = Instant::now();
        self.job.expire(&mut self.run, now);
        self.cut(now);
        self.wait(wake_at, now, events)
    }
}
