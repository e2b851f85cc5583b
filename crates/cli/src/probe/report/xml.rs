//! nmap's XML, `-oX`: its document type 1.05 (nmap.dtd), but for the name of the scanner.

use std::{io::Write as _, net::IpAddr};

use portolan_flow::{Transport, service_name};
use portolan_hub::printable;
use portolan_probe::MethodName;

use super::{
    Found, Shown, Start, Summary,
    calendar::date,
    hosts::Host,
    nmap::{self, Outcome, SUMMED_UP_MIN, State, Status, Totals, View},
};

/// Appends what comes before the hosts.
pub fn begin(start: &Start<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE nmaprun>\n");
    out.extend_from_slice(b"<nmaprun scanner=\"portolan\" args=\"");
    escaped(start.command_line, out);
    let (seconds, date) = (start.started_ms / 1000, date(start.started_ms));
    let version = env!("CARGO_PKG_VERSION");
    // The document type knows only these two for TCP connections; the others are ways to connect.
    let kind = if start.method == MethodName::Syn { "syn" } else { "connect" };
    let (count, services) = (start.ports.len(), nmap::ranges(start.ports.iter().copied()));
    // Writing to a vector cannot fail, here and below.
    let _ = writeln!(
        out,
        "\" start=\"{seconds}\" startstr=\"{date}\" version=\"{version}\" \
         xmloutputversion=\"1.05\">\n\
         <scaninfo type=\"{kind}\" protocol=\"tcp\" numservices=\"{count}\" \
         services=\"{services}\"/>\n\
         <verbose level=\"0\"/>\n\
         <debugging level=\"0\"/>"
    );
}

/// Appends what was found about a host.
pub fn host(host: &Host<'_>, view: View, out: &mut Vec<u8>) {
    let (status, concluded_from) = host.status();
    let ended = u64::from(host.ended_s());
    head(ended, status, concluded_from, host.address(), &host.names(), out);
    out.extend_from_slice(b"<ports>");
    let summed_up = State::SUMMED_UP.map(|state| {
        let is_summed_up = view.shown == Shown::Usual && host.count(state) >= SUMMED_UP_MIN;
        is_summed_up.then_some(state)
    });
    for state in summed_up.into_iter().flatten() {
        extra_ports(host, state, out);
    }
    // `Open` is never summed up, so it fills the gaps without an effect.
    let states = summed_up.map(|state| state.unwrap_or(State::Open));
    for held in host.ports() {
        if held.outcome == Outcome::SynAck || view.lists(held.outcome, &states) {
            port(held.port, held.outcome, out);
        }
    }
    out.extend_from_slice(b"</ports>\n</host>\n");
}

/// Appends an open port by itself.
pub fn finding(found: &Found<'_>, out: &mut Vec<u8>) {
    let target = found.finding.target;
    let outcome = Outcome::of(&found.finding);
    head(found.at_ms / 1000, Status::Up, outcome, target.ip(), found.name.as_slice(), out);
    out.extend_from_slice(b"<ports>");
    port(target.port(), outcome, out);
    out.extend_from_slice(b"</ports>\n</host>\n");
}

/// Appends what comes behind the hosts.
pub fn end(summary: &Summary, totals: &Totals, out: &mut Vec<u8>) {
    let date = date(summary.ended_ms);
    let (ended, seconds) = (summary.ended_ms / 1000, summary.took.as_secs_f64());
    let exit = match summary.is_complete {
        true => "exit=\"success\"",
        false => "exit=\"error\" errormsg=\"interrupted\"",
    };
    let Totals { up, down, total } = totals;
    let _ = write!(
        out,
        "<runstats><finished time=\"{ended}\" timestr=\"{date}\" \
         summary=\"portolan done at {date}; "
    );
    nmap::scanned(totals, seconds, out);
    let _ = writeln!(
        out,
        "\" elapsed=\"{seconds:.2}\" {exit}/>\
         <hosts up=\"{up}\" down=\"{down}\" total=\"{total}\"/>\n</runstats>\n</nmaprun>"
    );
}

/// Appends a host up to its ports.
fn head(
    ended_s: u64,
    status: Status,
    concluded_from: Outcome,
    address: IpAddr,
    names: &[&str],
    out: &mut Vec<u8>,
) {
    let (status, reason) = (status.name(), concluded_from.reason());
    let kind = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    let _ = write!(
        out,
        "<host endtime=\"{ended_s}\">\
         <status state=\"{status}\" reason=\"{reason}\" reason_ttl=\"0\"/>\n\
         <address addr=\"{address}\" addrtype=\"{kind}\"/>\n<hostnames>\n"
    );
    for name in names {
        out.extend_from_slice(b"<hostname name=\"");
        escaped(name, out);
        out.extend_from_slice(b"\" type=\"user\"/>\n");
    }
    out.extend_from_slice(b"</hostnames>\n");
}

/// Appends the ports in a state, summed up.
fn extra_ports(host: &Host<'_>, state: State, out: &mut Vec<u8>) {
    let count = host.count(state);
    let _ = writeln!(out, "<extraports state=\"{}\" count=\"{count}\">", state.name());
    for outcome in Outcome::ALL.into_iter().filter(|outcome| outcome.state() == state) {
        let same = || host.ports().filter(|held| held.outcome == outcome).map(|held| held.port);
        let (count, reason) = (same().count(), outcome.reason());
        if count > 0 {
            let ports = nmap::ranges(same());
            let _ = writeln!(
                out,
                "<extrareasons reason=\"{reason}\" count=\"{count}\" proto=\"tcp\" \
                 ports=\"{ports}\"/>"
            );
        }
    }
    out.extend_from_slice(b"</extraports>\n");
}

/// Appends a port. Its answer's TTL is not known, for which nmap writes 0.
fn port(port: u16, outcome: Outcome, out: &mut Vec<u8>) {
    let (state, reason) = (outcome.state().name(), outcome.reason());
    let _ = write!(
        out,
        "<port protocol=\"tcp\" portid=\"{port}\">\
         <state state=\"{state}\" reason=\"{reason}\" reason_ttl=\"0\"/>"
    );
    if let Some(service) = service_name(Transport::Tcp, port) {
        let _ = write!(out, "<service name=\"{service}\" method=\"table\" conf=\"3\"/>");
    }
    out.extend_from_slice(b"</port>\n");
}

/// Appends text as it may stand in an attribute. XML 1.0 (section 2.2) has no way to write most
/// control characters, nor the two that are none.
fn escaped(text: &str, out: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    for c in printable(text).chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&apos;"),
            '\u{fffe}' | '\u{ffff}' => drop(write!(out, "{}", c.escape_unicode())),
            _ => out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
