//! What our verdicts are in nmap's words, for both of its formats.

use std::{fmt::Write as _, io::Write as _};

use portolan_hub::printable;
use portolan_probe::{Finding, MethodName, Reason, Verdict};

use super::{Shown, hosts::Host};

/// nmap sums up the ports of a host that are in one state from so many on.
pub const SUMMED_UP_MIN: usize = 26;

/// The state of a port (nmap's portlist.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// `open`.
    Open,
    /// `closed`.
    Closed,
    /// `filtered`: also what cannot be reached.
    Filtered,
    /// `unknown`: it could not be asked.
    Unknown,
}

impl State {
    /// The states that are summed up where many ports are in them.
    pub const SUMMED_UP: [Self; 2] = [Self::Closed, Self::Filtered];

    /// As nmap writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Filtered => "filtered",
            Self::Unknown => "unknown",
        }
    }
}

/// A verdict in nmap's words, in a byte: a million of them are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    SynAck,
    Reset,
    ConnRefused,
    NoResponse,
    NetUnreach,
    HostUnreach,
    ProtoUnreach,
    PortUnreach,
    AdminProhibited,
    TimeExceeded,
    LocalhostResponse,
}

impl Outcome {
    /// Those that ports may be summed up by.
    pub const ALL: [Self; 11] = [
        Self::SynAck,
        Self::Reset,
        Self::ConnRefused,
        Self::NoResponse,
        Self::NetUnreach,
        Self::HostUnreach,
        Self::ProtoUnreach,
        Self::PortUnreach,
        Self::AdminProhibited,
        Self::TimeExceeded,
        Self::LocalhostResponse,
    ];

    /// Of a finding.
    pub fn of(finding: &Finding) -> Self {
        match finding.verdict {
            Verdict::Open => Self::SynAck,
            // With a socket nmap sees no segment, only what connect(2) returns.
            Verdict::Closed if finding.method == MethodName::Syn => Self::Reset,
            Verdict::Closed => Self::ConnRefused,
            Verdict::Filtered => Self::NoResponse,
            Verdict::Unreachable(Reason::Network) => Self::NetUnreach,
            Verdict::Unreachable(Reason::Host) => Self::HostUnreach,
            Verdict::Unreachable(Reason::Protocol) => Self::ProtoUnreach,
            Verdict::Unreachable(Reason::Port) => Self::PortUnreach,
            Verdict::Unreachable(Reason::Prohibited) => Self::AdminProhibited,
            Verdict::Unreachable(Reason::HopLimit) => Self::TimeExceeded,
            Verdict::Error(_) => Self::LocalhostResponse,
        }
    }

    /// The state of the port.
    pub const fn state(self) -> State {
        match self {
            Self::SynAck => State::Open,
            Self::Reset | Self::ConnRefused => State::Closed,
            Self::LocalhostResponse => State::Unknown,
            _ => State::Filtered,
        }
    }

    /// nmap's word for what it was concluded from (its portreasons.cc).
    pub const fn reason(self) -> &'static str {
        match self {
            Self::SynAck => "syn-ack",
            Self::Reset => "reset",
            Self::ConnRefused => "conn-refused",
            Self::NoResponse => "no-response",
            Self::NetUnreach => "net-unreach",
            Self::HostUnreach => "host-unreach",
            Self::ProtoUnreach => "proto-unreach",
            Self::PortUnreach => "port-unreach",
            Self::AdminProhibited => "admin-prohibited",
            Self::TimeExceeded => "time-exceeded",
            Self::LocalhostResponse => "localhost-response",
        }
    }
}

/// Whether a host is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Some port is open or closed.
    Up,
    /// Nothing came from it.
    Down,
    /// It could not be asked.
    Unknown,
}

impl Status {
    /// As XML has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }

    /// As the grepable format has it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Up => "Up",
            Self::Down => "Down",
            Self::Unknown => "Unknown",
        }
    }
}

/// How many hosts there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Those that are there; where findings are not held, the open ports.
    pub up: u64,
    /// Those from which nothing came; 0 where findings are not held.
    pub down: u64,
    /// All.
    pub total: u128,
}

/// What is shown of the hosts.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Which findings.
    pub shown: Shown,
    /// Whether hosts are shown that did not answer.
    pub shows_silent: bool,
}

impl View {
    /// Whether there is anything to show of a host.
    pub fn shows(self, host: &Host<'_>) -> bool {
        match self.shown {
            Shown::Open => host.ports().any(|port| port.outcome.state() == State::Open),
            Shown::Usual | Shown::Every => self.shows_silent || host.status().0 == Status::Up,
        }
    }

    /// Whether a port is shown by itself, where those in some states are summed up.
    pub fn lists(self, outcome: Outcome, summed_up: &[State]) -> bool {
        match self.shown {
            Shown::Open => outcome.state() == State::Open,
            Shown::Usual => !summed_up.contains(&outcome.state()),
            Shown::Every => true,
        }
    }
}

/// Appends what the last line says: `2 IP addresses (1 host up) scanned in 0.06 seconds`.
pub fn scanned(totals: &Totals, seconds: f64, out: &mut Vec<u8>) {
    let addresses = if totals.total == 1 { "address" } else { "addresses" };
    let hosts = if totals.up == 1 { "host" } else { "hosts" };
    let Totals { up, total, .. } = totals;
    // Writing to a vector cannot fail.
    let _ = write!(out, "{total} IP {addresses} ({up} {hosts} up) scanned in {seconds:.2} seconds");
}

/// Port numbers, ascending, as nmap lists them: `1-5,22,80`.
pub fn ranges(ports: impl IntoIterator<Item = u16>) -> String {
    let mut text = String::new();
    let mut ports = ports.into_iter().peekable();
    while let Some(first) = ports.next() {
        let mut last = first;
        while let Some(next) = ports.next_if(|&next| next == last || next == last.wrapping_add(1)) {
            last = next;
        }
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = match last == first {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}

/// Appends the name of a host for the grepable format, where blanks, parentheses, commas and
/// slashes are what readers divide a line at; no name in use has them.
pub fn word(name: &str, out: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    for c in printable(name).chars() {
        if c.is_whitespace() || matches!(c, '(' | ')' | ',' | '/') {
            // Writing to a vector cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
