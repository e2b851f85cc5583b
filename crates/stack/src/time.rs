//! A moment, as an argument.

use core::{
    ops::{Add, AddAssign, Sub},
    time::Duration,
};

/// A moment in microseconds since any one moment, the same for all calls of one stack. It never
/// goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The moment from which the others count.
    pub const ZERO: Self = Self(0);
    /// A moment that does not come.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// So many microseconds after [`ZERO`](Self::ZERO).
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since [`ZERO`](Self::ZERO).
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since [`ZERO`](Self::ZERO).
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// The time from an earlier moment to this one; zero if that one is the later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Rounded up: a moment after now stays one, however short the time until then.
    fn add(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }
}

#[cfg(test)]
mod tests;
