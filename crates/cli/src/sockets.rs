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
mod order;
mod record;
mod text;

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use anyhow::Context;
use portolan_sockets::{
    Coverage, Holder, MethodName, Owners, Place, Row, Wish, choose, open, places,
};

pub use args::SocketsArgs;
use config::{Config, Task};
use count::Counts;
use gaps::Told;
use lines::Lines;
use order::{Order, Sorted};

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
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, io::stdout().lock());
    let mut reader = Reader::open(&config)?;
    let mut code = ExitCode::SUCCESS;
    match config.task {
        Task::List { order: None, limit } => stream(&mut reader, limit, &mut out)?,
        Task::List { order, limit } => sort(&mut reader, order, limit, &mut out)?,
        Task::Count { by, top } => {
            let mut counts = Counts::new(by);
            reader.each(&mut |listed| {
                counts.add(listed);
                Ok(())
            })?;
            counts.write(top, config.layout.json, &mut out)?;
        }
        Task::Kill { order, limit, yes } => {
            code = kill::run(&mut reader, (order, limit), !yes, &mut out)?;
        }
    }
    out.flush()?;
    reader.say_what_is_missing();
    Ok(code)
}

/// Writes sockets as they come, until there are as many as wanted.
fn stream(
    reader: &mut Reader<'_>,
    limit: Option<usize>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let lines = Lines::new(&reader.config.layout);
    let mut chunk = Vec::with_capacity(CHUNK_BYTES + 4096);
    let mut left = limit.unwrap_or(usize::MAX);
    lines.heading(&mut chunk);
    reader.each(&mut |listed| {
        if left > 0 {
            left -= 1;
            lines.row(listed, &mut chunk);
        }
        if chunk.len() >= CHUNK_BYTES {
            out.write_all(&chunk)?;
            chunk.clear();
        }
        Ok(())
    })?;
    out.write_all(&chunk)?;
    Ok(())
}

/// Writes sockets in an order, for which those that are wanted are kept.
fn sort(
    reader: &mut Reader<'_>,
    order: Option<Order>,
    limit: Option<usize>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let lines = Lines::new(&reader.config.layout);
    let mut chunk = Vec::new();
    lines.heading(&mut chunk);
    out.write_all(&chunk)?;
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

/// Lists the sockets that were asked for, with their owners.
pub struct Reader<'a> {
    /// What was asked for.
    pub config: &'a Config,
    method: MethodName,
    places: Vec<Place>,
    owners: Owners,
    coverage: Coverage,
    told: Told,
}

impl<'a> Reader<'a> {
    /// Finds out how to list them, and says what cannot be told.
    fn open(config: &'a Config) -> anyhow::Result<Self> {
        let method = match config.method {
            Some(method) => method,
            None => {
                let queries = config.queries();
                let wish = Wish { query: &queries[0], owners: config.needs_owners, again: false };
                choose(&wish).context("cannot list the sockets of this host")?.method
            }
        };
        let places = if config.all_netns {
            places().context("cannot list the network namespaces")?.places
        } else {
            vec![Place::here()]
        };
        let mut owners = Owners::new();
        if config.needs_owners {
            owners.walk().context("cannot find out who holds the sockets")?;
        }
        if let Some(gaps) = gaps::known_before(config, method, owners.hidden_processes()) {
            anstream::eprintln!("portolan: {gaps}");
        }
        let (coverage, told) = (Coverage::default(), Told::default());
        Ok(Self { config, method, places, owners, coverage, told })
    }

    /// Hands every socket to `take`, until that fails.
    ///
    /// # Errors
    /// When the sockets cannot be listed, and what `take` says.
    pub fn each(
        &mut self,
        take: &mut dyn FnMut(&Listed<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Self { config, method, places, owners, told, .. } = self;
        let mut coverage = Coverage::default();
        // A dump cannot be left half-way; after a closed pipe the rest of it is read and dropped.
        let mut failed: Option<anyhow::Error> = None;
        for place in places.iter() {
            let mut reader = match open(*method, place) {
                Ok(reader) => reader,
                Err(error) if config.all_netns && place.netns != places[0].netns => {
                    anstream::eprintln!("portolan: {error}");
                    continue;
                }
                Err(error) => return Err(error).context("cannot list the sockets of this host"),
            };
            for query in config.queries() {
                let mut keep = |row: &Row| {
                    if failed.is_some() || !config.wants(row) {
                        return;
                    }
                    told.see(row);
                    let holder = if config.needs_owners { owners.holder(row.inode) } else { None };
                    let listed = Listed { row, place, holder: holder.as_ref() };
                    failed = take(&listed).err();
                };
                coverage.add(reader.read(&query, &mut keep).context("cannot list the sockets")?);
                if let Some(error) = failed {
                    return Err(error);
                }
            }
        }
        self.coverage = coverage;
        Ok(())
    }

    fn say_what_is_missing(&self) {
        if self.coverage.skipped > 0 {
            anstream::eprintln!(
                "portolan: {} entries of the kernel's tables could not be read and are missing",
                self.coverage.skipped
            );
        }
        if let Some(gaps) = self.told.unexpected(self.config, self.method) {
            anstream::eprintln!("portolan: {gaps}");
        }
    }
}
