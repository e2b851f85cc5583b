//! Where findings go, and in which format.

use std::{
    fmt,
    io::{self, Write},
};

use anstream::{AutoStream, ColorChoice};

use super::{
    Found, Start, Summary, grepable,
    hosts::Host,
    json,
    nmap::{Totals, View},
    text::Table,
    xml,
};

/// Lines are handed to the system in pieces of about this many bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// A format that findings are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for people.
    Text,
    /// One object per line.
    Json,
    /// nmap's `-oG`.
    Grepable,
    /// nmap's `-oX`.
    Xml,
}

/// A format, and what it is written to.
pub struct Sink {
    lines: Lines,
    /// Written, and not handed on yet.
    pending: Vec<u8>,
    out: Box<dyn Write + Send>,
}

/// A format, and what it keeps between lines.
#[derive(Debug)]
enum Lines {
    Text(Table),
    Json,
    Grepable,
    Xml,
}

impl fmt::Debug for Sink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Sink").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl Sink {
    /// Writes `format` to `out`, a file mostly: without colours.
    #[must_use]
    pub fn new(format: Format, out: impl Write + Send + 'static) -> Self {
        Self::with(format, false, Box::new(out))
    }

    /// Writes `format` to standard output, with colours on a terminal.
    #[must_use]
    pub fn stdout(format: Format) -> Self {
        let has_colours = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        Self::with(format, has_colours, Box::new(io::stdout()))
    }

    fn with(format: Format, has_colours: bool, out: Box<dyn Write + Send>) -> Self {
        let lines = match format {
            Format::Text => Lines::Text(Table::new(has_colours)),
            Format::Json => Lines::Json,
            Format::Grepable => Lines::Grepable,
            Format::Xml => Lines::Xml,
        };
        Self { lines, pending: Vec::new(), out }
    }

    /// The format.
    pub fn format(&self) -> Format {
        match self.lines {
            Lines::Text(_) => Format::Text,
            Lines::Json => Format::Json,
            Lines::Grepable => Format::Grepable,
            Lines::Xml => Format::Xml,
        }
    }

    /// Whether it is one of nmap's.
    pub fn is_nmap(&self) -> bool {
        matches!(self.lines, Lines::Grepable | Lines::Xml)
    }

    /// Writes what comes first.
    pub fn begin(&mut self, start: &Start<'_>) -> io::Result<()> {
        match self.lines {
            Lines::Text(_) | Lines::Json => {}
            Lines::Grepable => grepable::begin(start, &mut self.pending),
            Lines::Xml => xml::begin(start, &mut self.pending),
        }
        self.hand_on(CHUNK_BYTES)
    }

    /// Writes a finding by itself.
    pub fn finding(&mut self, found: &Found<'_>) -> io::Result<()> {
        match &mut self.lines {
            Lines::Text(table) => table.finding(found, &mut self.pending),
            Lines::Json => json::finding(found, &mut self.pending),
            Lines::Grepable => grepable::finding(found, &mut self.pending),
            Lines::Xml => xml::finding(found, &mut self.pending),
        }
        self.hand_on(CHUNK_BYTES)
    }

    /// Writes what was held of a host, if the format is one of nmap's.
    pub fn host(&mut self, host: &Host<'_>, view: View) -> io::Result<()> {
        match self.lines {
            Lines::Text(_) | Lines::Json => {}
            Lines::Grepable => grepable::host(host, view, &mut self.pending),
            Lines::Xml => xml::host(host, view, &mut self.pending),
        }
        self.hand_on(CHUNK_BYTES)
    }

    /// Writes what comes last.
    pub fn end(&mut self, summary: &Summary, totals: &Totals) -> io::Result<()> {
        match self.lines {
            Lines::Text(_) => {}
            Lines::Json => json::summary(summary, &mut self.pending),
            Lines::Grepable => grepable::end(summary, totals, &mut self.pending),
            Lines::Xml => xml::end(summary, totals, &mut self.pending),
        }
        self.hand_on(CHUNK_BYTES)
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.hand_on(1)?;
        self.out.flush()
    }

    /// Hands on what is pending if it is so many bytes.
    fn hand_on(&mut self, bytes_min: usize) -> io::Result<()> {
        if self.pending.len() < bytes_min {
            return Ok(());
        }
        // It is handed on or lost, never written twice.
        let written = self.out.write_all(&self.pending);
        self.pending.clear();
        written
    }
}
