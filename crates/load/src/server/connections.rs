//! The server's connections: reads what comes, and answers it as the address's service does.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    event::epoll::EventFlags,
    io::Errno,
    net::{RecvFlags, Shutdown, recv, shutdown},
};

use super::{
    counters::Counters,
    http::{self, Date, NEVER, Phase, Then},
    output::{Output, PIECE, Sent},
    service::Service,
};
use crate::deadlines::position;

/// Of HTTP less is read at once, because what is not answered yet may have to be kept.
const HTTP_PIECE: usize = 16_384;

/// How often one connection is read before others have their turn.
const READS_IN_TURN: usize = 4;

/// After so many bytes that were sent to one connection, others have their turn.
const SENT_IN_TURN: u64 = 1 << 20;

/// So many bytes are thrown away for a client to read why it was refused.
const LINGER_BYTES_MAX: u32 = 1 << 20;

/// The most bytes that one thread keeps for connections that read slower than they write.
const HELD_MAX: usize = 64 << 20;

pub(super) struct Connections {
    slots: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// Bytes that are kept for all of them.
    held: usize,
    buffers: Buffers,
}

/// What serves one connection after the other.
pub(super) struct Buffers {
    read: Box<[u8]>,
    filler: Box<[u8]>,
    gathered: Vec<u8>,
    date: Date,
    /// Seconds of a clock that only goes forward.
    now: u32,
}

struct Connection {
    socket: OwnedFd,
    /// Which of the server's addresses it came to.
    port: u32,
    state: State,
    output: Output,
    /// The other end has ended or reset it: there is that to be read, after the last bytes.
    has_ended: bool,
    is_armed_to_write: bool,
    is_queued: bool,
}

enum State {
    Echo,
    Fixed {
        request_bytes: u32,
        response_bytes: u32,
        /// Bytes of a request that has not come whole.
        partial: u32,
    },
    /// Apart, so that the others stay small.
    Http(Box<http::State>),
    Sink,
}

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    /// When there is something new to read.
    Reading,
    /// When there is room for the rest of a response; nothing is read meanwhile.
    Writing,
    /// At once, after others had their turn.
    Again,
    /// It does not.
    Ended,
}

impl Connections {
    pub(super) fn new() -> Self {
        let buffers = Buffers {
            read: vec![0; PIECE].into(),
            filler: vec![http::FILLER; PIECE].into(),
            gathered: Vec::with_capacity(http::GATHERED),
            date: Date::new(0),
            now: 0,
        };
        Self { slots: Vec::new(), free: Vec::new(), held: 0, buffers }
    }

    pub(super) fn set_time(&mut self, now: u32, since_1970: u64) {
        self.buffers.now = now;
        self.buffers.date.set(since_1970);
    }

    /// There are never more than descriptors, so the numbers suffice.
    pub(super) fn insert(&mut self, socket: OwnedFd, port: u32, service: Service) -> u32 {
        let connection = Some(Connection {
            socket,
            port,
            state: State::new(service),
            output: Output::default(),
            has_ended: false,
            is_armed_to_write: false,
            is_queued: false,
        });
        if let Some(slot) = self.free.pop() {
            self.slots[position(slot)] = connection;
            return slot;
        }
        self.slots.push(connection);
        u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
    }

    fn get(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(position(slot))?.as_mut()
    }

