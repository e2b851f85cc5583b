//! What is told while a measurement runs.

use std::io::Write;

use crate::{Event, report};

/// Tells of a measurement: on a terminal a line that changes, elsewhere a line per size.
///
/// Trouble with the writer is ignored: progress is not what was asked for.
pub struct Progress<'a> {
    out: &'a mut (dyn Write + Send),
    is_terminal: bool,
}

/// Back to the start of the line, and clear it.
const CLEAR: &str = "\r\x1b[K";

impl<'a> Progress<'a> {
    /// Tells `out`.
    pub fn new(out: &'a mut (dyn Write + Send), is_terminal: bool) -> Self {
        Self { out, is_terminal }
    }

    /// Tells of `event`.
    pub fn tell(&mut self, event: Event<'_>) {
        let (start, end) = if self.is_terminal { (CLEAR, "") } else { ("", "\n") };
        let _ = match event {
            Event::Preparing { size } => {
                let size = report::grouped(size);
                write!(self.out, "{start}size {size}: preparing{end}")
            }
            Event::Running { size, round, rounds, contestant } if self.is_terminal => {
                let size = report::grouped(size);
                let round =
                    if round == 0 { "warm-up".to_owned() } else { format!("{round}/{rounds}") };
                write!(self.out, "{start}size {size}: {round}, {contestant}{end}")
            }
            Event::Counting { size, contestant } if self.is_terminal => {
                let size = report::grouped(size);
                write!(self.out, "{start}size {size}: counting calls, {contestant}{end}")
            }
            Event::Finished(_) if self.is_terminal => write!(self.out, "{start}"),
            Event::Running { .. } | Event::Counting { .. } | Event::Finished(_) => Ok(()),
        };
        let _ = self.out.flush();
    }
}

#[cfg(test)]
mod tests;
