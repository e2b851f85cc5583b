//! SYNs that wait to be sent together.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::AsFd,
    time::Duration,
};

use portolan_sys::{address::Destination, clock, datagrams::Outbox, error_queue, raw::Family};
use rustix::io::Errno;

use super::{
    flights::{Flight, Heard},
    refused,
    segment::{PACKET_BYTES_MAX, Template},
};
use crate::Id;

/// An outbox, and whose SYNs are in it, in the same order.
#[derive(Debug)]
pub struct Outgoing {
    template: Template,
    /// Whether they begin with the TCP header, and the kernel adds that of IP.
    bare: bool,
    outbox: Outbox<PACKET_BYTES_MAX>,
    /// `None` where the check is over meanwhile.
    whose: Vec<Option<(Id, SocketAddr)>>,
    /// What the kernel refused to send, until somebody listens.
    refused: Vec<Heard>,
    /// What the kernel had no room for, until somebody takes it back.
    unsent: Vec<Id>,
    /// Since when it has had none; `None` if it had, the last time.
    no_room_since: Option<Duration>,
}

impl Outgoing {
    /// None yet; `bare` if they are to begin with the TCP header.
    ///
    /// # Errors
    /// Never: there is room for a SYN.
    pub fn new(family: Family, bare: bool) -> io::Result<Self> {
        let source = match family {
            Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
        };
        let template = Template::of(source).map_err(io::Error::other)?;
        let (outbox, whose, refused) = (Outbox::default(), Vec::new(), Vec::new());
        Ok(Self { template, bare, outbox, whose, refused, unsent: Vec::new(), no_room_since: None })
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Whether the next SYN has to wait for [`flush`](Self::flush).
    pub fn is_full(&self) -> bool {
        self.outbox.is_full()
    }

    /// Takes in the SYN of `flight`, question number `attempt`, to be sent by way of `to`.
    pub fn push(&mut self, id: Id, flight: &Flight, attempt: u8, to: &Destination) {
        let Self { template, bare, .. } = self;
        self.outbox.push(to, |buffer| template.write(flight, attempt, *bare, buffer));
        self.whose.push(Some((id, flight.target)));
    }

    /// Sends what waits. What the kernel refuses is an answer; what it has no room for comes back
    /// by [`take_unsent`](Self::take_unsent), unless that has lasted.
    pub fn flush(&mut self, fd: impl AsFd) {
        let mut errors = 0;
        while !self.outbox.is_empty() {
            let error = match self.outbox.send(&fd) {
                Ok(sent) => {
                    self.whose.drain(..sent);
                    self.no_room_since = None;
                    continue;
                }
                Err(error) => Errno::from_io_error(&error).unwrap_or(Errno::IO),
            };
            // It may be about something that was sent long ago.
            if drain_errors(&fd) && errors < ERRORS_MAX {
                errors += 1;
                continue;
            }
            if error == Errno::INTR {
                continue;
            }
            if matches!(error, Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) {
                let now = clock::coarse();
                let since = *self.no_room_since.get_or_insert(now);
                if now.saturating_sub(since) < PATIENCE {
                    self.unsent.extend(self.whose.drain(..).flatten().map(|(id, _)| id));
                    self.outbox.clear();
                    return;
                }
            }
            self.refuse_first(error);
        }
    }

    /// Hands over whose question was not sent.
    pub fn take_unsent(&mut self, each: &mut dyn FnMut(Id)) {
        if !self.unsent.is_empty() {
            self.unsent.drain(..).for_each(each);
        }
    }

    fn refuse_first(&mut self, errno: Errno) {
        let whose = self.whose.remove(0);
        self.outbox.drop_first();
        self.refused.extend(
            whose.map(|(id, target)| Heard::Answer(id, refused(errno.raw_os_error(), target))),
        );
    }

    /// Hands over what was refused.
    pub fn hear(&mut self, each: &mut dyn FnMut(Heard)) {
        if !self.refused.is_empty() {
            self.refused.drain(..).for_each(each);
        }
    }

    /// The check is over: what was refused about it concerns nobody.
    pub fn forget(&mut self, id: Id) {
        if self.whose.is_empty() && self.refused.is_empty() && self.unsent.is_empty() {
            return;
        }
        self.unsent.retain(|of| *of != id);
        for whose in &mut self.whose {
            whose.take_if(|(of, _)| *of == id);
        }
        self.refused.retain(|heard| !matches!(heard, Heard::Answer(of, _) if *of == id));
    }
}

/// Takes what is in the error queue of a socket, a bounded number of entries; whether there was
/// anything. What ICMP says is heard by a socket of its own.
pub fn drain_errors(fd: impl AsFd) -> bool {
    let has_one = || matches!(error_queue::receive(&fd, &mut []), Ok(Some(_)));
    (0..ERRORS_MAX).take_while(|_| has_one()).count() > 0
}

/// Entries of an error queue that are taken at once, and how often that is tried.
const ERRORS_MAX: u32 = 64;

/// How long the kernel may have no room before it counts as a refusal. It makes some in its table
/// of neighbours after 5 seconds (`neigh_forced_gc` in net/core/neighbour.c).
const PATIENCE: Duration = Duration::from_secs(15);
