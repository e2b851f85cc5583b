//! What a worker does in each mode, behind one set of calls.

use std::time::Instant;

use rustix::event::epoll::EventFlags;

use super::{connections::Connections, datagrams::Datagrams, run::Run, slots::Slots};
use crate::Mode;

pub(super) enum Job {
    Connections(Connections),
    Datagrams(Datagrams),
}

impl Job {
    /// With so many slots.
    pub(super) fn new(run: &mut Run, count: u32) -> Self {
        match run.options.mode {
            Mode::Connect | Mode::Request => Self::Connections(Connections::new(run, count)),
            Mode::Udp => Self::Datagrams(Datagrams::new(run, count)),
        }
    }

    /// Establishes one persistent connection, before the run begins.
    pub(super) fn establish(&mut self, run: &mut Run) {
        match self {
            Self::Connections(job) => job.establish(run),
            Self::Datagrams(_) => {}
        }
    }

    /// Starts what was meant to begin at `intended`; whether there was a slot for it.
    pub(super) fn start(&mut self, run: &mut Run, intended: Instant, now: Instant) -> bool {
        match self {
            Self::Connections(job) => job.start(run, intended, now),
            Self::Datagrams(job) => job.start(run, intended, now),
        }
    }

    pub(super) fn handle(&mut self, run: &mut Run, slot: u32, flags: EventFlags) {
        match self {
            Self::Connections(job) => job.handle(run, slot, flags),
            Self::Datagrams(job) => job.handle(run, slot),
        }
    }

    /// Ends what has waited too long.
    pub(super) fn expire(&mut self, run: &mut Run, now: Instant) {
        while let Some((slot, at)) = run.deadlines.first()
            && at <= now
        {
            run.deadlines.leave(slot);
            match self {
                Self::Connections(job) => job.expire(run, slot),
                Self::Datagrams(job) => job.expire(run, slot),
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

    pub(super) fn slots(&self) -> &Slots {
        match self {
            Self::Connections(job) => job.slots(),
            Self::Datagrams(job) => job.slots(),
        }
    }
}
