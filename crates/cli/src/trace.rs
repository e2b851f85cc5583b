//! `portolan trace`: what goes over every edge of this host, as it happens.

mod args;
mod config;
mod ending;
mod figures;
mod label;
mod lines;
mod order;
mod pace;
mod pick;
mod record;
#[cfg(test)]
mod sample;
mod screen;
mod summary;
mod table;
pub mod watch;

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use anyhow::Context;
use portolan_sys::{capabilities, limits, signals};

pub use args::TraceArgs;
use config::{Config, Format};
use pace::Pace;

/// Runs the subcommand.
///
/// # Errors
/// When the flags make no sense together, or this host can be traced by no method, or not by the
/// one that was asked for.
pub fn run(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    let config = Config::check(args)?;
    // Each network namespace that is read takes a descriptor.
    let _ = limits::raise_descriptors();
    let (mut watch, notes) = watch::open(&config.wanted)?;
    for note in notes {
        anstream::eprintln!("portolan: {note}");
    }
    let keep = watch.capabilities();
    // Before any other thread: capabilities and the signal mask belong to a thread.
    capabilities::retain(keep).context("cannot give up capabilities")?;
    let ending = signals::take().context("cannot handle signals")?;
    let continued = signals::take_continued().context("cannot handle signals")?;
    let asked = ending::on_signal(ending);
    anstream::eprintln!("portolan: tracing by {}", watch.describe());
    match config.format {
        Format::Screen => {
            screen::run(&config, watch.as_mut(), Pace::live(&config), &asked, &continued)?;
        }
        Format::Table | Format::Json => {
            let mut out = BufWriter::new(io::stdout().lock());
            lines::run(&config, watch.as_mut(), Pace::new(&config), &asked, &mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
