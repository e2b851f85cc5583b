//! The client: generates the load, and knows exactly what it did.

mod connections;
mod datagrams;
mod gate;
mod hold;
mod job;
mod open;
mod processes;
mod protocol;
mod routes;
mod run;
mod slots;
mod threads;
mod worker;

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use portolan_sys::limits;

use crate::{
    ClientOptions, Error, Interval, Measured, Share, Stop, Summary,
    gather::{Gather, Message, News, Total},
    socket,
};
use processes::Processes;
pub use processes::{serve_parent, sockets_per_process};
use threads::Threads;

/// Descriptors that are left for the rest of the program, at least.
const RESERVE: u64 = 64;

/// So long workers have, from when they are told, until the run begins; for each process.
const LEAD: Duration = Duration::from_millis(2);

/// How often a stop is passed on.
const LOOK: Duration = Duration::from_millis(100);

/// A run that goes on in threads, or processes, of its own.
#[derive(Debug)]
pub struct Client {
    options: ClientOptions,
    processes: usize,
    stop: Stop,
    intervals: Receiver<Box<(Interval, Measured)>>,
    coordinator: Option<JoinHandle<Result<Total, String>>>,
}

/// Those who do the work.
enum Workers {
    Here(Threads),
    Elsewhere(Processes),
}

impl Client {
    /// Begins, in this process.
    ///
    /// # Errors
    /// Only where nothing can be begun: options that make no sense, source addresses that are not
    /// this host's, too few descriptors. What happens at the targets is no error, but counted.
    pub fn start(options: &ClientOptions) -> Result<Self, Error> {
        check(options)?;
        let allowed = limits::descriptors().soft.unwrap_or(u64::MAX).saturating_sub(RESERVE);
        let wanted = u64::from(options.connections);
        if wanted > allowed {
            return Err(Error::Descriptors { wanted, allowed });
        }
        let (out, messages) = mpsc::channel();
        let threads = Threads::start(options, out)?;
        Self::coordinate(options, Workers::Here(threads), messages, 1)
    }

    /// Begins, in so many processes, which `program` makes: each has to call [`serve_parent`]. It
    /// is for more sockets than one process may have; times are merged without loss.
    ///
    /// # Errors
    /// As with [`Client::start`], and where no process can be started.
    pub fn start_processes(
        options: &ClientOptions,
        program: impl FnMut() -> std::process::Command,
        processes: usize,
    ) -> Result<Self, Error> {
        check(&ClientOptions { share: Share { nth: 0, of: processes.max(1) }, ..options.clone() })?;
        let least = u64::from(options.connections) / sockets_per_process().max(1);
        if u64::try_from(processes).is_ok_and(|all| all < least) || processes == 0 {
            let text = format!("{processes} processes are too few for so many connections");
            return Err(Error::Options(text));
        }
        let (out, messages) = mpsc::channel();
        let workers = Processes::start(options, program, processes, &out)?;
        Self::coordinate(options, Workers::Elsewhere(workers), messages, processes)
    }

    fn coordinate(
        options: &ClientOptions,
        workers: Workers,
        messages: Receiver<Message>,
        processes: usize,
    ) -> Result<Self, Error> {
        let stop = match &workers {
            Workers::Here(threads) => threads.stop.clone(),
            Workers::Elsewhere(processes) => processes.stop.clone(),
        };
        let (out, intervals) = mpsc::channel();
        let count = options.threads * processes;
        let gather = Gather::new(options.schedule(), count, options.targets.len());
        let coordinator = Coordinator {
            hold: options.duration.unwrap_or_default(),
            lead: if processes > 1 { LEAD * count.try_into().unwrap_or(1) } else { Duration::ZERO },
            gather,
            workers,
            stop: stop.clone(),
            intervals: out,
        };
        let named = thread::Builder::new().name("load".to_owned());
        let coordinator = named.spawn(|| coordinator.run(messages));
        let coordinator = Some(coordinator.map_err(Error::system("start a thread"))?);
        Ok(Self { options: options.clone(), processes, stop, intervals, coordinator })
    }

