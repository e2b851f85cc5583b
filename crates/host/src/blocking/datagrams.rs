//! A UDP port's handle.

use std::{
    collections::VecDeque,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::Duration,
};

use portolan_stack::UdpError;

use super::{
    mailbox::{Mailbox, Order},
    pipe::{self, Patience},
};
use crate::shared::lock;

/// Datagrams that wait in each direction at most, besides those in the stack.
const WAITING_MAX: usize = 256;

/// A UDP port, bound on all queues of the host. Dropping it gives the port back.
#[derive(Debug)]
pub struct Datagrams {
    post: Arc<Post>,
    mailboxes: Vec<Arc<Mailbox>>,
    place: (Option<IpAddr>, u16),
    patience: Patience,
}

/// What lies between the handle and the threads.
#[derive(Debug)]
pub(super) struct Post {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    incoming: VecDeque<Datagram>,
    outgoing: VecDeque<Datagram>,
    /// A stack has more, for which there was no room.
    is_starved: bool,
    is_closed: bool,
    has_host_ended: bool,
    is_ordered: bool,
}

/// One datagram, and whom it is from or for.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) other: SocketAddr,
    pub(super) payload: Vec<u8>,
}

impl Datagrams {
    pub(super) fn new(mailboxes: Vec<Arc<Mailbox>>, place: (Option<IpAddr>, u16)) -> Self {
        let post = Post { state: Mutex::default(), changed: Condvar::new() };
        Self { post: Arc::new(post), mailboxes, place, patience: Patience::default() }
    }

    /// Once it is known which one it is.
    pub(super) fn set_port(&mut self, port: u16) {
        self.place.1 = port;
    }

    /// Where it is bound: the address, if it is one alone, and the port.
    #[must_use]
    pub fn local(&self) -> (Option<IpAddr>, u16) {
        self.place
    }

    pub(super) fn post(&self) -> Arc<Post> {
        Arc::clone(&self.post)
    }

    /// How long receiving and sending wait at most; for ever, if there is no time, and not at all
    /// with [`Duration::ZERO`]. Holds for calls that begin after it.
    pub fn set_timeout(&self, longest: Option<Duration>) {
        self.patience.set(longest);
    }

    /// Waits for a datagram: its length, of which what is beyond the buffer is lost, and its
    /// sender.
    ///
    /// # Errors
    /// `NotConnected` when the host has ended, `TimedOut`.
    pub fn receive_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut state = self.wait(|state| !state.incoming.is_empty())?;
        let Some(Datagram { other, payload }) = state.incoming.pop_front() else {
            return Err(pipe::ended());
        };
        if state.is_starved && state.incoming.len() <= WAITING_MAX / 2 {
            state.is_starved = false;
            drop(state);
            for mailbox in &self.mailboxes {
                // Where the host has ended, nothing comes any more.
                let _ = mailbox.order(Order::Exchange(Arc::clone(&self.post)));
            }
        }
        buffer.iter_mut().zip(&payload).for_each(|(to, from)| *to = *from);
        Ok((payload.len(), other))
    }

    /// Sends a datagram; waits while too many are on their way to the device. As with UDP
    /// everywhere, nobody says whether it arrives.
    ///
    /// # Errors
    /// `NotConnected` when the host has ended, `TimedOut`, `InvalidInput` for what is longer than a
    /// datagram can be.
    pub fn send_to(&self, payload: &[u8], to: SocketAddr) -> io::Result<()> {
        // RFC 768: a length of 16 bits counts the header of 8 bytes; RFC 791: that of the IPv4
        // packet counts another 20.
        let max = if to.is_ipv4() { 65_507 } else { 65_527 };
        if payload.len() > max {
            let error = UdpError::TooLong { max, found: payload.len() };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let mut state = self.wait(|state| state.outgoing.len() < WAITING_MAX)?;
        state.outgoing.push_back(Datagram { other: to, payload: payload.to_vec() });
        if !std::mem::replace(&mut state.is_ordered, true) {
            drop(state);
            // One queue sends all, in order.
            if let Some(mailbox) = self.mailboxes.first() {
                mailbox.order(Order::Exchange(Arc::clone(&self.post)))?;
            }
        }
        Ok(())
    }

    fn wait(&self, is_wanted: impl Fn(&State) -> bool) -> io::Result<MutexGuard<'_, State>> {
        let deadline = self.patience.deadline();
        let mut state = lock(&self.post.state);
        loop {
            if state.has_host_ended {
                return Err(pipe::ended());
            }
            if is_wanted(&state) {
                return Ok(state);
            }
            state = pipe::wait(&self.post.changed, state, deadline)?;
        }
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        lock(&self.post.state).is_closed = true;
        for mailbox in &self.mailboxes {
            // Where the host has ended, so has its port.
            let _ = mailbox.order(Order::Exchange(Arc::clone(&self.post)));
        }
    }
}

impl Post {
    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }

    /// Whether another datagram may be pushed; if not, the handle asks for it later.
    pub(super) fn has_room(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_starved |= state.incoming.len() >= WAITING_MAX;
        state.incoming.len() < WAITING_MAX
    }

    pub(super) fn push(&self, datagram: Datagram) {
        lock(&self.state).incoming.push_back(datagram);
        self.changed.notify_all();
    }

    /// The address and the bytes of each that waits to be sent; those that `send` has no room for
    /// stay, and whether there are such.
    pub(super) fn send_all(&self, mut send: impl FnMut(SocketAddr, &[u8]) -> bool) -> bool {
        let mut state = lock(&self.state);
        state.is_ordered = false;
        while let Some(datagram) = state.outgoing.front() {
            if !send(datagram.other, &datagram.payload) {
                break;
            }
            state.outgoing.pop_front();
        }
        self.changed.notify_all();
        !state.outgoing.is_empty()
    }

    pub(super) fn end(&self) {
        lock(&self.state).has_host_ended = true;
        self.changed.notify_all();
    }
}
