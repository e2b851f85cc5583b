//! `portolan sockets`: the sockets of this host.

mod args;
mod count;
mod record;
mod text;

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use anyhow::Context;
use portolan_sockets::{Coverage, Holder, Owners, Place, Row, choose, open, places};
use portolan_sys::user;

pub use args::SocketsArgs;
use args::{Config, Show};
use count::Counts;
use record::SocketRecord;

use crate::print;

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
/// When the filter makes no sense, or the sockets cannot be listed.
pub fn run(args: &SocketsArgs) -> anyhow::Result<ExitCode> {
    let config = Config::check(args)?;
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let mut owners = Owners::new();
    if config.needs_owners {
        owners.walk().context("cannot find out who holds the sockets")?;
        warn_of_hidden(owners.hidden_processes());
    }
    let coverage = match &config.show {
        Show::Rows { json: true } => each(&config, &mut owners, &mut |listed| {
            print::json::line(&SocketRecord::of(listed, &config), &mut out)
        })?,
        Show::Rows { json: false } => {
            let mut table = text::Table::new(&config);
            table.heading(&mut out)?;
            each(&config, &mut owners, &mut |listed| table.row(listed, &mut out))?
        }
        Show::Counts { by, top, json } => {
            let mut counts = Counts::new(*by);
            let coverage = each(&config, &mut owners, &mut |listed| {
                counts.add(listed);
                Ok(())
            })?;
            counts.write(*top, *json, &mut out)?;
            coverage
        }
    };
    out.flush()?;
    if coverage.skipped > 0 {
        anstream::eprintln!(
            "portolan: {} entries of the kernel's tables could not be read and are missing",
            coverage.skipped
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn warn_of_hidden(processes: usize) {
    if processes > 0 {
        let advice = if user::is_root() {
            "not even root may"
        } else {
            "run as root, or grant CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
        };
        anstream::eprintln!(
            "portolan: sockets of processes that cannot be looked into ({processes}) show none: \
             {advice}"
        );
    }
}

/// Hands every socket that was asked for to `take`, until that fails.
fn each(
    config: &Config,
    owners: &mut Owners,
    take: &mut dyn FnMut(&Listed<'_>) -> io::Result<()>,
) -> anyhow::Result<Coverage> {
    let method = match config.method {
        Some(method) => method,
        None => choose().context("cannot list the sockets of this host")?.method,
    };
    let places = if config.all_netns {
        places().context("cannot list the network namespaces")?.places
    } else {
        vec![Place::here()]
    };
    let mut coverage = Coverage::default();
    // A dump cannot be left half-way; after a closed pipe the rest of it is read and dropped.
    let mut failed: Option<io::Error> = None;
    for place in &places {
        let mut reader = match open(method, place) {
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
                let holder = if config.needs_owners { owners.holder(row.inode) } else { None };
                let listed = Listed { row, place, holder: holder.as_ref() };
                failed = take(&listed).err();
            };
            coverage.add(reader.read(&query, &mut keep).context("cannot list the sockets")?);
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
    }
    Ok(coverage)
}
