//! Listing by BPF iterators (`bpf/iter.bpf.c`, `bpf/files.bpf.c`): the kernel goes through its
//! tables and calls a program for each socket, which it holds and locks meanwhile.
//!
//! That makes each row true at one moment, UDP and listeners included, and works on kernels that
//! are too old for `walk` (Linux 5.15; made for 5.12 and newer). The locks and references are what
//! it spends its time on, so it takes about as long as sock_diag does.

mod program;

use portolan_flow::Transport;

use crate::{Coverage, Error, Method, MethodName, Place, Query, Row, States, bpf::word, record};
use program::{Asked, Kind, Reading};

/// Listing by BPF iterators, in the namespace at a place.
#[derive(Debug)]
pub struct Iter {
    place: Place,
    buffer: Buffer,
}

impl Iter {
    /// Loads the programs, once in a process, and prepares to list the namespace at `place`.
    ///
    /// # Errors
    /// When BPF is not possible here, or the namespace cannot be entered.
    pub fn open(place: &Place) -> Result<Self, Error> {
        Reading::begin(Kind::Tcp, place)?;
        Ok(Self { place: place.clone(), buffer: Buffer::default() })
    }
}

impl Method for Iter {
    fn name(&self) -> MethodName {
        MethodName::Iter
    }

    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error> {
        let mut coverage = Coverage::default();
        // An iterator cannot begin in the middle of a table: the first slice is all of it.
        if !query.slice.is_first() || query.wanted_states() == States::NONE {
            return Ok(coverage);
        }
        let kind = match query.transport {
            Transport::Tcp => Kind::Tcp,
            Transport::Udp => Kind::Udp,
        };
        let asked = Asked::new(query);
        let mut reading = Reading::begin(kind, &self.place)?;
        self.buffer.used = 0;
        loop {
            let length = reading.read(asked, self.buffer.room())?;
            if length == 0 {
                coverage.skipped += u64::from(self.buffer.used > 0);
                return Ok(coverage);
            }
            coverage.skipped += self.buffer.take(length, query.transport, &mut |row| {
                if query.filter.as_ref().is_none_or(|filter| filter.matches(row)) {
                    coverage.rows += 1;
                    each(row);
                }
            });
        }
    }
}

/// What was read, and may end amid a record: where memory comes in pages of more than 4 KiB, the
/// kernel has more to give at once than one read takes.
#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8]>,
    /// So many bytes are left from before.
    used: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        let bytes = vec![0; program::READ_BYTES + record::BYTES_MAX].into_boxed_slice();
        Self { bytes, used: 0 }
    }
}

impl Buffer {
    fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.used..][..program::READ_BYTES]
    }

    /// Hands on what is whole after `length` more bytes; returns how often that made no sense.
    fn take(&mut self, length: usize, transport: Transport, each: &mut dyn FnMut(&Row)) -> u64 {
        let end = self.used + length;
        let left = record::decode(&self.bytes[..end], transport, each);
        if left >= record::BYTES_MAX {
            self.used = 0;
            return 1;
        }
        self.bytes.copy_within(end - left..end, 0);
        self.used = left;
        0
    }
}

/// Every TCP and UDP socket that a process holds, as its inode number and the process's id, in the
/// observer's PID namespace: at least one for each socket of a process, and none for processes that
/// the observer cannot see.
///
/// # Errors
/// When BPF is not possible here.
pub(crate) fn holdings() -> Result<Vec<(u32, u32)>, Error> {
    let mut reading = Reading::begin(Kind::Files, &Place::here())?;
    let mut buffer = vec![0; program::READ_BYTES];
    let mut found = Vec::new();
    loop {
        // The kernel's own buffer is a whole number of pairs, and so is this one.
        let length = reading.read_files(&mut buffer)?;
        if length == 0 {
            return Ok(found);
        }
        found.extend(buffer[..length].chunks_exact(8).map(|pair| (word(pair, 0), word(pair, 4))));
    }
}

#[cfg(test)]
mod tests;
