//! A connection's handle.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    sync::{Arc, MutexGuard, mpsc},
    time::{Duration, Instant},
};

use portolan_stack::tcp::{self, ConnectionId, Info, Tcp};

use super::{
    mailbox::{Order, Verb},
    pipe::{self, BUFFER_BYTES, Failure, Patience, Pipe, State},
};

/// A connection. Reading and writing wait. All of it works by `&Connection`, too, so that several
/// threads share one in an `Arc`: what each of them writes by one call of `write` stays together as
/// far as there is room for it, and each byte is read once.
///
/// Dropping it closes the connection: what was written is still sent; if something was not read,
/// the peer gets a reset (RFC 9293, section 3.6.1).
#[derive(Debug)]
pub struct Connection {
    pipe: Arc<Pipe>,
    reading: Patience,
    writing: Patience,
}

impl Connection {
    pub(super) fn new(pipe: Arc<Pipe>) -> Self {
        Self { pipe, reading: Patience::default(), writing: Patience::default() }
    }

    /// How long reading and writing wait at most; for ever, if there is no time, and not at all
    /// with [`Duration::ZERO`]. Holds for calls that begin after it. A call that has waited in vain
    /// ends with `TimedOut`, and the connection goes on.
    pub fn set_timeout(&self, longest: Option<Duration>) {
        self.set_read_timeout(longest);
        self.set_write_timeout(longest);
    }

    /// As [`set_timeout`](Self::set_timeout), for reading alone.
    pub fn set_read_timeout(&self, longest: Option<Duration>) {
        self.reading.set(longest);
    }

    /// As [`set_timeout`](Self::set_timeout), for writing alone.
    pub fn set_write_timeout(&self, longest: Option<Duration>) {
        self.writing.set(longest);
    }

    /// Whether small segments leave at once, although earlier data is not acknowledged: without
    /// Nagle's algorithm. Off unless [`tcp::Config::nodelay`] says else.
    ///
    /// # Errors
    /// Why the connection has ended.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.with(move |tcp, id, now| tcp.set_nodelay(id, on, now))
    }

    /// Whether the connection is probed while it is idle, as [`tcp::Config::keepalive`] says how.
    ///
    /// # Errors
    /// Why the connection has ended.
    pub fn set_keepalive(&self, on: bool) -> io::Result<()> {
        self.with(move |tcp, id, now| tcp.set_keepalive(id, on, now))
    }

    /// After how long without an acknowledgment the connection is given up, in whole seconds; as
    /// [`tcp::Config::user_timeout`] says, if there is no time (RFC 9293, section 3.8.3).
    ///
    /// # Errors
    /// Why the connection has ended.
    pub fn set_user_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        self.with(move |tcp, id, now| tcp.set_user_timeout(id, longest, now))
    }

    /// How it stands: round-trip time, windows, what is unacknowledged, its troubles. Up to
    /// 256 KiB each way that lie between the handle and its thread are not counted there.
    ///
    /// # Errors
    /// `NotConnected` when the host has ended.
    pub fn info(&self) -> io::Result<Info> {
        self.with(|tcp, id, _| tcp.info(id))
    }

    /// Has the thread do something with the connection, and waits for that.
    fn with<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut Tcp, ConnectionId, portolan_stack::Instant) -> Result<T, tcp::Error>
        + Send
        + 'static,
    ) -> io::Result<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        let verb = Verb(Box::new(move |tcp, id, now| {
            // Who asked waits for it.
            let _ = answer.send(verb(tcp, id, now));
        }));
        self.pipe.mailbox.order(Order::Do { pipe: Arc::clone(&self.pipe), verb })?;
        match answered.recv() {
            Ok(done) => done.map_err(|error| Failure::Connection(error).into()),
            Err(_) => Err(self.pipe.lock().failure.unwrap_or(Failure::HostEnded).into()),
        }
    }

    /// The own end and the other one.
    #[must_use]
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.pipe.lock().ends
    }

    /// Says that nothing more will be written: the peer reads to the end. The other direction stays
    /// open.
    pub fn finish(&self) {
        let mut state = self.pipe.lock();
        state.has_finished = true;
        self.pipe.order(state);
    }

    /// Closes it, as dropping does.
    pub fn close(self) {}

    /// Ends it at once; the peer gets a reset.
    pub fn abort(self) {
        self.pipe.lock().is_aborted = true;
    }

    pub(super) fn wait_for_handshake(
        &self,
        remote: SocketAddr,
        longest: Option<Duration>,
    ) -> io::Result<()> {
        let deadline = longest.and_then(|longest| Instant::now().checked_add(longest));
        let waited = self.wait(|state| state.ends.is_some(), deadline);
        let Err(error) = waited else { return Ok(()) };
        Err(match self.pipe.lock().failure {
            Some(failure) => failure.to_connect(remote),
            None => {
                let within = longest.unwrap_or_default();
                let text = format!("cannot connect to {remote}: no answer within {within:?}");
                io::Error::new(error.kind(), text)
            }
        })
    }

    /// Waits until the state is as wanted, or nothing works any more.
    fn wait(
        &self,
        is_wanted: impl Fn(&State) -> bool,
        deadline: Option<Instant>,
    ) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.pipe.lock();
        loop {
            if is_wanted(&state) {
                return Ok(state);
            }
            if let Some(failure) = state.failure {
                return Err(failure.into());
            }
            state = pipe::wait(&self.pipe.changed, state, deadline)?;
        }
    }
}

impl Read for &Connection {
    /// 0 when the peer has finished.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let has_some = |it: &State| !it.incoming.is_empty() || it.has_peer_finished;
        let mut state = self.wait(has_some, self.reading.deadline())?;
        // From both halves of the ring.
        let mut count = 0;
        while count < buffer.len() {
            let copied = state.incoming.read(&mut buffer[count..])?;
            if copied == 0 {
                break;
            }
            count += copied;
        }
        if state.is_starved && state.incoming.len() <= BUFFER_BYTES / 2 {
            self.pipe.order(state);
        }
        Ok(count)
    }
}

impl Write for &Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let has_room = |it: &State| it.outgoing.len() < BUFFER_BYTES && it.failure.is_none();
        let mut state = self.wait(has_room, self.writing.deadline())?;
        if state.has_finished {
            return Err(Failure::Connection(tcp::Error::Finished).into());
        }
        let count = bytes.len().min(BUFFER_BYTES - state.outgoing.len());
        state.outgoing.extend(&bytes[..count]);
        self.pipe.order(state);
        Ok(count)
    }

    /// What was written leaves by itself.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.pipe.lock();
        state.is_dropped = true;
        self.pipe.order(state);
    }
}
