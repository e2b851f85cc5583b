//! The server's connections: reads requests, writes responses.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    event::epoll::EventFlags,
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};

use super::counters::Counters;
use crate::deadlines::position;

/// How many bytes are read or written at once.
const PIECE: usize = 65_536;

/// How often one connection is read before others have their turn.
const READS_IN_TURN: usize = 4;

/// How often one connection is written to before others have their turn.
const WRITES_IN_TURN: usize = 16;

pub(super) struct Connections {
    request_bytes: u64,
    response_bytes: u64,
    slots: Vec<Option<Connection>>,
    free: Vec<u32>,
    read: Box<[u8]>,
    written: Box<[u8]>,
}

struct Connection {
    socket: OwnedFd,
    /// Which of the server's addresses it came to.
    port: usize,
    /// Bytes of a request that has not come whole.
    partial: u64,
    /// Bytes of responses that the kernel has not taken.
    owed: u64,
}

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    /// When there is something to read.
    Reading,
    /// When there is room for the rest of a response; nothing is read meanwhile.
    Writing,
    /// It does not.
    Ended,
}

impl Goes {
    pub(super) fn waits_for(self) -> Option<EventFlags> {
        match self {
            Self::Reading => Some(EventFlags::IN),
            Self::Writing => Some(EventFlags::OUT),
            Self::Ended => None,
        }
    }
}

impl Connections {
    pub(super) fn new(request_bytes: u32, response_bytes: u32) -> Self {
        let buffer = || vec![0; PIECE].into_boxed_slice();
        Self {
            request_bytes: u64::from(request_bytes.max(1)),
            response_bytes: response_bytes.into(),
            slots: Vec::new(),
            free: Vec::new(),
            read: buffer(),
            written: buffer(),
        }
    }

    /// There are never more than descriptors, so the numbers suffice.
    pub(super) fn insert(&mut self, socket: OwnedFd, port: usize) -> u32 {
        let connection = Some(Connection { socket, port, partial: 0, owed: 0 });
        if let Some(slot) = self.free.pop() {
            self.slots[position(slot)] = connection;
            return slot;
        }
        self.slots.push(connection);
        u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn socket(&self, slot: u32) -> Option<BorrowedFd<'_>> {
        self.slots.get(position(slot))?.as_ref().map(|connection| connection.socket.as_fd())
    }

    /// What the connection waits for now.
    pub(super) fn waited_for(&self, slot: u32) -> Option<Goes> {
        let connection = self.slots.get(position(slot))?.as_ref()?;
        Some(if connection.owed > 0 { Goes::Writing } else { Goes::Reading })
    }

    pub(super) fn close(&mut self, slot: u32, counters: &[Counters]) {
        let taken = self.slots.get_mut(position(slot)).and_then(Option::take);
        if let Some(connection) = taken {
            counters[connection.port].closed.add(1);
            self.free.push(slot);
        }
    }

    /// Reads what there is and answers it.
    pub(super) fn serve(&mut self, slot: u32, counters: &[Counters]) -> Goes {
        let goes = self.go_on(slot, counters);
        if goes == Goes::Ended {
            self.close(slot, counters);
        }
        goes
    }

    fn go_on(&mut self, slot: u32, counters: &[Counters]) -> Goes {
        let Some(Some(connection)) = self.slots.get_mut(position(slot)) else { return Goes::Ended };
        let counters = &counters[connection.port];
        for _ in 0..READS_IN_TURN {
            match write_owed(connection, &self.written, counters) {
                Ok(true) => {}
                Ok(false) => return Goes::Writing,
                Err(errno) => return ended(errno, counters),
            }
            let count = match recv(&connection.socket, &mut *self.read, RecvFlags::empty()) {
                Ok((_, 0)) => return Goes::Ended,
                Ok((_, count)) => count,
                Err(Errno::AGAIN) => return Goes::Reading,
                Err(Errno::INTR) => continue,
                Err(errno) => return ended(errno, counters),
            };
            let bytes = u64::try_from(count).unwrap_or(0);
            counters.bytes_received.add(bytes);
            let requests = (connection.partial + bytes) / self.request_bytes;
            connection.partial = (connection.partial + bytes) % self.request_bytes;
            connection.owed += requests * self.response_bytes;
            counters.requests.add(requests);
            if count < PIECE {
                break;
            }
        }
        match write_owed(connection, &self.written, counters) {
            Ok(true) => Goes::Reading,
            Ok(false) => Goes::Writing,
            Err(errno) => ended(errno, counters),
        }
    }
}

/// Writes what is owed, as far as the kernel takes it in one turn; whether that was all.
fn write_owed(
    connection: &mut Connection,
    bytes: &[u8],
    counters: &Counters,
) -> Result<bool, Errno> {
    for _ in 0..WRITES_IN_TURN {
        if connection.owed == 0 {
            break;
        }
        let piece = usize::try_from(connection.owed).unwrap_or(PIECE).min(PIECE);
        match send(&connection.socket, &bytes[..piece], SendFlags::NOSIGNAL) {
            Ok(count) => {
                let count = u64::try_from(count).unwrap_or(0);
                connection.owed -= count;
                counters.bytes_sent.add(count);
            }
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(connection.owed == 0)
}

fn ended(errno: Errno, counters: &Counters) -> Goes {
    match errno {
        Errno::CONNRESET | Errno::PIPE => counters.reset.add(1),
        _ => counters.errors.add(1),
    }
    Goes::Ended
}
