//! The client: generates the load, and knows exactly what it did.

mod connections;
mod datagrams;
mod job;
mod open;
mod routes;
mod run;
mod slots;
mod worker;

use std::{
    io,
    thread::{self, JoinHandle},
    time::Duration,
};

use portolan_sys::limits;

use crate::{
    ClientOptions, Error, Stop, Summary, Target, TargetCounts, schedule::Schedule, socket, summary,
    times::Measured,
};
use routes::Routes;
use worker::{Outcome, Worker};

/// Descriptors that are left for the rest of the program, at least.
const RESERVE: u64 = 64;

/// A run that goes on in threads of its own.
#[derive(Debug)]
pub struct Client {
    options: ClientOptions,
    planned: Option<u64>,
    workers: Vec<JoinHandle<io::Result<Outcome>>>,
    stop: Stop,
}

impl Client {
    /// Begins.
    ///
    /// # Errors
    /// Only where nothing can be begun: options that make no sense, source addresses that are not
    /// this host's, too few descriptors. What happens at the targets is no error, but counted.
    pub fn start(options: &ClientOptions) -> Result<Self, Error> {
        options.check()?;
        let allowed = limits::descriptors().soft.unwrap_or(u64::MAX).saturating_sub(RESERVE);
        let wanted = u64::from(options.connections);
        if wanted > allowed {
            return Err(Error::Descriptors { wanted, allowed });
        }
        for &address in &options.sources {
            socket::check_source(address).map_err(|source| Error::Source { address, source })?;
        }
        let stop = Stop::new().map_err(Error::system("make an eventfd"))?;
        let schedule = Schedule::new(options.rate, options.count, options.duration);
        let routes = Routes::all(options);
        let mut client =
            Self { options: options.clone(), planned: schedule.planned(), workers: vec![], stop };
        let workers = (routes.into_iter().enumerate())
            .map(|(nth, routes)| Worker::new(options, &schedule, routes, nth, &client.stop))
            .collect::<io::Result<Vec<_>>>()
            .map_err(Error::system("make an epoll"))?;
        for worker in workers {
            let named = thread::Builder::new().name("load client".to_owned());
            let thread = named.spawn(|| worker.run()).map_err(Error::system("start a thread"))?;
            client.workers.push(thread);
        }
        Ok(client)
    }

    /// With which any thread can end the run early.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits until the run is over, and says what happened.
    ///
    /// # Errors
    /// When a thread could not go on.
    pub fn wait(mut self) -> Result<Summary, Error> {
        let mut outcomes = Vec::with_capacity(self.workers.len());
        for worker in self.workers.drain(..) {
            let outcome = worker.join().unwrap_or_else(|_panic| Err(io::ErrorKind::Other.into()));
            outcomes.push(outcome.map_err(Error::system("wait for sockets"))?);
        }
        Ok(self.summary(&outcomes))
    }

    #[allow(clippy::cast_precision_loss, reason = "a rate")]
    fn summary(&self, outcomes: &[Outcome]) -> Summary {
        let mut measured = Measured::default();
        let mut targets: Vec<Target> = self
            .options
            .targets
            .iter()
            .map(|&address| Target { address, counts: TargetCounts::default() })
            .collect();
        let (mut took, mut cpu) = (Duration::ZERO, Duration::ZERO);
        for outcome in outcomes {
            measured.add(&outcome.tally.measured);
            for (target, counts) in targets.iter_mut().zip(&outcome.tally.targets) {
                target.counts += *counts;
            }
            took = took.max(outcome.took);
            cpu += outcome.cpu;
        }
        let mut total = TargetCounts::default();
        for target in &targets {
            total += target.counts;
        }
        let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
        let completed = sum(|outcome| outcome.tally.completed);
        let seconds = took.as_secs_f64();
        Summary {
            version: summary::VERSION,
            kind: "client".to_owned(),
            mode: self.options.mode,
            seconds,
            asked_per_second: self.options.rate,
            completed,
            achieved_per_second: if seconds > 0.0 { completed as f64 / seconds } else { 0.0 },
            planned: self.planned,
            started: sum(|outcome| outcome.tally.started),
            is_interrupted: self.stop.is_asked(),
            source_ports_skipped: sum(|outcome| outcome.tally.ports_skipped),
            cpu_us: u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX),
            connect_ns: measured.connect.summary(),
            request_ns: measured.request.summary(),
            service_ns: measured.service.summary(),
            lateness_ns: measured.lateness.summary(),
            total,
            targets,
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.workers.is_empty() {
            return;
        }
        self.stop.ask();
        for worker in self.workers.drain(..) {
            // Nobody is left to tell.
            let _ = worker.join();
        }
    }
}
