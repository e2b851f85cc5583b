//! What can be wrong with bytes that are read, and with a buffer that is to be written.

use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes from outside that are not what they should be. `what` names the header or field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The bytes end before what they announce. Lengths in bytes.
    #[error("{what}: needs {needed} bytes, {found} are there")]
    Truncated {
        /// The header, option or packet that is cut.
        what: &'static str,
        /// How many bytes it has by its format or by its own length field.
        needed: usize,
        /// How many are there.
        found: usize,
    },
    /// The version field of an IP header is another one.
    #[error("{what}: version is {found}, not {expected}")]
    Version {
        /// The header.
        what: &'static str,
        /// The version that this header has.
        expected: u8,
        /// The version that is in the field.
        found: u8,
    },
    /// A length field is smaller than what it must count at least. Lengths in bytes.
    #[error("{what} says {found} bytes, it is at least {least}")]
    Length {
        /// The length field.
        what: &'static str,
        /// The smallest length that is possible.
        least: usize,
        /// The length that is in the field.
        found: usize,
    },
    /// A field has a value with which the rest cannot be read.
    #[error("{what} is {found:#06x}, which is not read here")]
    Value {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u16,
    },
    /// A TCP option of a known kind has a length that this kind cannot have.
    #[error("TCP option {kind} has a length of {found} bytes")]
    OptionLength {
        /// The option's kind.
        kind: u8,
        /// Its length in bytes, kind and length included.
        found: u8,
    },
    /// A message is in a packet that may not carry it, or it says what it may not say.
    #[error("{what}: forged, or by a broken sender")]
    Forbidden {
        /// What breaks the rule.
        what: &'static str,
    },
    /// An IPv6 packet has more extension headers than are walked.
    #[error("IPv6: more than {max} extension headers")]
    Extensions {
        /// How many are walked.
        max: usize,
    },
}

/// A value that cannot be written: the buffer or a field of the header has no room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoRoom {
    /// The buffer is too short. Lengths in bytes.
    #[error("{what}: needs a buffer of {needed} bytes, got {found}")]
    Buffer {
        /// The header that was to be written.
        what: &'static str,
        /// How many bytes it has.
        needed: usize,
        /// How many the buffer has.
        found: usize,
    },
    /// The value is larger than the field of the header can hold.
    #[error("{what} is at most {max}, got {found}")]
    Field {
        /// The field.
        what: &'static str,
        /// The largest value that it holds.
        max: usize,
        /// The value that was to be written.
        found: usize,
    },
}

/// Reads `T` where it lies at the front of the bytes; the second half is what follows it.
pub(crate) fn split_header<'a, T>(
    what: &'static str,
    bytes: &'a [u8],
) -> Result<(&'a T, &'a [u8]), Malformed>
where
    T: FromBytes + KnownLayout + Immutable + Unaligned,
{
    T::ref_from_prefix(bytes).map_err(|_| Malformed::Truncated {
        what,
        needed: size_of::<T>(),
        found: bytes.len(),
    })
}

/// The first `needed` bytes, and the rest.
pub(crate) fn split<'a>(
    what: &'static str,
    bytes: &'a [u8],
    needed: usize,
) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    bytes.split_at_checked(needed).ok_or(Malformed::Truncated { what, needed, found: bytes.len() })
}

/// Writes `header` at the front of the buffer.
pub(crate) fn write_header<T>(
    what: &'static str,
    header: &T,
    buffer: &mut [u8],
) -> Result<(), NoRoom>
where
    T: IntoBytes + Immutable,
{
    let found = buffer.len();
    header.write_to_prefix(buffer).map_err(|_| NoRoom::Buffer {
        what,
        needed: size_of::<T>(),
        found,
    })
}

#[cfg(test)]
mod tests;
