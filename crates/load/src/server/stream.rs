//! What carries the bytes of a connection: the kernel's socket, or a host's own connection.

use std::{io::IoSlice, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown},
};

/// A stream of bytes each way that never waits.
pub(super) trait Stream {
    /// Takes the first bytes, and then the second; says how many.
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<usize, Failure>;

    /// Reads into the buffer; 0 after the last byte.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure>;

    /// Nothing more will be written.
    fn finish(&mut self) -> Result<(), Failure>;
}

/// Why nothing was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// There is nothing to read, or no room.
    Blocked,
    /// Nothing: it is to be tried again.
    Interrupted,
    /// The other end has reset the connection.
    Reset,
    /// Something else, after which the connection is of no use.
    Other,
}

/// The kernel's.
pub(super) struct Socket<'a>(pub(super) &'a OwnedFd);

impl Stream for Socket<'_> {
    /// One system call for both, if there is something of both.
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<usize, Failure> {
        let sent = if first.is_empty() || second.is_empty() {
            let some = if first.is_empty() { second } else { first };
            send(self.0, some, SendFlags::NOSIGNAL)
        } else {
            let both = [IoSlice::new(first), IoSlice::new(second)];
            sendmsg(self.0, &both, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
        };
        sent.map_err(failure)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        recv(self.0, buffer, RecvFlags::empty()).map(|(_, count)| count).map_err(failure)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        shutdown(self.0, Shutdown::Write).map_err(failure)
    }
}

fn failure(errno: Errno) -> Failure {
    match errno {
        Errno::AGAIN => Failure::Blocked,
        Errno::INTR => Failure::Interrupted,
        Errno::CONNRESET | Errno::PIPE => Failure::Reset,
        _ => Failure::Other,
    }
}