    pub(super) fn socket(&self, slot: u32) -> Option<BorrowedFd<'_>> {
        self.slots.get(position(slot))?.as_ref().map(|connection| connection.socket.as_fd())
    }

    /// Whether it was not watched for room before.
    pub(super) fn arm_to_write(&mut self, slot: u32) -> bool {
        let connection = self.get(slot);
        connection.is_some_and(|it| !std::mem::replace(&mut it.is_armed_to_write, true))
    }

    /// Whether it was not in the queue before.
    pub(super) fn enqueue(&mut self, slot: u32) -> bool {
        self.get(slot).is_some_and(|it| !std::mem::replace(&mut it.is_queued, true))
    }

    pub(super) fn dequeue(&mut self, slot: u32) {
        if let Some(connection) = self.get(slot) {
            connection.is_queued = false;
        }
    }

    pub(super) fn close(&mut self, slot: u32, counters: &[Counters]) {
        let taken = self.slots.get_mut(position(slot)).and_then(Option::take);
        if let Some(connection) = taken {
            counters[position(connection.port)].closed.add(1);
            self.held -= connection.output.held();
            self.free.push(slot);
        }
    }

    /// Closes those that keep HTTP waiting for longer than so many seconds, and less than two more:
    /// seconds are counted as they begin.
    pub(super) fn sweep(&mut self, timeout: u32, counters: &[Counters]) {
        let now = self.buffers.now;
        for slot in 0..self.slots.len() {
            let Some(Connection { state: State::Http(http), port, .. }) = &self.slots[slot] else {
                continue;
            };
            if http.waits_since != NEVER && now.saturating_sub(http.waits_since) > timeout {
                counters[position(*port)].timed_out.add(1);
                self.close(u32::try_from(slot).unwrap_or(u32::MAX), counters);
            }
        }
    }

    /// Reads what there is and answers it, after this happened to it.
    pub(super) fn serve(&mut self, slot: u32, happened: EventFlags, counters: &[Counters]) -> Goes {
        let Some(Some(connection)) = self.slots.get_mut(position(slot)) else { return Goes::Ended };
        let ends = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        connection.has_ended |= happened.intersects(ends);
        let counters_here = &counters[position(connection.port)];
        let held = connection.output.held();
        let mut goes = connection.go_on(&mut self.buffers, counters_here);
        self.held = self.held - held + connection.output.held();
        if self.held > HELD_MAX && connection.output.held() > 0 && goes != Goes::Ended {
            counters_here.turned_away.add(1);
            goes = Goes::Ended;
        }
        if goes == Goes::Ended {
            self.close(slot, counters);
        }
        goes
    }
}

impl Connection {
    fn go_on(&mut self, buffers: &mut Buffers, counters: &Counters) -> Goes {
        let State::Http(_) = self.state else { return self.turn(buffers, counters) };
        let moved =
            |counters: &Counters| (counters.bytes_received.read(), counters.bytes_sent.read());
        let before = moved(counters);
        let goes = self.turn(buffers, counters);
        let after = moved(counters);
        let is_idle = self.output.is_empty();
        if let State::Http(http) = &mut self.state {
            http.note_time(buffers.now, is_idle, before.0 != after.0, before.1 != after.1);
        }
        goes
    }

    /// Writes and reads until there is nothing more to do, or it has done enough for now.
    fn turn(&mut self, buffers: &mut Buffers, counters: &Counters) -> Goes {
        let piece = if matches!(self.state, State::Http(_)) { HTTP_PIECE } else { PIECE };
        let mut is_drained = false;
        let turn_over_at = counters.bytes_sent.read() + SENT_IN_TURN;
        for _ in 0..=READS_IN_TURN {
            if counters.bytes_sent.read() >= turn_over_at {
                return Goes::Again;
            }
            match self.output.go_on(&self.socket, &buffers.filler, counters) {
                Ok(Sent::All) => {}
                Ok(Sent::Blocked) => return Goes::Writing,
                Ok(Sent::TurnOver) => return Goes::Again,
                Err(errno) => return self.failed(errno, counters),
            }
            if let Some(input) = self.output.take_input() {
                if let Err(errno) = self.take(&input, buffers, counters) {
                    return self.failed(errno, counters);
                }
                continue;
            }
            if self.is_to_be_closed() {
                return Goes::Ended;
            }
            if is_drained {
                return Goes::Reading;
            }
            let count = match recv(&self.socket, &mut buffers.read[..piece], RecvFlags::empty()) {
                Ok((_, 0)) => return self.ended(counters),
                Ok((_, count)) => count,
                Err(Errno::AGAIN) => return Goes::Reading,
                Err(Errno::INTR) => continue,
                Err(errno) => return self.failed(errno, counters),
            };
            counters.bytes_received.add(count as u64);
            // Nothing comes after a piece that is not full, but for the end.
            is_drained = count < piece && !self.has_ended;
            let read = std::mem::take(&mut buffers.read);
            let taken = self.take(&read[..count], buffers, counters);
            buffers.read = read;
            if let Err(errno) = taken {
                return self.failed(errno, counters);
            }
        }
        Goes::Again
    }

