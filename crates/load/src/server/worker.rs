//! One thread of the server: its listeners, its connections, its epoll.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::epoll::EventFlags,
    io::Errno,
    net::{SocketFlags, SocketType, accept_with},
    time::{ClockId, clock_gettime},
};

use super::{
    Serve,
    connections::{Connections, Goes},
    counters::Tally,
    datagrams::Datagrams,
    service::Service,
};
use crate::{
    Stop,
    deadlines::position,
    poll::{self, Poll, Token},
    socket,
};

/// Once it is to end, it does when nothing came for this long.
const QUIET: Duration = Duration::from_millis(20);

/// Once it is to end, it does after this time at the latest.
const SETTLING_MAX: Duration = Duration::from_secs(1);

/// How many connections are accepted from one listener before others have their turn.
const ACCEPTED_IN_TURN: usize = 64;

/// How often connections are looked at that keep HTTP waiting.
const SWEEP: Duration = Duration::from_secs(1);

/// How often the thread's CPU time is asked for, while it has any.
const CPU_READ_NS: u64 = 50_000_000;

pub(super) struct Worker {
    poll: Poll,
    stop: Stop,
    listeners: Vec<Listener>,
    /// Of each of the server's addresses.
    services: Arc<[Service]>,
    connections: Connections<OwnedFd>,
    /// Connections that had their turn and could go on.
    queue: Vec<u32>,
    datagrams: Datagrams,
    tally: Arc<Tally>,
    timeout: u32,
    swept_at: u32,
    cpu_read_at: u64,
    has_http: bool,
    /// From this number on descriptors are no connection's. Each thread has one of them, to take
    /// connections off the queue for which there is none: it would else stay readable for ever.
    descriptors_end: RawFd,
    /// The same for when the whole host has no more.
    spare: Option<OwnedFd>,
}

struct Listener {
    socket: OwnedFd,
    kind: SocketType,
    /// Which of the server's addresses it is at.
    port: usize,
}

