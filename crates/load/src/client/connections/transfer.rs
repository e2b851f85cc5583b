//! What the client's connections carry: requests, and responses in the same order.

use std::{mem, time::Instant};

use rustix::{
    event::epoll::EventFlags,
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};

use super::{Connections, Kind, Phase};
use crate::{client::run::Run, counts::ErrorKind, deadlines::position};

/// How many bytes are read or written at once.
pub(super) const PIECE: usize = 65_536;

/// So many pieces, or requests that nobody answers, one connection reads or sends before others,
/// deadlines and the end of the run have their turn.
const IN_TURN: u32 = 64;

/// Nothing more will come.
pub(super) const OVER: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

impl Connections {
    /// Sends what is to be sent, as far as the kernel takes it; whether the connection is still
    /// open.
    pub(super) fn send_all(&mut self, run: &mut Run, slot: u32) -> bool {
        for _ in 0..IN_TURN {
            let is_full = match self.send(run, slot) {
                Ok(is_full) => is_full,
                Err(kind) => {
                    self.fail(run, slot, kind);
                    return false;
                }
            };
            if self.protocol.has_responses() {
                return true;
            }
            // Without a response, what is sent is done.
            let now = Instant::now();
            loop {
                let ring = self.all[position(slot)].ring;
                if ring.count == ring.unsent {
                    break;
                }
                if !self.complete(run, slot, now, None) {
                    return false;
                }
            }
            if is_full || self.all[position(slot)].ring.unsent == 0 {
                return true;
            }
        }
        self.send_later(slot);
        true
    }

    /// Sends; whether the kernel takes no more for now.
    fn send(&mut self, run: &mut Run, slot: u32) -> Result<bool, ErrorKind> {
        let connection = &mut self.all[position(slot)];
        let ring = &mut connection.ring;
        let Some(socket) = &connection.socket else { return Err(ErrorKind::Other) };
        while ring.unsent > 0 {
            let first = ring.count - ring.unsent;
            let (_, flight) = self.flights.get(slot, ring, first);
            let request = &self.protocol.request(flight.target)[ring.sent_bytes..];
            let bytes = if ring.unsent == 1 || request.len() >= PIECE {
                request
            } else {
                self.written.clear();
                self.written.extend_from_slice(request);
                for nth in first + 1..ring.count {
                    let (_, flight) = self.flights.get(slot, ring, nth);
                    let request = self.protocol.request(flight.target);
                    if self.written.len() + request.len() > PIECE {
                        break;
                    }
                    self.written.extend_from_slice(request);
                }
                &self.written[..]
            };
            let mut count = match send(socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => count,
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(ErrorKind::of(errno)),
            };
            while count > 0 && ring.unsent > 0 {
                let (_, flight) = self.flights.get(slot, ring, ring.count - ring.unsent);
                let left = self.protocol.request(flight.target).len() - ring.sent_bytes;
                let taken = count.min(left);
                run.counts(flight.target).bytes_sent += u64::try_from(taken).unwrap_or(0);
                count -= taken;
                ring.sent_bytes += taken;
                if taken == left {
                    ring.unsent -= 1;
                    ring.sent_bytes = 0;
                }
            }
        }
        Ok(false)
    }

