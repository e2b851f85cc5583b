//! What is wrong with the text of a target, and what to write instead.

use super::{TEXT_BYTES_MAX, quoted};
use crate::ports::PortsProblem;

/// A text that is no target, and why. The text is quoted, cut and without control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("target {input}: {problem}")]
pub struct TargetError {
    /// What was given.
    pub input: String,
    /// What is wrong with it.
    #[source]
    pub problem: TargetProblem,
}

impl TargetError {
    pub(super) fn new(text: &str, problem: TargetProblem) -> Self {
        Self { input: quoted(text), problem }
    }
}

/// A target of a file that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {error}")]
pub struct FileError {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    #[source]
    pub error: TargetError,
}

/// What is wrong, and what to write. Texts are quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetProblem {
    /// Nothing, or nothing before the port.
    #[error("the host is missing; write an address, a network or a name")]
    Empty,
    /// Longer than any target.
    #[error("it has {0} bytes; write it as several targets of at most {TEXT_BYTES_MAX} bytes")]
    TooLong(usize),
    /// A URL. What to write was taken from it.
    #[error("this is a URL; write {0}")]
    Url(String),
    /// The port is none.
    #[error("{0}")]
    Port(#[from] PortsProblem),
    /// A port where only addresses mean something.
    #[error("what is excluded has no port; write it without :{0}")]
    NoPort(u16),
    /// `[::1`
    #[error("the bracket is not closed; write [2001:db8::1] or [2001:db8::1]:80")]
    Bracket,
    /// `[::1]80`
    #[error("only a port can follow the bracket; write [2001:db8::1]:80 or [2001:db8::/64]:80")]
    AfterBracket,
    /// `[10.0.0.1]:80`
    #[error("brackets are for IPv6 addresses; write it without them")]
    Brackets,
    /// Not four octets.
    #[error(
        "an IPv4 address has four numbers from 0 to 255; write 10.0.0.1, 10.0.0.0/24, 10.0.0.1-50 \
         or 10.0.0.1,5, and separate targets by blanks"
    )]
    Ipv4,
    /// One of the four.
    #[error(
        "{0} is not a number from 0 to 255 without leading zeros, nor a range of them; write \
         10.0.0.1, 10.0.0.1-50, 10.0.0.1,5 or 10.0.0.*"
    )]
    Octet(String),
    /// Not an IPv6 address.
    #[error(
        "{0} is no IPv6 address; write 2001:db8::1, [2001:db8::1]:80, 2001:db8::/64 or \
         2001:db8::1-2001:db8::ff"
    )]
    Ipv6(String),
    /// Of a network.
    #[error("{text} is no length of a prefix; write a number from 0 to {max}")]
    Prefix {
        /// What follows the slash.
        text: String,
        /// Bits of an address.
        max: u8,
    },
    /// The last address is before the first.
    #[error("the range ends before it begins; write the lower address first")]
    Reversed,
    /// `10.0.0.1-10.0.0.9/24`
    #[error("this is a range and a network; write one of the two")]
    RangeAndPrefix,
    /// Not the name of an interface.
    #[error(
        "{0} names no interface; write fe80::1%eth0, [fe80::1%eth0]:80, fe80::%eth0/120 or \
         fe80::1-fe80::ff%eth0"
    )]
    Zone(String),
    /// A zone of an address that has none (RFC 4007 section 6).
    #[error("only link-local addresses (fe80::/10) have a zone; write it without %{0}")]
    NotLinkLocal(String),
    /// A character that no host name has.
    #[error(
        "a host name has letters, digits, hyphens and dots, not {0:?}; write the name that DNS \
         has (xn--... for other letters), and separate targets by blanks"
    )]
    Character(char),
    /// `a..b` or a label of more than 63.
    #[error("between the dots of a host name are 1 to 63 characters (RFC 1035 section 2.3.4)")]
    Label,
    /// `-a.example`
    #[error("no part of a host name begins or ends with a hyphen (RFC 1123 section 2.1)")]
    Hyphen,
    /// More than 253.
    #[error("a host name has at most 253 characters (RFC 1035 section 2.3.4)")]
    Name,
    /// `10.1`, `0x7f`: resolvers take them for addresses.
    #[error("a host name does not end in a number; write an IPv4 address as 10.0.0.1")]
    NumberedName,
}
