//! The client's connections: short-lived ones, persistent ones with some requests under way on
//! each, and those that are only held. What they carry is in `connections/transfer.rs`.

mod endings;
mod flights;
mod transfer;
mod verify;

use std::time::Instant;

use rustix::{event::epoll::EventFlags, net::sockopt};

use super::{
    open::{Socket, open},
    protocol::Protocol,
    run::Run,
    slots::Slots,
};
use crate::{Mode, counts::ErrorKind, deadlines::position, poll::Token};
use flights::{Flight, Flights, Ring};

/// In mode `hold` at most so many connections are established at a time, by one thread.
const HANDSHAKES_MAX: u32 = 1_024;

pub(super) struct Connections {
    kind: Kind,
    depth: u32,
    all: Box<[Connection]>,
    flights: Flights,
    slots: Slots,
    protocol: Protocol,
    read: Box<[u8]>,
    written: Vec<u8>,
    /// Connections that have requests to send, once all that are due have begun and others have
    /// had their turn.
    unsent: Vec<u32>,
    /// Connections from which there may be something to read that epoll does not tell of: those
    /// that had their turn, and short-lived ones whose response may be there before epoll is asked:
    /// then it need not know of them at all.
    unread: Vec<u32>,
    /// Connections that are being established.
    handshakes: u32,
    proof: verify::Proof,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Closed after so many requests.
    Short { requests: u32 },
    /// Used again and again.
    Persistent,
    /// Opened and kept.
    Held,
}

struct Connection {
    socket: Option<Socket>,
    /// The target that it is connected to.
    home: u32,
    phase: Phase,
    /// Epoll tells what happens to it.
    is_watched: bool,
    /// It stands in the list of that name.
    is_unsent: bool,
    is_unread: bool,
    /// Requests that are still to be begun, of a short-lived one.
    requests_left: u32,
    /// How many places of [`Slots`] it has taken.
    places: u32,
    /// When `connect(2)` was called.
    begun: Instant,
    ring: Ring,
    /// Bytes of the response that have come.
    received: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Connecting,
    Open,
}

impl Connections {
    /// `count` of them; persistent ones have a target each, by turns.
    pub(super) fn new(run: &mut Run, count: u32) -> Self {
        let options = &run.options;
        let kind = match options.mode {
            Mode::Hold => Kind::Held,
            _ if options.is_persistent() => Kind::Persistent,
            Mode::Http => Kind::Short { requests: 1 },
            _ => Kind::Short { requests: options.requests },
        };
        let protocol = Protocol::new(options, count);
        let depth = if kind == Kind::Persistent { options.depth } else { 1 };
        let now = Instant::now();
        let connection = |_| Connection {
            socket: None,
            home: if matches!(kind, Kind::Short { .. }) { 0 } else { run.routes.next_target() },
            phase: Phase::Closed,
            is_watched: false,
            is_unsent: false,
            is_unread: false,
            requests_left: 0,
            places: 0,
            begun: now,
            ring: Ring::default(),
            received: 0,
        };
        Self {
            kind,
            depth,
            all: (0..count).map(connection).collect(),
            flights: Flights::new(count, depth, now),
            slots: Slots::new(count, depth),
            protocol,
            read: vec![0; transfer::PIECE].into(),
            written: Vec::with_capacity(transfer::PIECE),
            unsent: Vec::with_capacity(position(count)),
            unread: Vec::with_capacity(position(count)),
            handshakes: 0,
            proof: verify::Proof::default(),
        }
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Connections that are being established.
    pub(super) fn handshakes(&self) -> u32 {
        self.handshakes
    }

    /// When something can be started without anything else happening; `None` if it cannot be.
    pub(super) fn free_at(&self, now: Instant) -> Option<Instant> {
        let has_room = self.kind != Kind::Held || self.handshakes < HANDSHAKES_MAX;
        self.slots.free_at(now).filter(|_| has_room)
    }

    /// Establishes a persistent connection before its first request, in the next slot.
    pub(super) fn establish(&mut self, run: &mut Run) {
        let Some(slot) = self.slots.take(Instant::now()) else { return };
        self.all[position(slot)].places += 1;
        if self.all[position(slot)].phase == Phase::Closed {
            self.open(run, slot);
        }
    }

    /// Starts a connection or a request that was meant to begin at `intended`; whether there was
    /// room for it.
    pub(super) fn start(&mut self, run: &mut Run, intended: Instant, now: Instant) -> bool {
        if self.kind == Kind::Held && self.handshakes >= HANDSHAKES_MAX {
            return false;
        }
        let Some(slot) = self.slots.take(now) else { return false };
        run.tally.started(intended, now);
        let connection = &mut self.all[position(slot)];
        connection.places += 1;
        match self.kind {
            Kind::Held => {}
            Kind::Persistent => self.add(run, slot, intended, now),
            Kind::Short { requests } => {
                connection.home = run.routes.next_target();
                connection.requests_left = requests;
                if requests > 0 {
                    self.add(run, slot, intended, now);
                }
            }
        }
        match self.all[position(slot)].phase {
            Phase::Closed => self.open(run, slot),
            Phase::Connecting => {}
            // Of several that are due, one call sends all.
            Phase::Open if self.depth > 1 => self.send_later(slot),
            Phase::Open => {
                self.send_all(run, slot);
            }
        }
        true
    }

    /// Sends what was begun and not sent yet, and reads what came to connections of this turn.
    pub(super) fn flush(&mut self, run: &mut Run) {
        // What is added meanwhile has its turn the next time.
        let unread = self.unread.len();
        for nth in 0..unread {
            let slot = self.unread[nth];
            self.all[position(slot)].is_unread = false;
            if self.all[position(slot)].phase == Phase::Open {
                self.receive(run, slot, EventFlags::IN);
                self.watch(run, slot);
            }
        }
        self.unread.drain(..unread);
        let unsent = self.unsent.len();
        for nth in 0..unsent {
            let slot = self.unsent[nth];
            self.all[position(slot)].is_unsent = false;
            if self.all[position(slot)].phase == Phase::Open {
                self.send_all(run, slot);
            }
        }
        self.unsent.drain(..unsent);
    }

    /// Whether [`Self::flush`] has something to do that no event tells of.
    pub(super) fn is_unfinished(&self) -> bool {
        !(self.unread.is_empty() && self.unsent.is_empty())
    }

    fn send_later(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.all[position(slot)].is_unsent, true) {
            self.unsent.push(slot);
        }
    }

