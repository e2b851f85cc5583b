//! Clocks: the wall clock for records that outlive the process, and a cheap one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch; 0 for a clock set before it.
#[must_use]
pub fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}

/// Monotonic time since an arbitrary moment, as BPF programs have it (`bpf_ktime_get_ns`).
#[must_use]
pub fn monotonic() -> Duration {
    read(libc::CLOCK_MONOTONIC)
}

/// Monotonic time since an arbitrary moment, in the steps of the kernel's clock tick (1 to 10 ms):
/// it costs a fifth of an exact reading.
#[must_use]
pub fn coarse() -> Duration {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel, or the C library for it, writes one timespec. Where it cannot, which does
    // not happen on Linux, the time stands still.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// A date and time of the civil calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: u64,
    /// The month, 1 to 12.
    pub month: u64,
    /// The day of the month, from 1.
    pub day: u64,
    /// Days since a Sunday, 0 to 6.
    pub weekday: u64,
    /// The hour, 0 to 23.
    pub hour: u64,
    /// The minute.
    pub minute: u64,
    /// The second.
    pub second: u64,
}

impl Civil {
    /// So many seconds after 1970 began: by years of 365.2425 days that begin in March, so that the
    /// leap day is the last one.
    #[must_use]
    pub fn at(unix_seconds: u64) -> Self {
        let (since_1970, of_day) = (unix_seconds / 86_400, unix_seconds % 86_400);
        // Day 0 is 1 March of year 0; eras are the 400 years after which the calendar repeats.
        let days = since_1970 + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: of_year - (153 * from_march + 2) / 5 + 1,
            // 1970 began on a Thursday.
            weekday: (since_1970 + 4) % 7,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
        }
    }
}
