//! What edges are ordered by.

use std::cmp::Ordering;

use clap::ValueEnum;

use super::figures::Figures;

/// What stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// New connections per second.
    Connections,
    /// Bytes per second, both ways.
    Bytes,
    /// The longest round trip.
    Rtt,
    /// Retransmits per second.
    Retransmits,
    /// Failures per second.
    Failures,
    /// Connections that are up.
    Up,
    /// By name, from A to Z.
    Name,
}

impl Order {
    /// All, in the order of the key that goes through them.
    pub const ALL: [Self; 7] = [
        Self::Connections,
        Self::Bytes,
        Self::Rtt,
        Self::Retransmits,
        Self::Failures,
        Self::Up,
        Self::Name,
    ];

    /// The next one.
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|&order| order == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// The one that a key chooses.
    pub fn of_key(key: char) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.key() == key)
    }

    /// The key that chooses it.
    pub fn key(self) -> char {
        match self {
            Self::Connections => 'c',
            Self::Bytes => 'b',
            Self::Rtt => 't',
            Self::Retransmits => 'r',
            Self::Failures => 'f',
            Self::Up => 'u',
            Self::Name => 'n',
        }
    }

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Bytes => "bytes",
            Self::Rtt => "rtt",
            Self::Retransmits => "retransmits",
            Self::Failures => "failures",
            Self::Up => "up",
            Self::Name => "name",
        }
    }

    /// How two edges stand to each other; equal ones are left to whoever asks, by name.
    pub fn compare(self, one: &Figures, other: &Figures) -> Ordering {
        let largest = |of: fn(&Figures) -> f64| of(other).total_cmp(&of(one));
        let bytes = || largest(|figures| figures.to_server + figures.to_client);
        match self {
            Self::Connections => largest(|figures| figures.opened).then_with(bytes),
            Self::Bytes => bytes(),
            Self::Rtt => other.rtt_us.cmp(&one.rtt_us),
            Self::Retransmits => largest(|figures| figures.retransmits),
            Self::Failures => largest(Figures::failed),
            Self::Up => other.up.cmp(&one.up),
            Self::Name => Ordering::Equal,
        }
    }
}

#[cfg(test)]
mod tests;