    /// With which any thread can end the run early.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits until the run is over, and says what happened.
    ///
    /// # Errors
    /// When a thread or process could not go on.
    pub fn wait(self) -> Result<Summary, Error> {
        self.wait_with(|_, _| {}).map(|(summary, _)| summary)
    }

    /// The same; gives each interval to `view` as soon as it is over, with its times, and at the
    /// end also the times of the whole run after its warm-up.
    ///
    /// # Errors
    /// When a thread or process could not go on.
    pub fn wait_with(
        mut self,
        mut view: impl FnMut(&Interval, &Measured),
    ) -> Result<(Summary, Measured), Error> {
        while let Ok(interval) = self.intervals.recv() {
            view(&interval.0, &interval.1);
        }
        let ended = self.coordinator.take().map(JoinHandle::join);
        let ended = ended.unwrap_or_else(|| Ok(Err("it was waited for before".to_owned())));
        let total = ended.unwrap_or_else(|_panic| Err("a thread panicked".to_owned()));
        let total = total.map_err(Error::Worker)?;
        let measured = total.measured.clone();
        let is_interrupted = self.stop.is_asked();
        Ok((Summary::new(&self.options, self.processes, is_interrupted, total), measured))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(coordinator) = self.coordinator.take() {
            self.stop.ask();
            // Nobody is left to tell.
            let _ = coordinator.join();
        }
    }
}

fn check(options: &ClientOptions) -> Result<(), Error> {
    options.check()?;
    for &address in &options.sources {
        socket::check_source(address).map_err(|source| Error::Source { address, source })?;
    }
    Ok(())
}

/// Lets all workers begin together, and gathers what they say.
struct Coordinator {
    /// How long connections are held.
    hold: Duration,
    lead: Duration,
    gather: Gather,
    workers: Workers,
    stop: Stop,
    intervals: Sender<Box<(Interval, Measured)>>,
}

impl Coordinator {
    fn run(mut self, messages: Receiver<Message>) -> Result<Total, String> {
        let ended = self.follow(&messages);
        if ended.is_err() {
            // One that failed ends all.
            self.workers.stop();
        }
        self.workers.join();
        ended.map(|()| self.gather.total())
    }

    fn follow(&mut self, messages: &Receiver<Message>) -> Result<(), String> {
        let mut is_stopped = false;
        loop {
            // However much they have to say meanwhile.
            if !is_stopped && self.stop.is_asked() {
                self.workers.stop();
                is_stopped = true;
            }
            let message = match messages.recv_timeout(LOOK) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err("all are gone".to_owned()),
            };
            for news in self.gather.handle(message)? {
                match news {
                    News::AllReady => self.workers.begin(Instant::now() + self.lead),
                    News::AllHeld => self.workers.verify(Instant::now() + self.hold),
                    News::Interval(interval) => {
                        // Whoever does not look at them waits for the end only.
                        let _ = self.intervals.send(interval);
                    }
                    News::AllEnded => return Ok(()),
                }
            }
        }
    }
}

impl Workers {
    fn begin(&mut self, at: Instant) {
        match self {
            Self::Here(threads) => threads.gates.begin.open(at),
            Self::Elsewhere(processes) => processes.begin(at),
        }
    }

    fn verify(&mut self, at: Instant) {
        match self {
            Self::Here(threads) => threads.gates.verify.open(at),
            Self::Elsewhere(processes) => processes.verify(at),
        }
    }

    fn stop(&mut self) {
        match self {
            Self::Here(threads) => threads.stop.ask(),
            Self::Elsewhere(processes) => processes.stop(),
        }
    }

    fn join(&mut self) {
        match self {
            Self::Here(threads) => threads.join(),
            Self::Elsewhere(processes) => processes.join(),
        }
    }
}
