//! Listing by the files under `/proc/net` (proc_pid_net(5), net/ipv4/tcp_ipv4.c `tcp4_seq_show`).
//!
//! The fallback where sock_diag is refused. One `read()` returns at most about 4 KiB whatever the
//! buffer (the kernel's seq_file), but a large buffer costs nothing and serves patched kernels.

pub mod line;

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use portolan_flow::Transport;

use crate::{Coverage, Error, Method, MethodName, Place, Query, Row};

/// Large enough for the 64 KiB that patched kernels return.
const BUFFER_BYTES: usize = 64 * 1024;

/// No line is longer (150 bytes for IPv4, 171 for IPv6); beyond it the rest is skipped.
const LINE_BYTES_MAX: usize = 4096;

/// Listing by the files under `/proc/net` of one namespace.
#[derive(Debug)]
pub struct Procfs {
    place: Place,
    buffer: Box<[u8]>,
}

impl Procfs {
    /// Prepares to read the tables of the namespace at `place`.
    ///
    /// # Errors
    /// When the namespace's files cannot be opened.
    pub fn open(place: &Place) -> Result<Self, Error> {
        let procfs =
            Self { place: place.clone(), buffer: vec![0; BUFFER_BYTES].into_boxed_slice() };
        procfs.table("tcp")?;
        Ok(procfs)
    }

    fn table(&self, name: &str) -> Result<File, Error> {
        let path = PathBuf::from("/proc/thread-self/net").join(name);
        let opened = self.place.run(|| File::open(&path))?;
        opened.map_err(Error::system("open", format!("{}, {}", path.display(), self.place)))
    }

    fn read_table(
        &mut self,
        name: &str,
        query: &Query,
        each: &mut dyn FnMut(&Row),
    ) -> Result<Coverage, Error> {
        let mut table = match self.table(name) {
            // No IPv6 on this host: no table, and nothing is missing.
            Err(Error::System { source, .. })
                if name.ends_with('6') && source.kind() == io::ErrorKind::NotFound =>
            {
                return Ok(Coverage::default());
            }
            other => other?,
        };
        let mut lines = Lines::default();
        let mut coverage = Coverage::default();
        loop {
            let length = match table.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Error::system("read", format!("/proc/net/{name}"))(error));
                }
            };
            lines.feed(&self.buffer[..length], &mut |line| {
                take(line, query, &mut coverage, each);
            });
        }
        lines.finish(&mut |line| take(line, query, &mut coverage, each));
        Ok(coverage)
    }
}

impl Method for Procfs {
    fn name(&self) -> MethodName {
        MethodName::Procfs
    }

    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error> {
        let (v4, v6) = match query.transport {
            Transport::Tcp => ("tcp", "tcp6"),
            Transport::Udp => ("udp", "udp6"),
        };
        // A file cannot be read from its middle.
        if !query.slice.is_first() {
            return Ok(Coverage::default());
        }
        if query.filter.as_ref().is_some_and(|filter| filter.asks_for_interface()) {
            return Err(Error::NotTold { method: "/proc/net", what: "the interface (dev)" });
        }
        let mut coverage = self.read_table(v4, query, each)?;
        coverage.add(self.read_table(v6, query, each)?);
        Ok(coverage)
    }
}

fn take(line: &[u8], query: &Query, coverage: &mut Coverage, each: &mut dyn FnMut(&Row)) {
    match line::parse(line, query.transport) {
        line::Line::Row(row) if is_wanted(&row, query) => {
            coverage.rows += 1;
            each(&row);
        }
        line::Line::Row(_) | line::Line::Heading => {}
        line::Line::Unreadable => coverage.skipped += 1,
    }
}

fn is_wanted(row: &Row, query: &Query) -> bool {
    query.states.contains(row.state)
        && query.filter.as_ref().is_none_or(|filter| filter.matches(row))
}

/// Puts lines together from reads that end anywhere. Keeps at most [`LINE_BYTES_MAX`] bytes.
#[derive(Debug, Default)]
struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, after) = rest.split_at(end);
            if self.partial.is_empty() {
                each(&line[..line.len().min(LINE_BYTES_MAX)]);
            } else {
                self.keep(line);
                each(&self.partial);
                self.partial.clear();
            }
            rest = &after[1..];
        }
        self.keep(rest);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX - self.partial.len().min(LINE_BYTES_MAX);
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn finish(self, each: &mut dyn FnMut(&[u8])) {
        if !self.partial.is_empty() {
            each(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests;
