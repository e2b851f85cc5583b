//! The server: answers what comes as each address's service does, and counts.

mod connections;
mod counters;
mod datagrams;
mod http;
mod listeners;
mod options;
mod output;
mod service;
mod summary;
mod worker;

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Instant,
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Error, Stop, summary::VERSION};
use counters::Tally;
pub(crate) use datagrams::TAG;
pub use options::{ServerOptions, Transports};
pub use service::{BODY_BYTES_MAX, Serve, Service, Sizes, parse_serve};
pub use summary::{Port, PortCounts, ServerInterval, ServerSummary};
use worker::Worker;

/// A server that runs: a thread per core, each with its own listening sockets (`SO_REUSEPORT`).
///
/// It listens once [`Server::start`] returns, and ends with [`Server::stop`] or when it is dropped.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    tallies: Vec<Arc<Tally>>,
    workers: Vec<JoinHandle<io::Result<()>>>,
    stop: Stop,
    begun: Instant,
    ended: Option<Instant>,
    told: Told,
}

/// What [`Server::interval`] said last.
#[derive(Debug)]
struct Told {
    count: u64,
    at: Instant,
    total: PortCounts,
    cpu_ns: Vec<u64>,
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
        let begun = Instant::now();
        let told =
            Told { count: 0, at: begun, total: PortCounts::default(), cpu_ns: vec![0; threads] };
        let addresses = places.iter().map(|place| place.address).collect();
        let tallies = workers.iter().map(Worker::tally).collect();
        let mut server =
            Self { addresses, tallies, workers: vec![], stop, begun, ended: None, told };
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
        &self.addresses
    }

    /// What happened so far, in the order of [`Server::addresses`].
    #[must_use]
    pub fn ports(&self) -> Vec<Port> {
        let port = |(nth, &address)| Port { address, counts: self.counts(nth) };
        self.addresses.iter().enumerate().map(port).collect()
    }

    /// What happened since it was asked last, or since the start.
    #[must_use]
    pub fn interval(&mut self) -> ServerInterval {
        let now = Instant::now();
        let total = self.total();
        let cpu_ns = self.cpu_ns();
        let used: Vec<u64> =
            cpu_ns.iter().zip(&self.told.cpu_ns).map(|(now, then)| (now - then) / 1_000).collect();
        let interval = ServerInterval {
            version: VERSION,
            kind: "server_interval".to_owned(),
            nth: self.told.count,
            begin_seconds: (self.told.at - self.begun).as_secs_f64(),
            seconds: (now - self.told.at).as_secs_f64(),
            open: total.open(),
            cpu_us: used.iter().sum(),
            busiest_cpu_us: used.iter().copied().max().unwrap_or(0),
            total: total - self.told.total,
        };
        self.told = Told { count: self.told.count + 1, at: now, total, cpu_ns };
        interval
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
        let seconds = self.ended.unwrap_or(self.begun) - self.begun;
        let seconds = seconds.as_secs_f64();
        let cpu_ns = self.cpu_ns();
        Ok(ServerSummary {
            version: VERSION,
            kind: "server".to_owned(),
            seconds,
            cpu_us: cpu_ns.iter().sum::<u64>() / 1_000,
            threads_cpu_us: cpu_ns.iter().map(|cpu| cpu / 1_000).collect(),
            total: self.total(),
            ports: self.ports(),
        })
    }

    fn counts(&self, port: usize) -> PortCounts {
        let mut sum = PortCounts::default();
        for tally in &self.tallies {
            sum += tally.ports[port].read();
        }
        sum
    }

    fn total(&self) -> PortCounts {
        let mut sum = PortCounts::default();
        for port in 0..self.addresses.len() {
            sum += self.counts(port);
        }
        sum
    }

    fn cpu_ns(&self) -> Vec<u64> {
        self.tallies.iter().map(|tally| tally.cpu_ns.read()).collect()
    }

    fn end(&mut self) -> io::Result<()> {
        self.ended.get_or_insert_with(Instant::now);
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
