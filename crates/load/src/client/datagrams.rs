//! The client's sockets for datagrams: one round trip under way at a time.

use std::{os::fd::OwnedFd, time::Instant};

use rustix::{
    event::epoll::EventFlags,
    io::Errno,
    net::{RecvFlags, SendFlags, SocketType, bind, connect, recvfrom, send, sendto},
};

use super::{routes::is_same, run::Run, slots::Slots};
use crate::{counts::ErrorKind, deadlines::position, poll::Token, server::TAG, socket};

pub(super) struct Datagrams {
    all: Vec<Socket>,
    slots: Slots,
    request: Box<[u8]>,
    response_bytes: usize,
    read: Box<[u8]>,
}

struct Socket {
    socket: Option<OwnedFd>,
    /// The target that it is connected to, or for which it was made.
    home: u32,
    /// The target of the round trip.
    target: u32,
    is_busy: bool,
    /// Number of the round trip: stands in the request, and in its response.
    tag: u64,
    intended: Instant,
    begun: Instant,
}

impl Datagrams {
    pub(super) fn new(run: &mut Run, count: u32) -> Self {
        let bytes = |count: u32| usize::try_from(count).unwrap_or(0);
        let now = Instant::now();
        let request = vec![0; bytes(run.options.request_bytes)].into();
        let response_bytes = bytes(run.options.response_bytes);
        let socket = |_| {
            let home = run.routes.next_target();
            let (intended, begun) = (now, now);
            Socket { socket: None, home, target: home, is_busy: false, tag: 0, intended, begun }
        };
        Self {
            all: (0..count).map(socket).collect(),
            slots: Slots::new(count, 1),
            request,
            response_bytes,
            read: vec![0; 65_536].into(),
        }
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Starts a round trip that was meant to begin at `intended`; whether there was a slot for it.
    pub(super) fn start(&mut self, run: &mut Run, intended: Instant, now: Instant) -> bool {
        let Some(slot) = self.slots.take(now) else { return false };
        run.tally.started(intended, now);
        let is_unconnected = run.options.unconnected;
        let socket = &mut self.all[position(slot)];
        socket.intended = intended;
        socket.begun = now;
        socket.target = if is_unconnected { run.routes.next_target() } else { socket.home };
        if socket.socket.is_none() {
            run.counts(socket.home).attempted += 1;
            match open(run, slot, socket.home) {
                Ok(opened) => socket.socket = Some(opened),
                Err(errno) => {
                    run.counts(socket.home).connect_errors.add(ErrorKind::of(errno));
                    self.slots.rest(slot, now);
                    return true;
                }
            }
            run.counts(socket.home).connected += 1;
        }
        self.send(run, slot, is_unconnected, now);
        true
    }

    fn send(&mut self, run: &mut Run, slot: u32, is_unconnected: bool, now: Instant) {
        let socket = &mut self.all[position(slot)];
        let Some(descriptor) = &socket.socket else { return };
        socket.tag = socket.tag.wrapping_add(1);
        if let Some(place) = self.request.get_mut(..TAG) {
            place.copy_from_slice(&socket.tag.to_ne_bytes());
        }
        let sent = if is_unconnected {
            let target = run.routes.target(socket.target);
            sendto(descriptor, &self.request, SendFlags::NOSIGNAL, &target)
        } else {
            send(descriptor, &self.request, SendFlags::NOSIGNAL)
        };
        socket.is_busy = true;
        let counts = run.counts(socket.target);
        counts.requests += 1;
        match sent {
            Ok(count) => {
                counts.datagrams_sent += 1;
                counts.bytes_sent += u64::try_from(count).unwrap_or(0);
                run.wait(slot, now);
                if self.response_bytes == 0 {
                    self.respond(run, slot);
                }
            }
            Err(errno) => self.fail(run, slot, ErrorKind::of(errno)),
        }
    }

    /// Something came to a socket: a datagram, or an error of one that it sent.
    pub(super) fn handle(&mut self, run: &mut Run, slot: u32) {
        let Some(socket) = self.all.get(position(slot)) else { return };
        let Some(descriptor) = &socket.socket else { return };
        let (count, source) = match recvfrom(descriptor, &mut *self.read, RecvFlags::empty()) {
            Ok((_, count, source)) => (count.min(self.read.len()), source),
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(errno) => return self.fail(run, slot, ErrorKind::of(errno)),
        };
        let source = source.and_then(|source| source.try_into().ok());
        let is_from_target = !run.options.unconnected
            || source.is_some_and(|source| is_same(&source, &run.routes.target(socket.target)));
        let target = match source {
            Some(source) if !is_from_target => run.routes.number_of(&source),
            _ => Some(socket.target),
        };
        let has_tag = self.request.len() >= TAG && self.response_bytes >= TAG;
        let is_answer = socket.is_busy
            && is_from_target
            && (!has_tag || self.read[..count].get(..TAG) == Some(&socket.tag.to_ne_bytes()));
        let counts = run.counts(target.unwrap_or(socket.home));
        counts.datagrams_received += 1;
        counts.bytes_received += u64::try_from(count).unwrap_or(0);
        if is_answer {
            self.respond(run, slot);
        } else {
            counts.datagrams_stale += 1;
        }
    }

    /// The slot has waited too long.
    pub(super) fn expire(&mut self, run: &mut Run, slot: u32) {
        self.fail(run, slot, ErrorKind::TimedOut);
    }

    /// The run is over: closes all.
    pub(super) fn finish(&mut self, run: &mut Run) {
        for socket in &mut self.all {
            if socket.is_busy {
                run.counts(socket.target).requests_given_up += 1;
                socket.is_busy = false;
            }
            if socket.socket.take().is_some() {
                run.counts(socket.home).closed += 1;
            }
        }
    }

    fn respond(&mut self, run: &mut Run, slot: u32) {
        let now = Instant::now();
        let socket = &mut self.all[position(slot)];
        socket.is_busy = false;
        run.deadlines.leave(slot);
        run.counts(socket.target).responses += 1;
        let waited = now.saturating_duration_since(socket.begun);
        run.tally.measured.first_byte.record(waited);
        run.tally.responded(socket.intended, socket.begun, now);
        run.tally.completed(now);
        self.slots.give_back(slot);
    }

    /// The round trip failed; of a socket without one, the error is of a round trip that timed out.
    fn fail(&mut self, run: &mut Run, slot: u32, kind: ErrorKind) {
        let socket = &mut self.all[position(slot)];
        if !socket.is_busy {
            return;
        }
        socket.is_busy = false;
        run.deadlines.leave(slot);
        run.counts(socket.target).request_errors.add(kind);
        if kind == ErrorKind::Shortage {
            self.slots.rest(slot, Instant::now());
        } else {
            self.slots.give_back(slot);
        }
    }
}

fn open(run: &mut Run, slot: u32, target: u32) -> Result<OwnedFd, Errno> {
    let address = run.routes.target(target);
    let socket = socket::new(&address, SocketType::DGRAM)?;
    if !run.options.sources.is_empty()
        && let Some(source) = run.routes.source_address(target)
    {
        bind(&socket, &source)?;
    }
    if !run.options.unconnected {
        connect(&socket, &address)?;
    }
    run.poll.add(&socket, Token::Slot(slot), EventFlags::IN)?;
    Ok(socket)
}
