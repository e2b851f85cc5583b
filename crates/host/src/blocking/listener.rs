//! A listener's handle.

use std::{
    collections::VecDeque,
    io,
    net::IpAddr,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use super::{
    connection::Connection,
    mailbox::{Mailbox, Order},
    pipe::{self, Patience},
};
use crate::shared::lock;

/// Takes connections to a port, on all queues of the host. Dropping it closes the port; connections
/// that were not accepted are closed as well.
#[derive(Debug)]
pub struct Listener {
    line: Arc<Line>,
    mailboxes: Vec<Arc<Mailbox>>,
    place: (Option<IpAddr>, u16),
    patience: Patience,
}

/// Connections that wait to be accepted.
#[derive(Debug)]
pub(super) struct Line {
    state: Mutex<State>,
    changed: Condvar,
    backlog: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Connection>,
    /// A stack has more, for which there was no room.
    is_starved: bool,
    is_closed: bool,
    has_host_ended: bool,
}

impl Listener {
    pub(super) fn new(
        mailboxes: Vec<Arc<Mailbox>>,
        place: (Option<IpAddr>, u16),
        backlog: usize,
    ) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let line = Arc::new(Line { state, changed, backlog });
        Self { line, mailboxes, place, patience: Patience::default() }
    }

    /// Where it listens: the address, if it is one alone, and the port.
    #[must_use]
    pub fn local(&self) -> (Option<IpAddr>, u16) {
        self.place
    }

    /// How long [`accept`](Self::accept) waits at most; for ever, if there is no time, and not at
    /// all with [`Duration::ZERO`]. Holds for calls that begin after it.
    pub fn set_timeout(&self, longest: Option<Duration>) {
        self.patience.set(longest);
    }

    pub(super) fn line(&self) -> Arc<Line> {
        Arc::clone(&self.line)
    }

    /// Waits for the next connection. Several threads may.
    ///
    /// # Errors
    /// `NotConnected` when the host has ended, `TimedOut`.
    pub fn accept(&self) -> io::Result<Connection> {
        let deadline = self.patience.deadline();
        let mut state = lock(&self.line.state);
        let accepted = loop {
            match state.waiting.pop_front() {
                Some(connection) => break connection,
                None if state.has_host_ended => return Err(pipe::ended()),
                None => state = pipe::wait(&self.line.changed, state, deadline)?,
            }
        };
        let has_room = state.waiting.len() <= self.line.backlog / 2;
        if has_room && std::mem::take(&mut state.is_starved) {
            drop(state);
            self.order();
        }
        Ok(accepted)
    }

    fn order(&self) {
        for mailbox in &self.mailboxes {
            // Where the host has ended there is nothing to be done.
            let _ = mailbox.order(Order::Accept(Arc::clone(&self.line)));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let waiting = {
            let mut state = lock(&self.line.state);
            state.is_closed = true;
            std::mem::take(&mut state.waiting)
        };
        self.order();
        // Each locks another mailbox's mutex, so not under ours.
        drop(waiting);
    }
}

impl Line {
    pub(super) fn backlog(&self) -> usize {
        self.backlog
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }

    /// Whether another connection may be pushed; if not, the handle asks for it later.
    pub(super) fn has_room(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_starved = state.waiting.len() >= self.backlog;
        !state.is_starved
    }

    /// Adds one; it is given back when nobody accepts any more.
    pub(super) fn push(&self, connection: Connection) -> Option<Connection> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Some(connection);
        }
        state.waiting.push_back(connection);
        self.changed.notify_one();
        None
    }

    pub(super) fn end(&self) {
        lock(&self.state).has_host_ended = true;
        self.changed.notify_all();
    }
}
