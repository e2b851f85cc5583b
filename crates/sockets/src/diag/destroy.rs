//! Closing sockets of others (`SOCK_DESTROY`, net/core/sock_diag.c and `tcp_abort` of
//! net/ipv4/tcp.c): the peer gets a reset, the program that holds the socket `ECONNABORTED`.
//!
//! It needs CAP_NET_ADMIN in the socket's namespace, and a kernel with `CONFIG_INET_DIAG_DESTROY`.

use std::{io, net::SocketAddr};

use portolan_flow::Transport;
use portolan_sys::netlink::NetlinkSocket;

use super::message::{self, Destroy};
use crate::{Error, Place, Row};

/// An answer is an error number and the request that it is about.
const ANSWER_BYTES_MAX: usize = 1024;

/// What would mean any socket with the addresses (`INET_DIAG_NOCOOKIE`).
const NO_COOKIE: u64 = u64::MAX;

/// What identifies one socket of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketId {
    /// The transport protocol.
    pub transport: Transport,
    /// The socket's own address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// Index of the interface the socket is bound to; 0 for none.
    pub interface: u32,
    /// The kernel's unique number of the socket.
    pub cookie: u64,
}

impl SocketId {
    /// Which socket this is; `None` where the row has no cookie, because the addresses alone may
    /// be another's in a moment.
    #[must_use]
    pub fn of(row: &Row) -> Option<Self> {
        let Row { transport, local, remote, interface, cookie, .. } = *row;
        let is_one = cookie != 0 && cookie != NO_COOKIE;
        is_one.then_some(Self { transport, local, remote, interface, cookie })
    }
}

/// What became of a socket that was to be closed.
#[derive(Debug)]
pub enum Ending {
    /// It was closed.
    Closed,
    /// The kernel does not find it (`ENOENT`): it ended before, or others share its addresses
    /// (`SO_REUSEPORT`) and the kernel finds one of those first.
    NotFound,
    /// The kernel does not close it: `EPERM` without CAP_NET_ADMIN; `EOPNOTSUPP` from a kernel
    /// without `CONFIG_INET_DIAG_DESTROY`, and for states that it cannot close (TIME-WAIT on some
    /// kernels).
    Refused(io::Error),
}

/// Closes sockets of one network namespace.
#[derive(Debug)]
pub struct Destroyer {
    socket: NetlinkSocket,
    buffer: Box<[u8]>,
    sequence: u32,
    place: Place,
}

impl Destroyer {
    /// Opens a netlink socket in the namespace at `place`; it stays there.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or the kernel has no sock_diag.
    pub fn open(place: &Place) -> Result<Self, Error> {
        Ok(Self {
            socket: super::connect(place)?,
            buffer: vec![0; ANSWER_BYTES_MAX].into_boxed_slice(),
            sequence: 0,
            place: place.clone(),
        })
    }

    /// Closes this socket and no other, or says why not.
    ///
    /// # Errors
    /// When the kernel cannot be asked, or does not answer.
    pub fn destroy(&mut self, socket: &SocketId) -> Result<Ending, Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = Destroy { socket, sequence: self.sequence };
        self.socket
            .send(&request.encode())
            .map_err(Error::system("ask the kernel to close a socket", self.place.to_string()))?;
        let number = self.answer()?;
        Ok(match io::Error::from_raw_os_error(number) {
            _ if number == 0 => Ending::Closed,
            error if error.kind() == io::ErrorKind::NotFound => Ending::NotFound,
            error => Ending::Refused(error),
        })
    }

    /// The error number that answers the last request; 0 for none.
    fn answer(&mut self) -> Result<i32, Error> {
        loop {
            let length = self.socket.receive(&mut self.buffer).map_err(Error::system(
                "learn whether a socket was closed",
                self.place.to_string(),
            ))?;
            for message in message::messages(&self.buffer[..length]) {
                let message = message?;
                if let Some(number) = message.answer()
                    && message.sequence == self.sequence
                {
                    return Ok(number);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
