//! The server: answers requests of a fixed size with responses of a fixed size, and counts.

mod connections;
mod counters;
mod datagrams;
mod worker;

use std::{
    io,
    net::SocketAddr,
    os::fd::OwnedFd,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use portolan_sys::limits;
use rustix::{io::Errno, net::SocketType};

use crate::{
    Error, Port, PortCounts, ServerOptions, ServerSummary, Stop, Transports, socket, summary,
};
use counters::Counters;
pub(crate) use datagrams::TAG;
use worker::Worker;

/// Descriptors that are left for the rest of the program and the connections, at least.
const RESERVE: u64 = 64;

/// How often another port is chosen, where the kernel chooses.
const CHOICES: usize = 16;

/// A server that runs: a thread per core, each with its own listening sockets (`SO_REUSEPORT`).
///
/// It listens once [`Server::start`] returns, and ends with [`Server::stop`] or when it is dropped.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    counters: Vec<Arc<[Counters]>>,
    workers: Vec<JoinHandle<io::Result<Duration>>>,
    stop: Stop,
    begun: Instant,
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
        ensure_room(options, threads)?;
        let stop = Stop::new().map_err(Error::system("make an eventfd"))?;
        let mut addresses = options.listen.clone();
        let mut workers = Vec::with_capacity(threads);
        for nth in 0..threads {
            let worker = Worker::new(options, &stop, addresses.len());
            let mut worker = worker.map_err(Error::system("make an epoll"))?;
            for at in 0..addresses.len() {
                listen(&mut worker, &mut addresses, at, options.transports, nth == 0)?;
            }
            workers.push(worker);
        }
        let counters = workers.iter().map(Worker::counters).collect();
        let mut server = Self { addresses, counters, workers: vec![], stop, begun: Instant::now() };
        for worker in workers {
            let named = thread::Builder::new().name("load server".to_owned());
            let thread = named.spawn(|| worker.run()).map_err(Error::system("start a thread"))?;
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
        let counts = |nth: usize| {
            let mut sum = PortCounts::default();
            for worker in &self.counters {
                sum += worker[nth].read();
            }
            sum
        };
        let port = |(nth, &address)| Port { address, counts: counts(nth) };
        self.addresses.iter().enumerate().map(port).collect()
    }

    /// Waits until nothing has come for 20 ms, a second at most, ends, and says what happened.
    ///
    /// # Errors
    /// When a thread could not go on.
    pub fn stop(mut self) -> Result<ServerSummary, Error> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let cpu = self.end().map_err(Error::system("wait for sockets"))?;
        let ports = self.ports();
        let mut total = PortCounts::default();
        for port in &ports {
            total += port.counts;
        }
        let cpu_us = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX);
        let (version, kind) = (summary::VERSION, "server".to_owned());
        Ok(ServerSummary { version, kind, seconds, cpu_us, total, ports })
    }

    fn end(&mut self) -> io::Result<Duration> {
        self.stop.ask();
        let mut cpu = Ok(Duration::ZERO);
        for worker in self.workers.drain(..) {
            let used = worker.join().unwrap_or_else(|_panic| Err(io::ErrorKind::Other.into()));
            cpu = cpu.and_then(|sum| Ok(sum + used?));
        }
        cpu
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}

/// Whether all listening sockets, and a few connections, fit under the limit of descriptors.
fn ensure_room(options: &ServerOptions, threads: usize) -> Result<(), Error> {
    let each = if options.transports == Transports::Both { 2 } else { 1 };
    let sockets = options.listen.len().saturating_mul(threads).saturating_mul(each);
    let wanted = u64::try_from(sockets).unwrap_or(u64::MAX);
    let allowed = limits::descriptors().soft.unwrap_or(u64::MAX).saturating_sub(RESERVE);
    if wanted > allowed { Err(Error::Descriptors { wanted, allowed }) } else { Ok(()) }
}

/// Listens at one of the addresses. If its port is 0 it is, from then on, the one that was chosen.
fn listen(
    worker: &mut Worker,
    addresses: &mut [SocketAddr],
    at: usize,
    transports: Transports,
    is_first: bool,
) -> Result<(), Error> {
    let asked = addresses[at];
    let mut opened = open(asked, transports, is_first);
    for _ in 0..CHOICES {
        match &opened {
            // What the kernel chose for TCP may be taken for UDP.
            Err(Error::Listen { source, .. })
                if asked.port() == 0 && source.kind() == io::ErrorKind::AddrInUse =>
            {
                opened = open(asked, transports, is_first);
            }
            _ => break,
        }
    }
    let (address, sockets) = opened?;
    addresses[at] = address;
    for (socket, kind) in sockets {
        worker.listen(socket, kind, at).map_err(|errno| Error::System {
            what: "watch a listening socket",
            source: errno.into(),
        })?;
    }
    Ok(())
}

/// The sockets at one address, all at the same port; and the address with that port.
fn open(
    mut address: SocketAddr,
    transports: Transports,
    is_first: bool,
) -> Result<(SocketAddr, Vec<(OwnedFd, SocketType)>), Error> {
    let mut sockets = Vec::with_capacity(2);
    for (kind, transport, is_wanted) in [
        (SocketType::STREAM, "TCP", transports != Transports::Udp),
        (SocketType::DGRAM, "UDP", transports != Transports::Tcp),
    ] {
        if !is_wanted {
            continue;
        }
        let failed = |errno: Errno| Error::Listen { address, transport, source: errno.into() };
        let socket = socket::listen(&address, kind, is_first).map_err(failed)?;
        if let Some(own) = socket::local(&socket).filter(|_| address.port() == 0) {
            address.set_port(own.port());
        }
        sockets.push((socket, kind));
    }
    Ok((address, sockets))
}
