//! How far a run is, on a terminal: one line, and the last intervals as a row of blocks.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use portolan_load::{ClientOptions, Interval, Mode};
use portolan_plot::numbers::grouped;

use super::words::time;

/// So many intervals are shown as blocks.
const BLOCKS: usize = 24;

/// A line on standard error, where that is a terminal.
pub(super) struct Live {
    bar: ProgressBar,
    by: By,
    p99: VecDeque<u64>,
    errors: u64,
    done: u64,
}

/// What the bar counts.
#[derive(Clone, Copy, Debug)]
enum By {
    Milliseconds,
    Starts,
}

impl Live {
    pub(super) fn new(options: &ClientOptions, is_quiet: bool) -> Self {
        let starts = match options.mode {
            Mode::Hold => Some(u64::from(options.connections)),
            _ => options.count,
        };
        let (by, length) = match (starts, options.duration) {
            (Some(starts), _) => (By::Starts, starts),
            (None, duration) => {
                let ms = duration.unwrap_or_default().as_millis();
                (By::Milliseconds, u64::try_from(ms).unwrap_or(u64::MAX))
            }
        };
        let hidden = ProgressDrawTarget::hidden();
        let bar = ProgressBar::with_draw_target(Some(length), hidden);
        if let Ok(style) = ProgressStyle::with_template("{percent:>3}% {bar:16} {msg}") {
            bar.set_style(style);
        }
        if !is_quiet && io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Self { bar, by, p99: VecDeque::with_capacity(BLOCKS), errors: 0, done: 0 }
    }

    /// An interval is over.
    pub(super) fn show(&mut self, interval: &Interval) {
        if self.p99.len() == BLOCKS {
            self.p99.pop_front();
        }
        self.p99.push_back(interval.request_ns.p99);
        self.errors += interval.total.errors();
        self.done += interval.started;
        let elapsed = Duration::from_secs_f64(interval.begin_seconds + interval.seconds);
        self.bar.set_position(match self.by {
            By::Starts => self.done,
            By::Milliseconds => u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        });
        self.bar.set_message(line(interval, self.errors, &blocks(self.p99.make_contiguous())));
    }

    /// Does something that may write to the same terminal.
    pub(super) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.bar.is_hidden() { work() } else { self.bar.suspend(work) }
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people")]
fn line(interval: &Interval, errors: u64, blocks: &str) -> String {
    let whole = |number: f64| grouped(number.round().max(0.0) as u64);
    let asked = interval.asked_per_second.map_or(String::new(), |it| format!(" of {}", whole(it)));
    let errors = if errors > 0 { format!(", {} ERRORS", grouped(errors)) } else { String::new() };
    let (p50, p99) = (time(interval.request_ns.p50), time(interval.request_ns.p99));
    let warm_up = if interval.is_warm_up { "warm-up, " } else { "" };
    format!(
        "{warm_up}{}{asked}/s, {} open, p50 {p50}, p99 {p99} {blocks}{errors}",
        whole(interval.completed_per_second),
        grouped(interval.open),
    )
}

/// Each value as a block, as high as its logarithm is between those of the least and the most.
pub(super) fn blocks(values: &[u64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    let height = |value: u64| (value.max(1) as f64).log2();
    let some = values.iter().filter(|&&value| value > 0);
    let low = height(some.clone().min().copied().unwrap_or(1));
    let high = height(some.max().copied().unwrap_or(1));
    let block = |&value: &u64| {
        if value == 0 {
            return ' ';
        }
        // Less than a doubling is no mountain.
        let part = (height(value) - low) / (high - low).max(1.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
        let nth = (part * 7.0).round() as usize;
        HEIGHTS[nth.min(7)]
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests;
