//! A connection of the host as the server's connections want it.

use portolan_host::stack::{
    Instant, Stack,
    tcp::{ConnectionId, Error},
};

use super::super::stream::{Failure, Stream};

pub(super) struct Connection<'a> {
    pub(super) stack: &'a mut Stack,
    pub(super) now: Instant,
    pub(super) id: ConnectionId,
    /// The other end has sent all that it will send, or the connection is over.
    pub(super) has_ended: bool,
}

impl Stream for Connection<'_> {
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<usize, Failure> {
        let tcp = self.stack.tcp();
        let mut written = tcp.write(self.id, first, self.now).map_err(failure)?;
        if written == first.len() && !second.is_empty() {
            written += tcp.write(self.id, second, self.now).map_err(failure)?;
        }
        if written == 0 { Err(Failure::Blocked) } else { Ok(written) }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        match self.stack.tcp().read(self.id, buffer, self.now) {
            Ok(0) if !self.has_ended => Err(Failure::Blocked),
            read => read.map_err(failure),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.stack.tcp().finish(self.id, self.now).map_err(failure)
    }
}

fn failure(error: Error) -> Failure {
    use portolan_host::stack::tcp::Reason;
    match error {
        Error::Ended(Reason::Reset | Reason::Refused | Reason::Aborted) => Failure::Reset,
        _ => Failure::Other,
    }
}