    /// Reads what has come.
    pub(super) fn receive(&mut self, run: &mut Run, slot: u32, flags: EventFlags) {
        let is_over = flags.intersects(OVER);
        // Taken out, so that the rest can be changed meanwhile; nothing is allocated.
        let mut read = mem::take(&mut self.read);
        let mut pieces = 0;
        while let Some(socket) = &self.all[position(slot)].socket {
            if pieces == IN_TURN {
                self.read_later(slot);
                break;
            }
            pieces += 1;
            match recv(socket, &mut *read, RecvFlags::empty()) {
                Ok((_, 0)) => {
                    self.ended(run, slot);
                    break;
                }
                Ok((_, count)) => {
                    let count = count.min(read.len());
                    if !self.read(run, slot, &read[..count]) {
                        break;
                    }
                    // A piece that is not full was all there is.
                    if count < PIECE && !is_over {
                        break;
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    self.fail(run, slot, ErrorKind::of(errno));
                    break;
                }
            }
        }
        self.read = read;
    }

    /// Takes bytes that came; whether the connection is still open.
    fn read(&mut self, run: &mut Run, slot: u32, mut bytes: &[u8]) -> bool {
        let now = Instant::now();
        while !bytes.is_empty() {
            let connection = &mut self.all[position(slot)];
            let ring = connection.ring;
            let count = |bytes: usize| u64::try_from(bytes).unwrap_or(0);
            // HTTP may be answered before it is asked for completely: a body that is too large.
            let is_early = ring.count == ring.unsent;
            if is_early && !(ring.sent_bytes > 0 && self.protocol.may_be_early()) {
                // Nobody has asked for it.
                let has_asked = ring.count > 0;
                run.counts(connection.home).bytes_received += count(bytes.len());
                let kind = if has_asked { ErrorKind::Unexpected } else { ErrorKind::ClosedEarly };
                self.fail(run, slot, kind);
                return false;
            }
            let (_, flight) = self.flights.get(slot, &ring, 0);
            let (target, begun) = (flight.target, flight.begun);
            if connection.received == 0 {
                let waited = now.saturating_duration_since(begun);
                run.tally.measured.first_byte.record(waited);
            }
            let taken = self.protocol.take(slot, target, connection.received, bytes);
            let used = taken.as_ref().map_or(bytes.len(), |taken| taken.used);
            connection.received += used;
            run.counts(target).bytes_received += count(used);
            bytes = &bytes[used..];
            let taken = match taken {
                Ok(taken) if !taken.is_whole => continue,
                // More came than was asked for.
                Ok(_) if !bytes.is_empty() && ring.count - ring.unsent <= 1 => {
                    run.counts(target).bytes_received += count(bytes.len());
                    self.fail(run, slot, ErrorKind::Unexpected);
                    return false;
                }
                Ok(taken) => taken,
                Err(kind) => {
                    self.fail(run, slot, kind);
                    return false;
                }
            };
            if !self.complete(run, slot, now, taken.wrong) {
                return false;
            }
            if is_early || !taken.is_persistent {
                self.close(run, slot);
                return false;
            }
        }
        self.all[position(slot)].ring.unsent == 0 || self.send_all(run, slot)
    }

    /// The oldest request is done, or was answered wrongly: goes on with what is next; whether the
    /// connection is still open.
    fn complete(
        &mut self,
        run: &mut Run,
        slot: u32,
        now: Instant,
        wrong: Option<ErrorKind>,
    ) -> bool {
        let connection = &mut self.all[position(slot)];
        let Some((number, flight)) = self.flights.pop(slot, &mut connection.ring) else {
            return false;
        };
        run.deadlines.leave(number);
        connection.received = 0;
        if let Some(kind) = wrong {
            run.counts(flight.target).request_errors.add(kind);
        } else {
            run.counts(flight.target).responses += 1;
            run.tally.responded(flight.intended, flight.begun, now);
        }
        if connection.ring.count > 0 {
            let (_, next) = self.flights.get(slot, &connection.ring, 0);
            self.protocol.begin_response(slot, next.target);
        }
        match self.kind {
            Kind::Held => self.proof.answered(run, wrong.is_none()),
            Kind::Persistent => {
                if wrong.is_none() {
                    run.tally.completed(now);
                }
                self.give_back(slot);
            }
            Kind::Short { .. } => {
                connection.requests_left -= 1;
                if connection.requests_left == 0 {
                    run.tally.completed(now);
                    self.close(run, slot);
                    return false;
                }
                self.add(run, slot, now, now);
            }
        }
        true
    }

    /// The other end has closed the connection in order.
    fn ended(&mut self, run: &mut Run, slot: u32) {
        let connection = &mut self.all[position(slot)];
        if connection.ring.count == 0 {
            return self.fail(run, slot, ErrorKind::ClosedEarly);
        }
        let (_, flight) = self.flights.get(slot, &connection.ring, 0);
        match self.protocol.end(slot, flight.target) {
            Ok(wrong) => {
                if self.complete(run, slot, Instant::now(), wrong)
                    && self.all[position(slot)].phase == Phase::Open
                {
                    self.close(run, slot);
                }
            }
            Err(kind) => self.fail(run, slot, kind),
        }
    }
}
