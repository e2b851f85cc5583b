//! The host that a measurement was made on.

use std::{fs, thread};

use portolan_sys::{clock, kernel};
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

/// RFC 3339, by the civil calendar: years of 365.2425 days that begin in March, so that the leap
/// day is the last one.
fn date(unix_seconds: u64) -> String {
    let (days, of_day) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Day 0 is 1 March of year 0; eras are the 400 years after which the calendar repeats.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests;
