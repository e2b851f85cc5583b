//! Listing by netlink sock_diag (sock_diag(7), net/ipv4/inet_diag.c).

mod destroy;
mod info;
mod memory;
pub mod message;

use std::{io, sync::Arc, time::Duration};

use portolan_flow::{PortRange, Transport};
use portolan_sys::{limits, netlink::NetlinkSocket};

use crate::{Coverage, Error, Filter, Method, MethodName, Place, Query, Row, Slice};
pub use destroy::{Destroyer, Ending, SocketId};
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
    place: Place,
    /// A dump was left half-way: the kernel starts no other on this socket until it is read to its
    /// end (`EBUSY`), which may never come.
    given_up: bool,
    /// The kernel refused bytecode once: it is too old for an operation.
    refuses_bytecode: bool,
    /// The kernel refused a dump of both families.
    refuses_both: bool,
}

impl Diag {
    /// Opens a netlink socket in the namespace at `place`; it stays there.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or the kernel has no sock_diag.
    pub fn open(place: &Place) -> Result<Self, Error> {
        Ok(Self {
            socket: connect(place)?,
            buffer: vec![0; DATAGRAM_BYTES_MAX].into_boxed_slice(),
            sequence: 0,
            place: place.clone(),
            given_up: false,
            refuses_bytecode: false,
            refuses_both: false,
        })
    }

    /// Dumps a table, without what the query's filter does not want; the kernel helps if it can.
    fn dump(
        &mut self,
        family: Family,
        query: &Query,
        each: &mut dyn FnMut(&Row),
    ) -> Result<Coverage, Error> {
        let code = query.filter.as_ref().map(|filter| filter.bytecode());
        let code = code.filter(|code| !code.bytes().is_empty() && !self.refuses_bytecode);
        let Some(code) = code else {
            return self.dump_filtered(family, query, &[], each);
        };
        let ended = if code.is_exact() {
            self.dump_with(family, query, code.bytes(), each)
        } else {
            self.dump_filtered(family, query, code.bytes(), each)
        };
        if !ended.as_ref().is_err_and(may_be_due_to_code) {
            return ended;
        }
        // It refuses before it tells of any socket. Was it because of the code?
        let ended = self.dump_filtered(family, query, &[], each);
        self.refuses_bytecode = ended.is_ok();
        ended
    }

    /// Dumps a table and looks at each row that the kernel tells of.
    fn dump_filtered(
        &mut self,
        family: Family,
        query: &Query,
        bytecode: &[u8],
        each: &mut dyn FnMut(&Row),
    ) -> Result<Coverage, Error> {
        let Some(filter) = &query.filter else {
            return self.dump_with(family, query, bytecode, each);
        };
        let mut rows = 0;
        let coverage = self.dump_with(family, query, bytecode, &mut |row| {
            if filter.matches(row) {
                rows += 1;
                each(row);
            }
        })?;
        Ok(Coverage { rows, ..coverage })
    }

    fn dump_with(
        &mut self,
        family: Family,
        query: &Query,
        bytecode: &[u8],
        each: &mut dyn FnMut(&Row),
    ) -> Result<Coverage, Error> {
        if self.given_up {
            self.socket = connect(&self.place)?;
        }
        self.sequence = self.sequence.wrapping_add(1);
        let request = Request { family, query, bytecode, sequence: self.sequence };
        self.socket
            .send(&request.encode())
            .map_err(Error::system("ask for a sock_diag dump", self.place.to_string()))?;
        self.given_up = true;
        let ended = self.replies(family, query.transport, each);
        self.given_up = !matches!(ended, Ok(_) | Err(Error::Refused { .. }));
        ended
    }

    fn replies(
        &mut self,
        family: Family,
        transport: Transport,
        each: &mut dyn FnMut(&Row),
    ) -> Result<Coverage, Error> {
        let mut coverage = Coverage::default();
        loop {
            let length = self
                .socket
                .receive(&mut self.buffer)
                .map_err(Error::system("receive a sock_diag dump", self.place.to_string()))?;
            let datagram = &self.buffer[..length];
            if self.take(datagram, family, transport, &mut coverage, each)? {
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
                    return Err(Error::Refused { transport, family: family.name(), source });
                }
            }
        }
        Ok(false)
    }
}

fn connect(place: &Place) -> Result<NetlinkSocket, Error> {
    let socket = place.run(|| NetlinkSocket::open_sock_diag(PATIENCE))?;
    socket.map_err(Error::system("open a sock_diag socket", place.to_string()))
}

impl Method for Diag {
    fn name(&self) -> MethodName {
        MethodName::Diag
    }

    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error> {
        if query.slice != Slice::WHOLE {
            return self.read(&in_slice(query), each);
        }
        if query.transport == Transport::Tcp && !self.refuses_both {
            match self.dump(Family::Both, query, each) {
                Err(Error::Refused { .. }) => self.refuses_both = true,
                ended => return ended,
            }
        }
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

/// Whether an older kernel would say so about an operation that it does not know.
fn may_be_due_to_code(error: &Error) -> bool {
    matches!(error, Error::Refused { source, .. } if source.kind() == io::ErrorKind::InvalidInput)
}

/// The kernel's dumps have no slices, but filters.
fn in_slice(query: &Query) -> Query {
    let default = (PortRange::LINUX.first, PortRange::LINUX.last);
    let ephemeral = limits::ephemeral_ports().unwrap_or(default);
    let filter = Filter::within(query.filter.as_deref(), query.slice, ephemeral);
    Query { filter: Some(Arc::new(filter)), slice: Slice::WHOLE, ..query.clone() }
}

fn no_such_family(error: &io::Error) -> bool {
    !std::path::Path::new("/proc/net/if_inet6").exists()
        && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests;
