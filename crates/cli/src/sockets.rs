//! `portolan sockets`: the sockets of this host.

mod args;
mod columns;
mod config;
mod count;
mod digits;
mod gaps;
mod interfaces;
mod kill;
mod lines;
mod narrow;
mod order;
mod reader;
mod record;
mod text;
mod unentered;
mod watch;

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use portolan_sockets::{Holder, Place, Row};

pub use args::SocketsArgs;
use config::{Config, Layout, Task};
use count::Counts;
use lines::Lines;
use order::{Order, Sorted};
use reader::Reader;

/// Lines are handed to the system in pieces of about this many bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// A socket and what is known around it.
pub struct Listed<'a> {
    /// The socket.
    pub row: &'a Row,
    /// Where it lives.
    pub place: &'a Place,
    /// Who holds it, where that was asked for and can be told.
    pub holder: Option<&'a Holder>,
}

/// Runs the subcommand.
///
/// # Errors
/// When the flags make no sense together, or the sockets cannot be listed.
pub fn run(args: &SocketsArgs) -> anyhow::Result<ExitCode> {
    let config = Config::check(args)?;
    if let Task::Kill { yes: false, .. } = config.task {
        kill::ensure_somebody()?;
    }
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, io::stdout());
    if let Task::Watch { pace } = config.task {
        watch::run(&config, pace, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut reader = Reader::open(&config)?;
    match config.task {
        Task::List { order: None, limit: None } => stream(&mut reader, &mut out)?,
        Task::List { order: None, limit: Some(limit) } => {
            write_first(&mut reader, limit, &mut out)?
        }
        Task::List { order, limit } => sort(&mut reader, order, limit, &mut out)?,
        Task::Count { by, top } => {
            let begin = || Counts::new(by);
            let parts = reader.side_by_side(begin, |counts, listed| {
                counts.add(listed);
                Ok(())
            })?;
            let mut counts = Counts::new(by);
            parts.into_iter().for_each(|part| counts.merge(part));
            counts.write(top, config.layout.json, &mut out)?;
        }
        Task::Watch { .. } => unreachable!("it has no listing"),
        Task::Kill { order, limit, yes } => {
            let code = kill::run(&mut reader, (order, limit), !yes, &mut out)?;
            reader.say_what_is_missing();
            // What is not written by now cannot be, and the code tells.
            return Ok(code);
        }
    }
    out.flush()?;
    reader.say_what_is_missing();
    Ok(ExitCode::SUCCESS)
}

/// Writes sockets as they come.
fn stream(reader: &mut Reader<'_>, out: &mut (impl Write + Send)) -> anyhow::Result<()> {
    let layout = &reader.config.layout;
    write_heading(layout, out)?;
    let out = Mutex::new(out);
    let write = |chunk: &mut Vec<u8>| -> io::Result<()> {
        out.lock().unwrap_or_else(PoisonError::into_inner).write_all(chunk)?;
        chunk.clear();
        Ok(())
    };
    let begin = || (Lines::new(layout), Vec::with_capacity(CHUNK_BYTES + 4096));
    let works = reader.side_by_side(begin, |(lines, chunk), listed| {
        lines.row(listed, chunk);
        if chunk.len() >= CHUNK_BYTES {
            write(chunk)?;
        }
        Ok(())
    })?;
    for (_, mut chunk) in works {
        write(&mut chunk)?;
    }
    Ok(())
}

/// Writes so many sockets as they come.
fn write_first(
    reader: &mut Reader<'_>,
    limit: usize,
    out: &mut (impl Write + Send),
) -> anyhow::Result<()> {
    let lines = Lines::new(&reader.config.layout);
    write_heading(&reader.config.layout, out)?;
    let (mut line, mut left) = (Vec::new(), limit);
    reader.each(&mut |listed| {
        if left > 0 {
            left -= 1;
            line.clear();
            lines.row(listed, &mut line);
            out.write_all(&line)?;
        }
        Ok(())
    })
}

fn write_heading(layout: &Layout, out: &mut impl Write) -> io::Result<()> {
    let mut heading = Vec::new();
    Lines::new(layout).heading(&mut heading);
    out.write_all(&heading)
}

/// Writes sockets in an order, for which those that are wanted are kept.
fn sort(
    reader: &mut Reader<'_>,
    order: Option<Order>,
    limit: Option<usize>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    write_heading(&reader.config.layout, out)?;
    let lines = Lines::new(&reader.config.layout);
    let mut chunk = Vec::new();
    let mut sorted: Sorted<Box<[u8]>> = Sorted::new(order, limit);
    reader.each(&mut |listed| {
        sorted.add(listed, || {
            chunk.clear();
            lines.row(listed, &mut chunk);
            chunk.as_slice().into()
        })
    })?;
    for line in sorted.into_vec() {
        out.write_all(&line)?;
    }
    Ok(())
}