    fn read_later(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.all[position(slot)].is_unread, true) {
            self.unread.push(slot);
        }
    }

    /// Something happened to a connection.
    pub(super) fn handle(&mut self, run: &mut Run, slot: u32, flags: EventFlags) {
        let Some(connection) = self.all.get(position(slot)) else { return };
        match connection.phase {
            Phase::Closed => {}
            Phase::Connecting => {
                self.handshake(run, slot, flags);
                // One that speaks first may have told with the same event.
                if self.all[position(slot)].phase == Phase::Open
                    && flags.intersects(EventFlags::IN | transfer::OVER)
                {
                    self.receive(run, slot, flags);
                }
            }
            Phase::Open => {
                let is_open = connection.ring.unsent == 0 || self.send_all(run, slot);
                if is_open && flags.intersects(EventFlags::IN | transfer::OVER) {
                    self.receive(run, slot, flags);
                }
            }
        }
    }

    /// The deadline of that number is over.
    pub(super) fn expire(&mut self, run: &mut Run, number: u32) {
        self.fail(run, self.flights.slot(number), ErrorKind::TimedOut);
    }

    /// Appends a request; it begins now if the connection is open, else when it is.
    fn add(&mut self, run: &mut Run, slot: u32, intended: Instant, now: Instant) {
        let connection = &mut self.all[position(slot)];
        let target = run.next_request(connection.home);
        let flight = Flight { target, intended, begun: now };
        let number = self.flights.push(slot, &mut connection.ring, flight);
        if connection.phase == Phase::Open {
            run.counts(target).requests += 1;
            run.wait(number, now);
            if connection.ring.count == 1 {
                connection.received = 0;
                self.protocol.begin_response(slot, target);
            }
        }
    }

    fn open(&mut self, run: &mut Run, slot: u32) {
        let connection = &mut self.all[position(slot)];
        connection.phase = Phase::Connecting;
        self.handshakes += 1;
        run.counts(connection.home).attempted += 1;
        let opened = match open(run, connection.home) {
            Ok(opened) => opened,
            Err(kind) => return self.fail(run, slot, kind),
        };
        connection.begun = opened.at;
        connection.socket = Some(opened.socket);
        connection.is_watched = false;
        if !opened.is_established {
            run.wait(self.flights.handshake(slot), opened.at);
            self.watch(run, slot);
            return;
        }
        self.established(run, slot);
        let is_open = self.all[position(slot)].phase == Phase::Open;
        if is_open && matches!(self.kind, Kind::Short { .. }) {
            self.read_later(slot);
        } else {
            self.watch(run, slot);
        }
    }

    /// Lets epoll tell what happens from now on, and what has: edges, so one call is enough for the
    /// connection's life.
    fn watch(&mut self, run: &mut Run, slot: u32) {
        let connection = &mut self.all[position(slot)];
        let Some(socket) = connection.socket.as_ref().filter(|_| !connection.is_watched) else {
            return;
        };
        connection.is_watched = true;
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
        run.deadlines.leave(self.flights.handshake(slot));
        self.handshakes -= 1;
        let connection = &mut self.all[position(slot)];
        connection.phase = Phase::Open;
        run.counts(connection.home).connected += 1;
        run.tally.measured.connect.record(now.saturating_duration_since(connection.begun));
        for nth in 0..connection.ring.count {
            let (number, flight) = self.flights.get(slot, &connection.ring, nth);
            flight.begun = now;
            run.counts(flight.target).requests += 1;
            run.wait(number, now);
            if nth == 0 {
                connection.received = 0;
                self.protocol.begin_response(slot, flight.target);
            }
        }
        match self.kind {
            _ if self.all[position(slot)].ring.count > 0 => {
                self.send_all(run, slot);
            }
            Kind::Held => run.tally.completed(now),
            Kind::Persistent => self.give_back(slot),
            Kind::Short { .. } => {
                run.tally.completed(now);
                self.close(run, slot);
            }
        }
    }
}
