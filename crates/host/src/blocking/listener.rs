//! A listener's handle.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

use super::{
    connection::Connection,
    mailbox::{Mailbox, Order},
    pipe,
};
use crate::shared::lock;

/// Takes connections to a port, on all queues of the host. Dropping it closes the port; connections
/// that were not accepted are closed as well.
#[derive(Debug)]
pub struct Listener {
    line: Arc<Line>,
    mailboxes: Vec<Arc<Mailbox>>,
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
    pub(super) fn new(mailboxes: Vec<Arc<Mailbox>>, backlog: usize) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { line: Arc::new(Line { state, changed, backlog }), mailboxes }
    }

    pub(super) fn line(&self) -> Arc<Line> {
        Arc::clone(&self.line)
    }

    /// Waits for the next connection. Several threads may.
    ///
    /// # Errors
    /// `NotConnected` when the host has ended.
    pub fn accept(&self) -> io::Result<Connection> {
        let mut state = lock(&self.line.state);
        let accepted = loop {
            match state.waiting.pop_front() {
                Some(connection) => break connection,
                None if state.has_host_ended => return Err(pipe::ended()),
                None => {
                    let changed = &self.line.changed;
                    state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
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
