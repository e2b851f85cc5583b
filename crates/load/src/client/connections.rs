//! The client's connections, short-lived or persistent: one request under way at a time.

use std::{os::fd::OwnedFd, time::Instant};

use rustix::{
    event::epoll::EventFlags,
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send, sockopt},
};

use super::{open::open, run::Run, slots::Slots};
use crate::{Mode, counts::ErrorKind, deadlines::position, poll::Token};

/// How many bytes are read at once.
const PIECE: usize = 65_536;

/// Nothing more will come.
const OVER: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

pub(super) struct Connections {
    is_persistent: bool,
    all: Vec<Connection>,
    slots: Slots,
    request: Box<[u8]>,
    response_bytes: usize,
    read: Box<[u8]>,
}

struct Connection {
    socket: Option<OwnedFd>,
    target: u32,
    phase: Phase,
    /// When what is under way was meant to begin.
    intended: Instant,
    /// When it did: the connection, then the request.
    begun: Instant,
    requests_left: u32,
    sent: usize,
    received: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Connecting,
    /// Established, without a request.
    Idle,
    /// A request is under way.
    Busy,
}

/// How a request goes on.
enum Step {
    Wait,
    Complete,
    Failed(ErrorKind),
}

impl Connections {
    /// `count` of them; persistent ones have a target each, by turns.
    pub(super) fn new(run: &mut Run, count: u32) -> Self {
        let options = &run.options;
        let bytes = |count: u32| usize::try_from(count).unwrap_or(0);
        let is_persistent = options.mode == Mode::Request;
        let (request, response_bytes) =
            (bytes(options.request_bytes), bytes(options.response_bytes));
        let now = Instant::now();
        let connection = |_| Connection {
            socket: None,
            target: if is_persistent { run.routes.next_target() } else { 0 },
            phase: Phase::Closed,
            intended: now,
            begun: now,
            requests_left: 0,
            sent: 0,
            received: 0,
        };
        Self {
            is_persistent,
            all: (0..count).map(connection).collect(),
            slots: Slots::new(count),
            request: vec![0; request].into(),
            response_bytes,
            read: vec![0; PIECE].into(),
        }
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Establishes a persistent connection before its first request, in the next slot.
    pub(super) fn establish(&mut self, run: &mut Run) {
        let Some(slot) = self.slots.take(Instant::now()) else { return };
        self.all[position(slot)].requests_left = 0;
        self.open(run, slot);
    }

    /// Starts a connection or a request that was meant to begin at `intended`; whether there was a
    /// slot for it.
    pub(super) fn start(&mut self, run: &mut Run, intended: Instant, now: Instant) -> bool {
        let Some(slot) = self.slots.take(now) else { return false };
        run.tally.started(intended, now);
        let connection = &mut self.all[position(slot)];
        connection.intended = intended;
        if self.is_persistent {
            connection.requests_left = 1;
        } else {
            connection.requests_left = run.options.requests;
            connection.target = run.routes.next_target();
        }
        if connection.phase == Phase::Idle {
            self.begin(run, slot, now);
            self.go_on(run, slot, EventFlags::OUT);
        } else {
            self.open(run, slot);
        }
        true
    }

    /// Something happened to a connection.
    pub(super) fn handle(&mut self, run: &mut Run, slot: u32, flags: EventFlags) {
        let Some(connection) = self.all.get(position(slot)) else { return };
        match connection.phase {
            Phase::Closed => {}
            Phase::Connecting => self.handshake(run, slot, flags),
            Phase::Idle => self.unasked(run, slot),
            Phase::Busy => self.go_on(run, slot, flags),
        }
    }

    /// The slot has waited too long.
    pub(super) fn expire(&mut self, run: &mut Run, slot: u32) {
        self.fail(run, slot, ErrorKind::TimedOut);
    }

    /// The run is over: closes all.
    pub(super) fn finish(&mut self, run: &mut Run) {
        for connection in &mut self.all {
            let counts = run.counts(connection.target);
            match connection.phase {
                Phase::Closed => {}
                Phase::Connecting => counts.connects_given_up += 1,
                Phase::Idle => counts.closed += 1,
                Phase::Busy => {
                    counts.requests_given_up += 1;
                    counts.closed += 1;
                }
            }
            connection.socket = None;
            connection.phase = Phase::Closed;
        }
    }

    fn open(&mut self, run: &mut Run, slot: u32) {
        let connection = &mut self.all[position(slot)];
        connection.phase = Phase::Connecting;
        run.counts(connection.target).attempted += 1;
        let opened = match open(run, connection.target) {
            Ok(opened) => opened,
            Err(kind) => return self.fail(run, slot, kind),
        };
        connection.begun = opened.at;
        connection.socket = Some(opened.socket);
        if opened.is_established {
            self.established(run, slot);
        } else {
            run.wait(slot, opened.at);
        }
        self.watch(run, slot);
    }

    /// Lets epoll tell what happens from now on, and what has: edges, so one call is enough for the
    /// connection's life.
    fn watch(&mut self, run: &mut Run, slot: u32) {
        let Some(socket) = &self.all[position(slot)].socket else { return };
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if let Err(errno) = run.poll.add(socket, Token::Slot(slot), flags) {
            self.fail(run, slot, ErrorKind::of(errno));
        }
    }

    fn handshake(&mut self, run: &mut Run, slot: u32, flags: EventFlags) {
        let Some(socket) = &self.all[position(slot)].socket else { return };
        match sockopt::socket_error(socket) {
            Ok(Err(errno)) | Err(errno) => self.fail(run, slot, ErrorKind::of(errno)),
            Ok(Ok(())) if flags.contains(EventFlags::HUP) => {
                self.fail(run, slot, ErrorKind::Reset);
            }
            Ok(Ok(())) if flags.contains(EventFlags::OUT) => self.established(run, slot),
            Ok(Ok(())) => {}
        }
    }

    fn established(&mut self, run: &mut Run, slot: u32) {
        let now = Instant::now();
        let connection = &mut self.all[position(slot)];
        connection.phase = Phase::Idle;
        run.deadlines.leave(slot);
        run.counts(connection.target).connected += 1;
        run.tally.measured.connect.record(now.saturating_duration_since(connection.begun));
        if connection.requests_left > 0 {
            self.begin(run, slot, now);
            self.go_on(run, slot, EventFlags::OUT);
        } else {
            self.done(run, slot, now, EventFlags::empty());
        }
    }

    fn begin(&mut self, run: &mut Run, slot: u32, now: Instant) {
        let connection = &mut self.all[position(slot)];
        connection.phase = Phase::Busy;
        connection.begun = now;
        (connection.sent, connection.received) = (0, 0);
        run.counts(connection.target).requests += 1;
        run.wait(slot, now);
    }

    /// Goes on with the request, and with those after it.
    fn go_on(&mut self, run: &mut Run, slot: u32, flags: EventFlags) {
        let mut may_read = flags.intersects(OVER | EventFlags::IN);
        loop {
            match self.step(run, slot, flags, may_read) {
                Step::Wait => return,
                Step::Failed(kind) => return self.fail(run, slot, kind),
                Step::Complete => {}
            }
            let now = Instant::now();
            let connection = &mut self.all[position(slot)];
            run.deadlines.leave(slot);
            run.counts(connection.target).responses += 1;
            run.tally.responded(connection.intended, connection.begun, now);
            if self.is_persistent {
                run.tally.completed(now);
            }
            connection.phase = Phase::Idle;
            connection.requests_left -= 1;
            if connection.requests_left == 0 {
                return self.done(run, slot, now, flags);
            }
            connection.intended = now;
            self.begin(run, slot, now);
            // Its response makes an edge, unless the other end has said all.
            may_read = flags.intersects(OVER);
        }
    }

    fn step(&mut self, run: &mut Run, slot: u32, flags: EventFlags, may_read: bool) -> Step {
        let connection = &mut self.all[position(slot)];
        let Some(socket) = &connection.socket else { return Step::Failed(ErrorKind::Other) };
        let counts = run.counts(connection.target);
        while connection.sent < self.request.len() {
            match send(socket, &self.request[connection.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => {
                    connection.sent += count;
                    counts.bytes_sent += u64::try_from(count).unwrap_or(0);
                }
                Err(Errno::AGAIN) => return Step::Wait,
                Err(Errno::INTR) => {}
                Err(errno) => return Step::Failed(ErrorKind::of(errno)),
            }
        }
        if self.response_bytes == 0 {
            return Step::Complete;
        }
        if !may_read {
            return Step::Wait;
        }
        loop {
            match recv(socket, &mut *self.read, RecvFlags::empty()) {
                Ok((_, 0)) => return Step::Failed(ErrorKind::ClosedEarly),
                Ok((_, count)) => {
                    connection.received += count;
                    counts.bytes_received += u64::try_from(count).unwrap_or(0);
                    if connection.received > self.response_bytes {
                        return Step::Failed(ErrorKind::Unexpected);
                    } else if connection.received == self.response_bytes {
                        return Step::Complete;
                    } else if count < PIECE && !flags.intersects(OVER) {
                        return Step::Wait;
                    }
                }
                Err(Errno::AGAIN) => return Step::Wait,
                Err(Errno::INTR) => {}
                Err(errno) => return Step::Failed(ErrorKind::of(errno)),
            }
        }
    }

    /// All that was to be done with the connection for now is done.
    fn done(&mut self, run: &mut Run, slot: u32, now: Instant, flags: EventFlags) {
        let connection = &mut self.all[position(slot)];
        if !self.is_persistent {
            connection.socket = None;
            connection.phase = Phase::Closed;
            run.counts(connection.target).closed += 1;
            run.tally.completed(now);
        } else if flags.intersects(OVER) {
            connection.socket = None;
            connection.phase = Phase::Closed;
            run.counts(connection.target).lost += 1;
        }
        self.slots.give_back(slot);
    }

    /// An idle connection ended, or something came that nobody asked for.
    fn unasked(&mut self, run: &mut Run, slot: u32) {
        let connection = &mut self.all[position(slot)];
        let Some(socket) = &connection.socket else { return };
        match recv(socket, &mut *self.read, RecvFlags::empty()) {
            Err(Errno::AGAIN | Errno::INTR) => return,
            Ok((_, count)) => {
                let bytes = u64::try_from(count).unwrap_or(0);
                run.counts(connection.target).bytes_received += bytes;
            }
            Err(_) => {}
        }
        // It stays free: the next request establishes a new one.
        connection.socket = None;
        connection.phase = Phase::Closed;
        run.counts(connection.target).lost += 1;
    }

    fn fail(&mut self, run: &mut Run, slot: u32, kind: ErrorKind) {
        let connection = &mut self.all[position(slot)];
        let counts = run.counts(connection.target);
        match connection.phase {
            Phase::Closed => return,
            Phase::Connecting => counts.connect_errors.add(kind),
            Phase::Idle => counts.lost += 1,
            Phase::Busy => {
                counts.request_errors.add(kind);
                counts.lost += 1;
            }
        }
        let was_free = connection.phase == Phase::Idle;
        connection.socket = None;
        connection.phase = Phase::Closed;
        run.deadlines.leave(slot);
        if was_free {
            return;
        }
        if self.is_persistent || matches!(kind, ErrorKind::Shortage | ErrorKind::NoSourcePort) {
            self.slots.rest(slot, Instant::now());
        } else {
            self.slots.give_back(slot);
        }
    }
}
