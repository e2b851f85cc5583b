//! SYNs that wait to be sent together.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::AsFd,
};

use portolan_sys::{address::Destination, datagrams::Outbox, raw::Family};
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
        Ok(Self { template, bare, outbox, whose, refused })
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
        if !self.refused.is_empty() {
            self.refused.drain(..).for_each(each);
        }
    }

    /// The check is over: what was refused about it concerns nobody.
    pub fn forget(&mut self, id: Id) {
        if self.whose.is_empty() && self.refused.is_empty() {
            return;
        }
        for whose in &mut self.whose {
            whose.take_if(|(of, _)| *of == id);
        }
        self.refused.retain(|heard| !matches!(heard, Heard::Answer(of, _) if *of == id));
    }
}
