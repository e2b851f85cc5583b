//! Whether an expression is true of a row.

use std::net::{IpAddr, SocketAddr};

use super::expression::{Comparison, End, Expression, Prefix, Term, Version};
use crate::Row;

impl Expression {
    /// Whether it is true of `row`.
    #[must_use]
    pub fn matches(&self, row: &Row) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.matches(row)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(row)),
            Self::Not(inner) => !inner.matches(row),
            Self::Term(term) => term.matches(row),
        }
    }

    /// Whether the interface of a socket has to be known.
    #[must_use]
    pub fn asks_for_interface(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::asks_for_interface),
            Self::Not(inner) => inner.asks_for_interface(),
            Self::Term(term) => matches!(term, Term::Interface(_)),
        }
    }
}

impl Term {
    fn matches(&self, row: &Row) -> bool {
        match *self {
            Self::Address(end, version, prefix, port) => {
                let socket = at_end(row, end);
                port.is_none_or(|port| port == socket.port())
                    && version.is_none_or(|version| version == Version::of(socket.ip()))
                    && prefix.is_none_or(|prefix| prefix.contains(socket.ip()))
            }
            Self::Port(end, comparison, port) => comparison.holds(at_end(row, end).port(), port),
            Self::Interface(index) => row.interface == index,
            Self::User(uid) => row.uid == uid,
        }
    }
}

fn at_end(row: &Row, end: End) -> SocketAddr {
    match end {
        End::Local => row.local,
        End::Remote => row.remote,
    }
}

impl Comparison {
    fn holds(self, port: u16, with: u16) -> bool {
        match self {
            Self::Equal => port == with,
            Self::NotEqual => port != with,
            Self::Less => port < with,
            Self::LessOrEqual => port <= with,
            Self::Greater => port > with,
            Self::GreaterOrEqual => port >= with,
        }
    }
}

impl Prefix {
    /// Whether `address` begins with it. As the kernel has it (inet_diag.c, `inet_diag_bc_run`), an
    /// IPv4-mapped address is one of IPv4 too, and an IPv4 address is none of IPv6.
    fn contains(&self, address: IpAddr) -> bool {
        let bits = u32::from(self.bits);
        match (self.address, address) {
            (IpAddr::V4(prefix), IpAddr::V4(address)) => {
                let differ = u32::from(prefix) ^ u32::from(address);
                differ.leading_zeros() >= bits
            }
            (IpAddr::V4(_), IpAddr::V6(address)) => {
                address.to_ipv4_mapped().is_some_and(|address| self.contains(IpAddr::V4(address)))
            }
            (IpAddr::V6(prefix), IpAddr::V6(address)) => {
                let differ = u128::from(prefix) ^ u128::from(address);
                differ.leading_zeros() >= bits
            }
            (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests;