impl Worker {
    pub(super) fn new(
        places: &[Serve],
        timeout: Duration,
        stop: &Stop,
        descriptors_end: RawFd,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.add(stop, Token::Stop, EventFlags::IN)?;
        let services: Arc<[Service]> = places.iter().map(|place| place.service).collect();
        Ok(Self {
            poll,
            stop: stop.clone(),
            listeners: Vec::new(),
            has_http: services.iter().any(|service| matches!(service, Service::Http { .. })),
            services,
            connections: Connections::new(),
            queue: Vec::new(),
            datagrams: Datagrams::new(),
            tally: Arc::new(Tally::new(places.len())),
            timeout: u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX),
            swept_at: 0,
            cpu_read_at: 0,
            descriptors_end,
            spare: spare(stop),
        })
    }

    pub(super) fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// Serves what comes to `socket`, at the server's address of that number.
    pub(super) fn listen(
        &mut self,
        socket: OwnedFd,
        kind: SocketType,
        port: usize,
    ) -> Result<(), Errno> {
        let nth = u32::try_from(self.listeners.len()).map_err(|_too_many| Errno::NFILE)?;
        self.poll.add(&socket, Token::Listener(nth), EventFlags::IN)?;
        self.listeners.push(Listener { socket, kind, port });
        Ok(())
    }

    /// Serves until it is to end.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = poll::no_events();
        let mut give_up_at: Option<Instant> = None;
        loop {
            self.note_time();
            let longest = match give_up_at {
                _ if !self.queue.is_empty() => Some(Duration::ZERO),
                Some(_) => Some(QUIET),
                None => self.has_http.then_some(SWEEP),
            };
            let count = self.poll.wait(&mut events, longest)?;
            let is_quiet = count == 0 && self.queue.is_empty();
            if give_up_at.is_some_and(|at| is_quiet || Instant::now() >= at) {
                self.tally.cpu_ns.set(nanoseconds(socket::thread_cpu()));
                return Ok(());
            }
            for event in &events[..count] {
                match poll::read(event) {
                    (Token::Stop, _) => {
                        self.poll.remove(&self.stop);
                        give_up_at = Some(Instant::now() + SETTLING_MAX);
                    }
                    (Token::Listener(nth), _) => self.come(position(nth)),
                    // There are none here.
                    (Token::Gate, _) => {}
                    // An event of a connection that is gone since is at worst one for who has its
                    // slot now, who then finds nothing to read.
                    (Token::Slot(slot), happened) => self.serve(slot, happened),
                }
            }
            for slot in std::mem::take(&mut self.queue) {
                self.connections.dequeue(slot);
                self.serve(slot, EventFlags::empty());
            }
        }
    }

    /// Looks at the clock, and does what is to be done from time to time.
    fn note_time(&mut self) {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        let seconds = u32::try_from(now.tv_sec).unwrap_or(0);
        let nanoseconds_now = u64::from(seconds) * 1_000_000_000 + now.tv_nsec.unsigned_abs();
        if nanoseconds_now.saturating_sub(self.cpu_read_at) >= CPU_READ_NS {
            self.cpu_read_at = nanoseconds_now;
            self.tally.cpu_ns.set(nanoseconds(socket::thread_cpu()));
        }
        if self.has_http {
            let date = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
            self.connections.set_time(seconds, u64::try_from(date).unwrap_or(0));
            if seconds != self.swept_at {
                self.swept_at = seconds;
                self.connections.sweep(self.timeout, &self.tally.ports, drop);
            }
        }
    }

    /// Something came to a listener.
    fn come(&mut self, nth: usize) {
        let Some(listener) = self.listeners.get(nth) else { return };
        let port = listener.port;
        let counters = &self.tally.ports[port];
        if listener.kind == SocketType::DGRAM {
            return self.datagrams.answer(&listener.socket, self.services[port], counters);
        }
        for _ in 0..ACCEPTED_IN_TURN {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match accept_with(&self.listeners[nth].socket, flags) {
                // The kernel gives out the lowest number that is free: all below are in use.
                Ok(connection) if connection.as_raw_fd() >= self.descriptors_end => {
                    self.turned_away(port);
                }
                Ok(connection) => self.accepted(connection, port),
                Err(Errno::AGAIN) => return,
                // Gone before it was accepted, or something on its way that accept(2) passes on.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => {}
                Err(Errno::MFILE | Errno::NFILE) => return self.turn_away(nth),
                Err(_) => return self.tally.ports[port].errors.add(1),
            }
        }
    }

    fn accepted(&mut self, connection: OwnedFd, port: usize) {
        self.tally.ports[port].accepted.add(1);
        let service = self.services[port];
        let port = u32::try_from(port).unwrap_or(u32::MAX);
        let slot = self.connections.insert(connection, port, service);
        // The request is often there already, so epoll is not asked first.
        let goes = self.connections.serve(slot, EventFlags::empty(), &self.tally.ports);
        let Some(connection) = self.connections.socket(slot) else { return };
        if self.poll.add(connection, Token::Slot(slot), READ).is_err() {
            self.tally.ports[position(port)].errors.add(1);
            return drop(self.connections.close(slot, &self.tally.ports));
        }
        self.arrange(slot, goes);
    }

    fn serve(&mut self, slot: u32, happened: EventFlags) {
        let goes = self.connections.serve(slot, happened, &self.tally.ports);
        self.arrange(slot, goes);
    }

    /// Sees to it that the connection goes on. It is watched by edges: epoll is told once, and
    /// again only if the other end reads slower than it is answered.
    fn arrange(&mut self, slot: u32, goes: Goes) {
        match goes {
            Goes::Reading | Goes::Ended => {}
            Goes::Again => {
                if self.connections.enqueue(slot) {
                    self.queue.push(slot);
                }
            }
            Goes::Writing => {
                if !self.connections.arm_to_write(slot) {
                    return;
                }
                let Some(connection) = self.connections.socket(slot) else { return };
                let flags = READ | EventFlags::OUT;
                if self.poll.change(connection, Token::Slot(slot), flags).is_err() {
                    drop(self.connections.close(slot, &self.tally.ports));
                }
            }
        }
    }

    /// There is no descriptor for a connection: takes it off the queue all the same, and closes it.
    fn turn_away(&mut self, nth: usize) {
        let Listener { ref socket, port, .. } = self.listeners[nth];
        drop(self.spare.take());
        if accept_with(socket, SocketFlags::CLOEXEC).is_ok() {
            self.turned_away(port);
        }
        self.spare = spare(&self.stop);
    }

    fn turned_away(&self, port: usize) {
        let counters = &self.tally.ports[port];
        counters.accepted.add(1);
        counters.turned_away.add(1);
        counters.closed.add(1);
    }
}

const READ: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

fn spare(of: &Stop) -> Option<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(of, 0).ok()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
