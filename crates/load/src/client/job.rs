//! What a worker does in each mode, behind one set of calls.

use std::time::Instant;

use rustix::event::epoll::EventFlags;

use super::{connections::Connections, datagrams::Datagrams, run::Run, slots::Slots};
use crate::Mode;

#[allow(clippy::large_enum_variant, reason = "there is one for each thread")]
pub(super) enum Job {
    Connections(Connections),
    Datagrams(Datagrams),
}

impl Job {
    /// With so many slots.
    pub(super) fn new(run: &mut Run, count: u32) -> Self {
        match run.options.mode {
            Mode::Udp => Self::Datagrams(Datagrams::new(run, count)),
            _ => Self::Connections(Connections::new(run, count)),
        }
    }

    /// Establishes one persistent connection, before the run begins.
    pub(super) fn establish(&mut self, run: &mut Run) {
        match self {
            Self::Connections(job) => job.establish(run),
            Self::Datagrams(_) => {}
        }
    }

    /// Starts what was meant to begin at `intended`; whether there was room for it.
    #[inline]
    pub(super) fn start(&mut self, run: &mut Run, intended: Instant, now: Instant) -> bool {
        match self {
            Self::Connections(job) => job.start(run, intended, now),
            Self::Datagrams(job) => job.start(run, intended, now),
        }
    }

    /// Sends what was started and not sent yet.
    #[inline]
    pub(super) fn flush(&mut self, run: &mut Run) {
        match self {
            Self::Connections(job) => job.flush(run),
            Self::Datagrams(_) => {}
        }
    }

    /// Whether there is something to do that no event tells of.
    #[inline]
    pub(super) fn is_unfinished(&self) -> bool {
        match self {
            Self::Connections(job) => job.is_unfinished(),
            Self::Datagrams(_) => false,
        }
    }

    #[inline]
    pub(super) fn handle(&mut self, run: &mut Run, slot: u32, flags: EventFlags) {
        match self {
            Self::Connections(job) => job.handle(run, slot, flags),
            Self::Datagrams(job) => job.handle(run, slot),
        }
    }

    /// Ends what has waited too long.
    pub(super) fn expire(&mut self, run: &mut Run, now: Instant) {
        while let Some((number, at)) = run.deadlines.first()
            && at <= now
        {
            run.deadlines.leave(number);
            match self {
                Self::Connections(job) => job.expire(run, number),
                Self::Datagrams(job) => job.expire(run, number),
            }
        }
    }

    /// Ends all, as the run does.
    pub(super) fn finish(&mut self, run: &mut Run) {
        match self {
            Self::Connections(job) => job.finish(run),
            Self::Datagrams(job) => job.finish(run),
        }
    }

    /// When something can be started without anything else happening; `None` if it cannot be.
    pub(super) fn free_at(&self, now: Instant) -> Option<Instant> {
        match self {
            Self::Connections(job) => job.free_at(now),
            Self::Datagrams(job) => job.slots().free_at(now),
        }
    }

    /// Connections that are being established.
    pub(super) fn handshakes(&self) -> u32 {
        match self {
            Self::Connections(job) => job.handshakes(),
            Self::Datagrams(_) => 0,
        }
    }

    /// From now on, each connection that is open has to prove it.
    pub(super) fn verify(&mut self, run: &mut Run) {
        match self {
            Self::Connections(job) => job.verify(run),
            Self::Datagrams(_) => {}
        }
    }

    /// Goes on with that; whether it is not over.
    pub(super) fn is_verifying(&mut self, run: &mut Run) -> bool {
        match self {
            Self::Connections(job) => job.is_verifying(run),
            Self::Datagrams(_) => false,
        }
    }

    pub(super) fn slots(&self) -> &Slots {
        match self {
            Self::Connections(job) => job.slots(),
            Self::Datagrams(job) => job.slots(),
        }
    }
}
