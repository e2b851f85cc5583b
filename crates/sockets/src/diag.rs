//! Listing by netlink sock_diag (sock_diag(7), net/ipv4/inet_diag.c).

mod info;
pub mod message;

use std::{io, time::Duration};

use portolan_flow::Transport;
use portolan_sys::netlink::NetlinkSocket;

use crate::{Coverage, Error, Method, MethodName, Place, Query, Row};
use message::{Family, Part, Request};

/// The kernel fills no datagram beyond this, whatever the buffer.
const DATAGRAM_BYTES_MAX: usize = 32 * 1024;

/// A dump answers at once; a kernel that is silent for so long is broken.
const PATIENCE: Duration = Duration::from_secs(10);

/// Listing by netlink sock_diag, in the namespace where it was opened.
#[derive(Debug)]
pub struct Diag {
    socket: NetlinkSocket,
    buffer: Box<[u8]>,
    sequence: u32,
    place: String,
}

impl Diag {
    /// Opens a netlink socket in the namespace at `place`; it stays there.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or the kernel has no sock_diag.
    pub fn open(place: &Place) -> Result<Self, Error> {
        let socket = place.run(|| NetlinkSocket::open_sock_diag(PATIENCE))?;
        let socket = socket.map_err(Error::system("open a sock_diag socket", place.to_string()))?;
        Ok(Self {
            socket,
            buffer: vec![0; DATAGRAM_BYTES_MAX].into_boxed_slice(),
            sequence: 0,
            place: place.to_string(),
        })
    }

    fn dump(
        &mut self,
        family: Family,
        query: &Query,
        each: &mut dyn FnMut(&Row),
    ) -> Result<Coverage, Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = Request { family, query: *query, sequence: self.sequence };
        self.socket
            .send(&request.encode())
            .map_err(Error::system("ask for a sock_diag dump", self.place.clone()))?;
        let mut coverage = Coverage::default();
        loop {
            let length = self
                .socket
                .receive(&mut self.buffer)
                .map_err(Error::system("receive a sock_diag dump", self.place.clone()))?;
            let datagram = &self.buffer[..length];
            if self.take(datagram, family, query.transport, &mut coverage, each)? {
                return Ok(coverage);
            }
        }
    }

    /// Handles one datagram; true when the dump is complete.
    fn take(
        &self,
        datagram: &[u8],
        family: Family,
        transport: Transport,
        coverage: &mut Coverage,
        each: &mut dyn FnMut(&Row),
    ) -> Result<bool, Error> {
        for message in message::messages(datagram) {
            let message = message?;
            // A reply to an earlier request that was given up half-way.
            if message.sequence != self.sequence {
                continue;
            }
            coverage.torn |= message.interrupted;
            match message.part(transport)? {
                Part::Row(row) => {
                    coverage.rows += 1;
                    each(&row);
                }
                Part::Unknown => coverage.skipped += 1,
                Part::Done => return Ok(true),
                Part::Failed(number) => {
                    let source = io::Error::from_raw_os_error(number);
                    return Err(Error::Refused { transport, version: family.version(), source });
                }
            }
        }
        Ok(false)
    }
}

impl Method for Diag {
    fn name(&self) -> MethodName {
        MethodName::Diag
    }

    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error> {
        let mut coverage = self.dump(Family::V4, query, each)?;
        match self.dump(Family::V6, query, each) {
            Ok(v6) => coverage.add(v6),
            // A host booted with ipv6.disable=1 has no such table, so nothing is missing.
            Err(Error::Refused { source, .. }) if no_such_family(&source) => {}
            Err(error) => return Err(error),
        }
        Ok(coverage)
    }
}

fn no_such_family(error: &io::Error) -> bool {
    !std::path::Path::new("/proc/net/if_inet6").exists()
        && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests;
