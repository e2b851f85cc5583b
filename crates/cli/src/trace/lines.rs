//! What happened, interval by interval, to standard output.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use portolan_flow::Flow;
use portolan_hub::printable;
use portolan_sys::clock::Civil;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::{
    config::{Config, Format},
    figures::Figures,
    order::Order,
    pace::Pace,
    record,
    summary::{Interval, Summary},
    table::{self, Names},
    watch::{Observed, RELIEF, Watch},
};
use crate::print;

/// How soon it shows that nobody reads any more.
const LOOK: Duration = Duration::from_secs(1);

/// So many readings in a row may fail before the program gives up: the kernel may be short of
/// memory, or the process of descriptors, for a moment.
pub const FAILURES_MAX: u32 = 5;

/// Reports each interval until there are enough, a signal, or nobody reads any more.
///
/// # Errors
/// When the host cannot be read, or the result cannot be written.
pub fn run(
    config: &Config,
    watch: &mut dyn Watch,
    mut pace: Pace,
    asked: &Receiver<()>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let method = record::Method::of(watch);
    let mut warned = BTreeSet::new();
    let mut failures = 0;
    loop {
        let waited = wait(watch, pace.due(), asked)?;
        if waited == Waited::Unread {
            return Ok(());
        }
        match watch.read() {
            Ok(observed) => {
                failures = 0;
                warn(&observed, &mut warned);
                let interval = Interval::of(observed, config, &config.words);
                match config.format {
                    Format::Json => record::write(&interval, method, out)?,
                    Format::Table | Format::Screen => write(&interval, config, out)?,
                }
                out.flush()?;
            }
            Err(error) if failures >= FAILURES_MAX || waited == Waited::Asked => return Err(error),
            Err(error) => {
                failures += 1;
                tell!("portolan: {}; tried again", print::error(&error));
            }
        }
        if !pace.goes_on(Instant::now()) || waited == Waited::Asked {
            return Ok(());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// Until it was time.
    Due,
    /// Until a signal asked for the end.
    Asked,
    /// Until nobody read any more.
    Unread,
}

fn wait(watch: &mut dyn Watch, due: Instant, asked: &Receiver<()>) -> anyhow::Result<Waited> {
    let longest = if watch.needs_relief() { RELIEF } else { LOOK };
    loop {
        let left = due.saturating_duration_since(Instant::now());
        // Where readings take longer than the interval, it is always time: asked all the same.
        match asked.recv_timeout(left.min(longest)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(Waited::Asked),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !is_read() {
            return Ok(Waited::Unread);
        }
        if left <= longest {
            return Ok(Waited::Due);
        }
        watch.relieve()?;
    }
}

/// Whether standard output is no pipe that nobody reads any more.
fn is_read() -> bool {
    let stdout = rustix::stdio::stdout();
    // No event is asked for: errors are told always.
    let mut output = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut output, Some(&now)).unwrap_or(0) == 0
}

/// Says what a reading could not see, where the one before did not lack the same.
fn warn(observed: &Observed, warned: &mut BTreeSet<String>) {
    let warnings: BTreeSet<String> = observed.warnings.iter().cloned().collect();
    for warning in warnings.difference(warned) {
        tell!("portolan: {}", printable(warning));
    }
    *warned = warnings;
}

/// Writes an interval as a table, with what it comes to above it.
fn write(interval: &Interval, config: &Config, out: &mut impl Write) -> io::Result<()> {
    let mut rows: Vec<(Names, Figures)> =
        interval.flows.iter().map(|flow: &Flow| (Names::of(flow), Figures::of(flow))).collect();
    sort(&mut rows, config.order);
    writeln!(out, "{}", title(&interval.summary))?;
    if let Some(missing) = interval.summary.missing() {
        writeln!(out, "! {missing}")?;
    }
    let rows = rows.iter().map(|(names, figures)| (names, figures));
    for line in table::lines(rows, print::terminal_width()) {
        writeln!(out, "{line}")?;
    }
    if config.count != Some(1) {
        writeln!(out)?;
    }
    Ok(())
}

fn sort(rows: &mut [(Names, Figures)], order: Order) {
    rows.sort_by(|(name, figures), (other_name, other)| {
        order.compare(figures, other).then_with(|| name.cmp(other_name))
    });
}

#[expect(clippy::cast_precision_loss, reason = "a time for people")]
fn title(summary: &Summary) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = Civil::at(summary.time_ms / 1000);
    let seconds = summary.interval_ms as f64 / 1000.0;
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z, {seconds:.1}s: {}",
        summary.describe()
    )
}

#[cfg(test)]
mod tests;
