//! SYNs that wait to be sent together.

use std::{net::SocketAddr, os::fd::AsFd};

use portolan_sys::{address::Destination, datagrams::Outbox};
use rustix::io::Errno;

use super::{
    flights::{Flights, Heard},
    refused,
    routes::Route,
    segment::{self, PACKET_BYTES_MAX},
};
use crate::{Asked, Id};

/// An outbox, and whose SYNs are in it, in the same order.
#[derive(Debug, Default)]
pub struct Outgoing {
    outbox: Outbox<PACKET_BYTES_MAX>,
    /// `None` where the check is over meanwhile.
    whose: Vec<Option<(Id, SocketAddr)>>,
    /// What the kernel refused to send, until somebody listens.
    refused: Vec<Heard>,
}

impl Outgoing {
    /// Whether the next SYN has to wait for [`flush`](Self::flush).
    pub fn is_full(&self) -> bool {
        self.outbox.is_full()
    }

    /// Takes in a SYN to `target`, to be sent by way of `to`.
    pub fn ask(
        &mut self,
        flights: &mut Flights,
        id: Id,
        target: SocketAddr,
        route: &Route,
        to: &Destination,
    ) -> Asked {
        let Some((flight, attempt)) = flights.launch(id, target, route.source) else {
            return Asked::Busy;
        };
        // The buffer is as long as the longest.
        let write = |buffer: &mut [u8]| segment::write(&flight, attempt, buffer).unwrap_or(0);
        self.outbox.push(to, write);
        self.whose.push(Some((id, target)));
        Asked::Sent
    }

    /// Sends as much as the kernel takes now. What it refuses for good is an answer; what it has
    /// no room for stays.
    pub fn flush(&mut self, fd: impl AsFd) {
        while !self.outbox.is_empty() {
            match self.outbox.send(&fd) {
                Ok(sent) => drop(self.whose.drain(..sent)),
                Err(error) => {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    if matches!(errno, Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::INTR) {
                        return;
                    }
                    let whose = self.whose.remove(0);
                    self.outbox.drop_first();
                    self.refused.extend(whose.map(|(id, target)| {
                        Heard::Answer(id, refused(errno.raw_os_error(), target))
                    }));
                }
            }
        }
    }

    /// Hands over what was refused.
    pub fn hear(&mut self, each: &mut dyn FnMut(Heard)) {
        self.refused.drain(..).for_each(each);
    }

    /// The check is over: what was refused about it concerns nobody.
    pub fn forget(&mut self, id: Id) {
        for whose in &mut self.whose {
            whose.take_if(|(of, _)| *of == id);
        }
        self.refused.retain(|heard| !matches!(heard, Heard::Answer(of, _) if *of == id));
    }
}
