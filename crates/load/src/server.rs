//! The server: answers what comes as each address's service does, and counts.

mod account;
mod connections;
mod counters;
mod datagrams;
mod hosted;
mod http;
mod listeners;
mod options;
mod output;
mod served;
mod service;
mod stream;
mod summary;
mod worker;

use std::{
    io,
    net::SocketAddr,
    thread::{self, JoinHandle},
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Error, Stop};
use account::Account;
pub(crate) use datagrams::TAG;
pub use hosted::HostedServer;
pub use options::{ServerOptions, Transports};
pub use service::{BODY_BYTES_MAX, Serve, Service, Sizes, parse_serve, parse_serve_at};
pub use summary::{Port, PortCounts, ServerInterval, ServerSummary};
use worker::Worker;

/// A server that runs: a thread per core, each with its own listening sockets (`SO_REUSEPORT`).
///
/// It listens once [`Server::start`] returns, and ends with [`Server::stop`] or when it is dropped.
#[derive(Debug)]
pub struct Server {
    account: Account,
    workers: Vec<JoinHandle<io::Result<()>>>,
    stop: Stop,
}

impl Server {
    /// Listens at all addresses, and begins to answer.
    ///
    /// # Errors
    /// [`Error::Listen`] where one of them is taken or not this host's, [`Error::Descriptors`].
    pub fn start(options: &ServerOptions) -> Result<Self, Error> {
        options.check()?;
        let threads = match options.threads {
            0 => thread::available_parallelism().map_or(1, Into::into),
            threads => threads,
        };
        let mut places = options.places();
        listeners::ensure_room(&places, options.transports, threads)?;
        let stop = Stop::new().map_err(Error::system("make an eventfd"))?;
        let descriptors_end = listeners::descriptors_end(threads);
        let mut workers = Vec::with_capacity(threads);
        for nth in 0..threads {
            let worker = Worker::new(&places, options.timeout, &stop, descriptors_end);
            let mut worker = worker.map_err(Error::system("make an epoll"))?;
            for at in 0..places.len() {
                listeners::listen(&mut worker, &mut places, at, options.transports, nth == 0)?;
            }
            workers.push(worker);
        }
        let addresses = places.iter().map(|place| place.address).collect();
        let tallies = workers.iter().map(Worker::tally).collect();
        let account = Account::new(addresses, tallies);
        let mut server = Self { account, workers: vec![], stop };
        for (nth, worker) in workers.into_iter().enumerate() {
            let is_pinned = options.is_pinned;
            let run = move || {
                if is_pinned {
                    pin(nth)?;
                }
                worker.run()
            };
            let named = thread::Builder::new().name("load server".to_owned());
            let thread = named.spawn(run).map_err(Error::system("start a thread"))?;
            server.workers.push(thread);
        }
        Ok(server)
    }

    /// Where it listens, in the order that was asked for, with the ports that the kernel chose.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.account.addresses()
    }

    /// What happened so far, in the order of [`Server::addresses`].
    #[must_use]
    pub fn ports(&self) -> Vec<Port> {
        self.account.ports()
    }

    /// What happened since it was asked last, or since the start.
    #[must_use]
    pub fn interval(&mut self) -> ServerInterval {
        self.account.interval()
    }

    /// Waits until nothing has come for 20 ms, a second at most, and ends; what happened until then
    /// can still be asked for.
    ///
    /// # Errors
    /// When a thread could not go on.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.end().map_err(Error::system("wait for sockets"))
    }

    /// Ends as [`Server::settle`] does, and says what happened.
    ///
    /// # Errors
    /// When a thread could not go on.
    pub fn stop(mut self) -> Result<ServerSummary, Error> {
        self.settle()?;
        Ok(self.account.summary())
    }

    fn end(&mut self) -> io::Result<()> {
        self.account.end();
        self.stop.ask();
        let mut ended = Ok(());
        for worker in self.workers.drain(..) {
            let result = worker.join().unwrap_or_else(|_panic| Err(io::ErrorKind::Other.into()));
            ended = ended.and(result);
        }
        ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}

/// Keeps the calling thread on one of the cores that it may use: the nth, in turns.
fn pin(nth: usize) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let mut own = CpuSet::new();
    own.set(cores[nth % cores.len().max(1)]);
    Ok(sched_setaffinity(None, &own)?)
}
