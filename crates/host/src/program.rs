//! What runs on a queue's thread: the poll style of programming.

use std::net::IpAddr;

use portolan_stack::{Event, Instant, Stack, UdpId, tcp};
use tcp::{ConnectionId, ListenerId};

use crate::Error;

/// A program that lives on the thread of one queue, and shares nothing with others: every method
/// has the stack for itself, without locks. None may wait for anything.
pub trait Program {
    /// Before the first frame: the moment to listen and to bind.
    ///
    /// # Errors
    /// Whatever keeps it from working; the host does not begin then.
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Error>;

    /// Data in order has come to a connection that has nothing unread: it may be taken where it
    /// lies in the device's frame. Returns how many bytes were; what was not is kept, and told by
    /// [`tcp::Ready::READABLE`]. For what was taken there is no event: what follows from it is done
    /// in [`Program::turn`].
    fn data(&mut self, connection: ConnectionId, bytes: &[u8]) -> usize {
        let _ = (connection, bytes);
        0
    }

    /// Something happened.
    fn event(&mut self, context: &mut Context<'_>, event: Event);

    /// All that came was told: the last thing before frames leave and the thread waits. Also called
    /// when [`Remote::wake`](crate::Remote::wake) was.
    fn turn(&mut self, context: &mut Context<'_>) -> Next {
        let _ = context;
        Next::Wait
    }

    /// The host ends: first [`Ending::Orderly`], and if connections are left after the time of
    /// [`Config::grace`](crate::Config), [`Ending::AtOnce`].
    fn end(&mut self, context: &mut Context<'_>, how: Ending);
}

/// How a host ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing new is taken, and connections are closed: what was written still goes out.
    Orderly,
    /// Connections are aborted: the others get RST.
    AtOnce,
}

/// When a program has its next turn, if nothing happens before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something happens.
    Wait,
    /// At this moment.
    At(Instant),
    /// At once, after frames came and went.
    Again,
}

/// What a program works with.
pub struct Context<'a> {
    /// The queue's stack.
    pub stack: &'a mut Stack,
    /// The moment, as all verbs of the stack want it.
    pub now: Instant,
    /// Which of the host's queues this is, from 0.
    pub queue: usize,
}

impl Context<'_> {
    /// Takes connections to a port, at one address or at all. With several queues, each listens:
    /// the host hands every connection to one of them.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub fn listen(
        &mut self,
        address: Option<IpAddr>,
        port: u16,
        backlog: usize,
    ) -> Result<ListenerId, Error> {
        let opened = self.stack.tcp().listen(address, port, backlog);
        opened.map_err(|source| Error::Listen { address, port, source })
    }

    /// Binds a UDP port, at one address or at all.
    ///
    /// # Errors
    /// [`Error::Bind`].
    pub fn bind(&mut self, address: Option<IpAddr>, port: u16) -> Result<UdpId, Error> {
        let bound = self.stack.udp_bind(address, port);
        bound.map_err(|source| Error::Bind { address, port, source })
    }
}
