//! Waiting for sockets and for time: epoll(7).

use std::{io, os::fd::AsFd, os::fd::OwnedFd, time::Duration};

use rustix::{
    event::{
        PollFd, PollFlags, Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
        poll,
    },
    io::Errno,
};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// Somebody asked for the end.
    Stop,
    /// A moment that was waited for is known.
    Gate,
    /// A listener, or a server's socket for datagrams.
    Listener(u32),
    /// A slot: a connection, or a client's socket for datagrams.
    Slot(u32),
}

/// Room for what one wait brings. An event may hold a pointer, so it stays on its thread.
pub(crate) type Events = [Event; EVENTS];

/// How many events are fetched at once.
pub(crate) const EVENTS: usize = 256;

/// Shorter waits are exact to microseconds, by way of ppoll(2) on the epoll: `epoll_pwait(2)`
/// counts in milliseconds, so that who is to be on time would be half of one late on average.
const FINE_NS: i64 = 20_000_000;

pub(crate) fn no_events() -> Events {
    [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS]
}

/// What the event is about, and what happened.
pub(crate) fn read(event: &Event) -> (Token, EventFlags) {
    let Event { flags, data } = *event;
    (Token::of(data.u64()), flags)
}

#[derive(Debug)]
pub(crate) struct Poll(OwnedFd);

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(CreateFlags::CLOEXEC)?))
    }

    pub(crate) fn add(&self, fd: impl AsFd, token: Token, flags: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.0, fd, EventData::new_u64(token.number()), flags)
    }

    pub(crate) fn change(
        &self,
        fd: impl AsFd,
        token: Token,
        flags: EventFlags,
    ) -> Result<(), Errno> {
        epoll::modify(&self.0, fd, EventData::new_u64(token.number()), flags)
    }

    pub(crate) fn remove(&self, fd: impl AsFd) {
        // What is not in it need not be removed.
        let _ = epoll::delete(&self.0, fd);
    }

    /// Waits for events, at most this long; how many there are.
    pub(crate) fn wait(&self, events: &mut Events, longest: Option<Duration>) -> io::Result<usize> {
        let timespec = |it: Duration| Timespec {
            tv_sec: i64::try_from(it.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: it.subsec_nanos().into(),
        };
        let mut longest = longest.map(timespec);
        if let Some(time) =
            longest.filter(|it| it.tv_sec == 0 && (1..FINE_NS).contains(&it.tv_nsec))
        {
            longest = Some(timespec(Duration::ZERO));
            let count = self.wait_for(events, longest.as_ref())?;
            let mut own = [PollFd::new(&self.0, PollFlags::IN)];
            if count > 0 || matches!(poll(&mut own, Some(&time)), Ok(0) | Err(_)) {
                return Ok(count);
            }
        }
        self.wait_for(events, longest.as_ref())
    }

    fn wait_for(&self, events: &mut Events, longest: Option<&Timespec>) -> io::Result<usize> {
        match epoll::wait(&self.0, &mut events[..], longest) {
            Ok(count) => Ok(count),
            Err(Errno::INTR) => Ok(0),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Token {
    const STOP: u64 = u64::MAX;
    const GATE: u64 = u64::MAX - 1;
    const LISTENER: u64 = 1 << 32;

    fn number(self) -> u64 {
        match self {
            Self::Stop => Self::STOP,
            Self::Gate => Self::GATE,
            Self::Listener(nth) => Self::LISTENER | u64::from(nth),
            Self::Slot(nth) => u64::from(nth),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "the lower half is the number")]
    fn of(number: u64) -> Self {
        match number {
            Self::STOP => Self::Stop,
            Self::GATE => Self::Gate,
            _ if number & Self::LISTENER != 0 => Self::Listener(number as u32),
            _ => Self::Slot(number as u32),
        }
    }
}
