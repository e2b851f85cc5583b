//! nmap's grepable format, `-oG`.

use std::{io::Write as _, net::IpAddr};

use portolan_flow::{Transport, service_name};
use portolan_hub::printable;

use super::{
    Found, Shown, Start, Summary,
    calendar::date,
    hosts::Host,
    nmap::{self, Outcome, SUMMED_UP_MIN, State, Totals, View},
};

/// Appends the heading.
pub fn begin(start: &Start<'_>, out: &mut Vec<u8>) {
    let (version, date) = (env!("CARGO_PKG_VERSION"), date(start.started_ms));
    let command_line = printable(start.command_line);
    // Writing to a vector cannot fail.
    let _ = writeln!(out, "# portolan {version} scan initiated {date} as: {command_line}");
}

/// Appends what was found about a host: a line for itself, and one for its ports.
pub fn host(host: &Host<'_>, view: View, out: &mut Vec<u8>) {
    let name = host.names().first().copied();
    line(host.address(), name, out);
    out.extend_from_slice(b"\tStatus: ");
    out.extend_from_slice(host.status().0.word().as_bytes());
    out.push(b'\n');
    let summed_up = summed_up(host, view);
    let states: &[State] = summed_up.as_slice();
    line(host.address(), name, out);
    out.extend_from_slice(b"\tPorts: ");
    let listed = host.ports().filter(|held| view.lists(held.outcome, states));
    for (at, held) in listed.enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        port(held.port, held.outcome, out);
    }
    if let Some(state) = summed_up {
        // Writing to a vector cannot fail.
        let _ = write!(out, "\tIgnored State: {} ({})", state.name(), host.count(state));
    }
    out.push(b'\n');
}

/// Appends an open port by itself.
pub fn finding(found: &Found<'_>, out: &mut Vec<u8>) {
    let target = found.finding.target;
    line(target.ip(), found.name, out);
    out.extend_from_slice(b"\tPorts: ");
    port(target.port(), Outcome::of(&found.finding), out);
    out.push(b'\n');
}

/// Appends the last line.
pub fn end(summary: &Summary, totals: &Totals, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "# portolan done at {} -- ", date(summary.ended_ms));
    nmap::scanned(totals, summary.took.as_secs_f64(), out);
    if !summary.is_complete {
        out.extend_from_slice(b", interrupted");
    }
    out.push(b'\n');
}

/// The state that is summed up: the format has room for one, the others are listed.
fn summed_up(host: &Host<'_>, view: View) -> Option<State> {
    if view.shown != Shown::Usual {
        return None;
    }
    let counts = State::SUMMED_UP.map(|state| (host.count(state), state));
    let most = counts.into_iter().max_by_key(|&(count, _)| count);
    most.filter(|&(count, _)| count >= SUMMED_UP_MIN).map(|(_, state)| state)
}

/// Appends what a line begins with: `Host: 10.0.0.1 (name)`.
fn line(address: IpAddr, name: Option<&str>, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "Host: {address} (");
    nmap::word(name.unwrap_or_default(), out);
    out.push(b')');
}

/// Appends a port: number, state, protocol, owner, service, RPC and version, the latter two and the
/// owner always empty.
fn port(port: u16, outcome: Outcome, out: &mut Vec<u8>) {
    let service = service_name(Transport::Tcp, port).unwrap_or_default();
    // Writing to a vector cannot fail.
    let _ = write!(out, "{port}/{}/tcp//{service}///", outcome.state().name());
}

#[cfg(test)]
mod tests;
