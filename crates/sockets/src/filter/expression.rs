//! What a filter says, as a tree, and how it is written: the text of a tree reads as that tree.

use std::{fmt, net::IpAddr};

/// An expression. `All` and `Any` hold at least two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// Every one of them.
    All(Vec<Self>),
    /// At least one of them.
    Any(Vec<Self>),
    /// The opposite.
    Not(Box<Self>),
    /// A test of the socket.
    Term(Term),
}

/// Which end of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its own: `src`, `sport`.
    Local,
    /// Its peer's: `dst`, `dport`.
    Remote,
}

/// A test of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// `src` and `dst`: a version, an address of it and a port, each of which may be left open.
    Address(End, Option<Version>, Option<Prefix>, Option<u16>),
    /// `sport` and `dport`.
    Port(End, Comparison, u16),
    /// `dev`, by the index of the interface.
    Interface(u32),
    /// `uid`.
    User(u32),
}

/// The version of IP that a socket is of. One of IPv6 that carries IPv4 is IPv6's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `inet:`
    V4,
    /// `inet6:`
    V6,
}

impl Version {
    /// The version that `address` is of.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "inet:",
            Self::V6 => "inet6:",
        })
    }
}

/// An address of which only the first bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// How many bits: at most 32 for IPv4, 128 for IPv6.
    pub bits: u8,
}

impl Prefix {
    /// How many bits the address has.
    #[must_use]
    pub fn bits_max(address: IpAddr) -> u8 {
        if address.is_ipv4() { 32 } else { 128 }
    }
}

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that a word or sign stands for.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "=" | "==" | "eq" => Self::Equal,
            "!=" | "ne" | "neq" => Self::NotEqual,
            "<" | "lt" => Self::Less,
            "<=" | "le" | "leq" => Self::LessOrEqual,
            ">" | "gt" => Self::Greater,
            ">=" | "ge" | "geq" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(parts) => {
                joined(f, parts, " and ", |part| matches!(part, Self::All(_) | Self::Any(_)))
            }
            Self::Any(parts) => joined(f, parts, " or ", |part| matches!(part, Self::Any(_))),
            Self::Not(inner) => {
                f.write_str("not ")?;
                inner.fmt_in_brackets(f, matches!(**inner, Self::All(_) | Self::Any(_)))
            }
            Self::Term(term) => term.fmt(f),
        }
    }
}

impl Expression {
    fn fmt_in_brackets(&self, f: &mut fmt::Formatter<'_>, brackets: bool) -> fmt::Result {
        if brackets { write!(f, "( {self} )") } else { write!(f, "{self}") }
    }
}

fn joined(
    f: &mut fmt::Formatter<'_>,
    parts: &[Expression],
    by: &str,
    in_brackets: impl Fn(&Expression) -> bool,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(by)?;
        }
        part.fmt_in_brackets(f, in_brackets(part))?;
    }
    Ok(())
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Address(end, version, prefix, port) => {
                f.write_str(if end == End::Local { "src " } else { "dst " })?;
                version.map_or(Ok(()), |version| version.fmt(f))?;
                match prefix {
                    Some(prefix) => prefix.fmt(f)?,
                    None if port.is_none() || version.is_some() => f.write_str("*")?,
                    None => {}
                }
                port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
            Self::Port(end, comparison, port) => {
                let name = if end == End::Local { "sport" } else { "dport" };
                write!(f, "{name} {} :{port}", comparison.sign())
            }
            Self::Interface(index) => write!(f, "dev = {index}"),
            Self::User(uid) => write!(f, "uid = {uid}"),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.bits == Self::bits_max(self.address);
        match (self.address, whole) {
            (IpAddr::V4(address), true) => write!(f, "{address}"),
            (IpAddr::V4(address), false) => write!(f, "{address}/{}", self.bits),
            (IpAddr::V6(address), true) => write!(f, "[{address}]"),
            (IpAddr::V6(address), false) => write!(f, "[{address}/{}]", self.bits),
        }
    }
}
