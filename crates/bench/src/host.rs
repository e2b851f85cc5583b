//! The host that a measurement was made on.

use std::{fs, thread};

use portolan_sys::{
    clock::{self, Civil},
    kernel,
};
use serde::Serialize;

/// What of a host explains its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// The kernel's name and release.
    pub kernel: String,
    /// The architecture.
    pub machine: String,
    /// How many CPUs the process may use.
    pub cpus: usize,
    /// Runnable processes over the last 1, 5 and 15 minutes: who else was at work.
    pub load_average: Option<[f64; 3]>,
    /// When, in UTC, RFC 3339.
    pub date: String,
    /// The version of this program.
    pub portolan: &'static str,
}

impl Host {
    /// This host, now.
    #[must_use]
    pub fn here() -> Self {
        Self {
            kernel: kernel::release(),
            machine: kernel::machine(),
            cpus: thread::available_parallelism().map_or(1, std::num::NonZero::get),
            load_average: fs::read_to_string("/proc/loadavg").ok().and_then(|t| loads(&t)),
            date: date(clock::now_ms() / 1000),
            portolan: env!("CARGO_PKG_VERSION"),
        }
    }

    /// One line for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let load = self.load_average.map_or_else(String::new, |[one, five, fifteen]| {
            format!(", load {one:.2} {five:.2} {fifteen:.2}")
        });
        let Self { kernel, machine, cpus, date, portolan, .. } = self;
        format!("{kernel} {machine}, {cpus} CPUs{load}, {date}, portolan {portolan}")
    }
}

/// The first three numbers of `/proc/loadavg`.
fn loads(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// RFC 3339.
fn date(unix_seconds: u64) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = Civil::at(unix_seconds);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests;
