//! One thread of the server: its listeners, its connections, its epoll.

use std::{
    io,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::epoll::EventFlags,
    io::Errno,
    net::{SocketFlags, SocketType, accept_with},
};

use super::{
    connections::{Connections, Goes},
    counters::Counters,
    datagrams::Datagrams,
};
use crate::{
    ServerOptions, Stop,
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

pub(super) struct Worker {
    poll: Poll,
    stop: Stop,
    listeners: Vec<Listener>,
    connections: Connections,
    datagrams: Datagrams,
    counters: Arc<[Counters]>,
    /// A descriptor to give up when there are no more: a connection can then be taken off the
    /// queue, which would else stay readable for ever.
    spare: Option<OwnedFd>,
}

struct Listener {
    socket: OwnedFd,
    kind: SocketType,
    /// Which of the server's addresses it is at.
    port: usize,
}

impl Worker {
    pub(super) fn new(options: &ServerOptions, stop: &Stop, ports: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.add(stop, Token::Stop, EventFlags::IN)?;
        Ok(Self {
            poll,
            stop: stop.clone(),
            listeners: Vec::new(),
            connections: Connections::new(options.request_bytes, options.response_bytes),
            datagrams: Datagrams::new(options.response_bytes),
            counters: (0..ports).map(|_| Counters::default()).collect(),
            spare: spare(stop),
        })
    }

    pub(super) fn counters(&self) -> Arc<[Counters]> {
        Arc::clone(&self.counters)
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

    /// Serves until it is to end; the CPU time of the thread.
    pub(super) fn run(mut self) -> io::Result<Duration> {
        let mut events = poll::no_events();
        let mut give_up_at: Option<Instant> = None;
        loop {
            let count = self.poll.wait(&mut events, give_up_at.map(|_| QUIET))?;
            if give_up_at.is_some_and(|at| count == 0 || Instant::now() >= at) {
                return Ok(socket::thread_cpu());
            }
            for event in &events[..count] {
                match poll::read(event) {
                    (Token::Stop, _) => {
                        self.poll.remove(&self.stop);
                        give_up_at = Some(Instant::now() + SETTLING_MAX);
                    }
                    (Token::Listener(nth), _) => self.come(position(nth)),
                    // No slot is taken anew while an event of who had it before is in `events`:
                    // each connection has one event there, and is closed by nothing else.
                    (Token::Slot(slot), _) => self.serve(slot),
                }
            }
        }
    }

    /// Something came to a listener.
    fn come(&mut self, nth: usize) {
        let Some(listener) = self.listeners.get(nth) else { return };
        let port = listener.port;
        if listener.kind == SocketType::DGRAM {
            return self.datagrams.answer(&listener.socket, &self.counters[port]);
        }
        for _ in 0..ACCEPTED_IN_TURN {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match accept_with(&self.listeners[nth].socket, flags) {
                Ok(connection) => self.accepted(connection, port),
                Err(Errno::AGAIN) => return,
                // Gone before it was accepted, or something on its way that accept(2) passes on.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => {}
                Err(Errno::MFILE | Errno::NFILE) => return self.turn_away(nth),
                Err(_) => return self.counters[port].errors.add(1),
            }
        }
    }

    fn accepted(&mut self, connection: OwnedFd, port: usize) {
        self.counters[port].accepted.add(1);
        let slot = self.connections.insert(connection, port);
        // The request is often there already, so epoll is not asked first.
        let goes = self.connections.serve(slot, &self.counters);
        let Some(flags) = goes.waits_for() else { return };
        let Some(connection) = self.connections.socket(slot) else { return };
        if self.poll.add(connection, Token::Slot(slot), flags).is_err() {
            self.counters[port].errors.add(1);
            self.connections.close(slot, &self.counters);
        }
    }

    fn serve(&mut self, slot: u32) {
        let waited = self.connections.waited_for(slot);
        let goes: Goes = self.connections.serve(slot, &self.counters);
        let Some(flags) = goes.waits_for().filter(|_| Some(goes) != waited) else { return };
        let Some(connection) = self.connections.socket(slot) else { return };
        if self.poll.change(connection, Token::Slot(slot), flags).is_err() {
            self.connections.close(slot, &self.counters);
        }
    }

    /// There is no descriptor for a connection: takes it off the queue all the same, and closes it.
    fn turn_away(&mut self, nth: usize) {
        let Listener { ref socket, port, .. } = self.listeners[nth];
        drop(self.spare.take());
        if accept_with(socket, SocketFlags::CLOEXEC).is_ok() {
            let counters = &self.counters[port];
            counters.accepted.add(1);
            counters.turned_away.add(1);
            counters.closed.add(1);
        }
        self.spare = spare(&self.stop);
    }
}

fn spare(of: &Stop) -> Option<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(of, 0).ok()
}
