//! A connection's handle.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    sync::{Arc, MutexGuard},
    time::{Duration, Instant},
};

use super::pipe::{self, BUFFER_BYTES, Pipe, State};

/// A connection. Reading and writing wait; two threads may do one each, by `&Connection`.
///
/// Dropping it closes the connection: what was written is still sent; if something was not read,
/// the peer gets a reset (RFC 9293, section 3.6.1).
#[derive(Debug)]
pub struct Connection {
    pipe: Arc<Pipe>,
    patience: Option<Duration>,
}

impl Connection {
    pub(super) fn new(pipe: Arc<Pipe>) -> Self {
        Self { pipe, patience: None }
    }

    /// How long reading and writing wait at most; for ever, if there is no time.
    pub fn set_timeout(&mut self, longest: Option<Duration>) {
        self.patience = longest;
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

    pub(super) fn wait_for_handshake(&self) -> io::Result<()> {
        drop(self.wait(|state| state.ends.is_some())?);
        Ok(())
    }

    /// Waits until the state is as wanted, or nothing works any more.
    fn wait(&self, is_wanted: impl Fn(&State) -> bool) -> io::Result<MutexGuard<'_, State>> {
        let deadline = self.patience.map(|longest| Instant::now() + longest);
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
        let mut state = self.wait(|it| !it.incoming.is_empty() || it.has_peer_finished)?;
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
        let mut state = self.wait(has_room)?;
        if state.has_finished {
            return Err(io::ErrorKind::BrokenPipe.into());
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
