//! `portolan trace`: what goes over every edge of this host, as it happens.

mod args;
mod config;
mod ending;
mod figures;
mod label;
mod lines;
mod metered;
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
use metered::Metered;
use pace::Pace;

use crate::metrics::{Shown, Wanted};

/// Runs the subcommand.
///
/// # Errors
/// When the flags make no sense together, or this host can be traced by no method, or not by the
/// one that was asked for.
pub fn run(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    let config = Config::check(args)?;
    // First of all, so that a port in use is an error at once.
    let metrics = config.metrics.clone().map(Wanted::bind).transpose()?;
    // Each network namespace that is read takes a descriptor.
    let _ = limits::raise_descriptors();
    let (mut watch, notes) = watch::open(&config.wanted)?;
    for note in notes {
        tell!("portolan: {note}");
    }
    let keep = watch.capabilities();
    // Before any other thread: capabilities and the signal mask belong to a thread.
    capabilities::retain(keep).context("cannot give up capabilities")?;
    let ending = signals::take().context("cannot handle signals")?;
    let continued = signals::take_continued().context("cannot handle signals")?;
    let asked = ending::on_signal(ending);
    tell!("portolan: tracing by {}", watch.describe());
    let shown = match config.format {
        Format::Screen => Shown::WithReadings,
        Format::Table | Format::Json => Shown::OnStderr,
    };
    let is_counted = watch.attach().is_some();
    let exports = metrics.map(|metrics| metrics.start(is_counted, shown)).transpose()?;
    if let Some(exports) = &exports {
        let metered = Metered::new(watch, exports.feed(), config.scope, exports.place());
        watch = Box::new(metered);
    }
    let ended = match config.format {
        Format::Screen => {
            let pace = Pace::live(&config);
            let ended = screen::run(&config, watch.as_mut(), pace, &asked, &continued);
            // What nobody looks at any more still belongs to the sums that are sent.
            if exports.is_some() { ended.and_then(|()| watch.read().map(drop)) } else { ended }
        }
        Format::Table | Format::Json => {
            let mut out = BufWriter::new(io::stdout().lock());
            lines::run(&config, watch.as_mut(), Pace::new(&config), &asked, &mut out)
                .and_then(|()| Ok(out.flush()?))
        }
    };
    // However it ended: what was counted is sent.
    if let Some(exports) = exports {
        exports.stop();
    }
    ended.map(|()| ExitCode::SUCCESS)
}
