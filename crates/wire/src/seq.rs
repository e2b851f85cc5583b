//! Sequence numbers of TCP, which wrap around: RFC 9293, section 3.4.

use core::{
    fmt,
    ops::{Add, AddAssign, Sub},
};

/// A sequence number. Comparisons hold for numbers that are less than 2^31 apart, which the window
/// of a connection ensures.
///
/// It is not `Ord`: "before" is not transitive on a circle, so that sorting by it has no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// Whether this number comes before the other one. Of two numbers that are exactly 2^31 apart
    /// each is before the other, as with Linux's `before()` (include/net/tcp.h).
    pub const fn before(self, other: Self) -> bool {
        self.distance_to(other) < 0
    }

    /// Whether this number comes after the other one; `other.before(self)`.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Whether this number is the other one, or comes before it.
    pub const fn at_or_before(self, other: Self) -> bool {
        !self.after(other)
    }

    /// Whether this number is the other one, or comes after it.
    pub const fn at_or_after(self, other: Self) -> bool {
        !self.before(other)
    }

    /// How many numbers lie from `earlier` up to this one, going forwards: 0 to 2^32 - 1.
    pub const fn distance(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Whether this number is one of the `length` numbers that begin with `start`.
    pub const fn is_within(self, start: Self, length: u32) -> bool {
        self.distance(start) < length
    }

    /// The way from the other number to this one, negative where this one is the earlier.
    const fn distance_to(self, other: Self) -> i32 {
        self.distance(other).cast_signed()
    }
}

impl Add<u32> for Seq {
    type Output = Self;

    /// The number `octets` further on.
    fn add(self, octets: u32) -> Self {
        Self(self.0.wrapping_add(octets))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, octets: u32) {
        *self = *self + octets;
    }
}

impl Sub<u32> for Seq {
    type Output = Self;

    /// The number `octets` before.
    fn sub(self, octets: u32) -> Self {
        Self(self.0.wrapping_sub(octets))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests;