    /// Deals with what came; nothing is to be sent when it begins.
    fn take(
        &mut self,
        mut input: &[u8],
        buffers: &mut Buffers,
        counters: &Counters,
    ) -> Result<(), Errno> {
        let Buffers { filler, gathered, date, .. } = buffers;
        let turn_over_at = counters.bytes_sent.read() + SENT_IN_TURN;
        match &mut self.state {
            State::Sink => {}
            State::Echo => {
                self.output.send(&self.socket, input, filler, counters)?;
            }
            State::Fixed { request_bytes, response_bytes, partial } => {
                let bytes = u64::from(*partial) + input.len() as u64;
                let size = u64::from(*request_bytes);
                let requests = bytes / size;
                // A remainder is smaller than what it remains of.
                *partial = u32::try_from(bytes % size).unwrap_or(0);
                self.output.owe(requests * u64::from(*response_bytes));
                counters.requests.add(requests);
            }
            State::Http(http) => {
                while !input.is_empty() && http.phase == Phase::Open {
                    gathered.clear();
                    let taken = http::take(
                        &mut http.parser,
                        http.body_bytes,
                        date,
                        input,
                        gathered,
                        counters,
                    );
                    input = &input[taken.used..];
                    http.phase = match taken.then {
                        Then::Next => Phase::Open,
                        Then::Close => Phase::Closing,
                        Then::Linger => Phase::Refused,
                    };
                    self.output.owe(taken.filler);
                    let sent = self.output.send(&self.socket, gathered, filler, counters)?;
                    if sent != Sent::All || counters.bytes_sent.read() >= turn_over_at {
                        if !input.is_empty() && http.phase == Phase::Open {
                            self.output.hold_input(input);
                        }
                        return Ok(());
                    }
                }
                if let Phase::Lingering(left) = &mut http.phase {
                    *left = left.saturating_sub(u32::try_from(input.len()).unwrap_or(u32::MAX));
                }
            }
        }
        Ok(())
    }

    /// Everything is sent: whether that was the last.
    fn is_to_be_closed(&mut self) -> bool {
        let State::Http(http) = &mut self.state else { return false };
        match http.phase {
            Phase::Open => false,
            Phase::Closing | Phase::Lingering(0) => true,
            Phase::Refused => {
                http.phase = Phase::Lingering(LINGER_BYTES_MAX);
                // Were it closed with bytes to be read, a reset would overtake the response.
                shutdown(&self.socket, Shutdown::Write).is_err()
            }
            Phase::Lingering(_) => false,
        }
    }

    /// The other end sends no more.
    fn ended(&self, counters: &Counters) -> Goes {
        counters.truncated.add(self.state.is_within_request().into());
        Goes::Ended
    }

    fn failed(&self, errno: Errno, counters: &Counters) -> Goes {
        match errno {
            Errno::CONNRESET | Errno::PIPE => {
                counters.reset.add(1);
                return self.ended(counters);
            }
            _ => counters.errors.add(1),
        }
        Goes::Ended
    }
}

impl State {
    fn new(service: Service) -> Self {
        match service {
            Service::Echo => Self::Echo,
            Service::Sink => Self::Sink,
            Service::RequestResponse { request_bytes, response_bytes } => {
                Self::Fixed { request_bytes, response_bytes, partial: 0 }
            }
            Service::Http { body_bytes } => Self::Http(Box::new(http::State::new(body_bytes))),
        }
    }

    fn is_within_request(&self) -> bool {
        match self {
            Self::Echo | Self::Sink => false,
            Self::Fixed { partial, .. } => *partial > 0,
            Self::Http(http) => http.phase == Phase::Open && !http.parser.is_idle(),
        }
    }
}

#[cfg(test)]
mod tests;
