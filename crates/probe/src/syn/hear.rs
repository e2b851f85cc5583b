//! Packets as they arrive, down to the segment or the error in them.

use std::net::IpAddr;

use portolan_wire::{Check, icmpv4, icmpv6, ipv4, ipv6, protocol, tcp};

use super::flights::{Flights, Heard};
use crate::{Answer, Evidence, Verdict, icmp};

/// A packet from its IPv4 header on; `is_cut` if the end of it is not there.
pub fn hear_v4(flights: &Flights, bytes: &[u8], is_cut: bool) -> Heard {
    // What is cut is shorter than its header says, as what an error quotes is.
    let packet =
        if is_cut { ipv4::Packet::parse_quoted(bytes) } else { ipv4::Packet::parse(bytes) };
    let Ok(packet) = packet else { return Heard::Foreign };
    if packet.is_fragment() {
        return Heard::Foreign;
    }
    match packet.protocol() {
        protocol::TCP => flights.hear_segment(packet.source().into(), packet.payload(), is_cut),
        protocol::ICMPV4 => hear_icmp_v4(flights, packet.payload(), is_cut),
        _ => Heard::Foreign,
    }
}

/// A packet from its IPv6 header on.
pub fn hear_v6(flights: &Flights, bytes: &[u8], is_cut: bool) -> Heard {
    let packet =
        if is_cut { ipv6::Packet::parse_quoted(bytes) } else { ipv6::Packet::parse(bytes) };
    let Ok(packet) = packet else { return Heard::Foreign };
    let Ok(upper) = packet.upper_layer() else { return Heard::Foreign };
    if upper.fragment.is_some() {
        return Heard::Foreign;
    }
    match upper.protocol {
        protocol::TCP => flights.hear_segment(packet.source().into(), upper.payload, is_cut),
        protocol::ICMPV6 => {
            let Ok(message) = icmpv6::Packet::parse(upper.payload) else { return Heard::Foreign };
            let check = message.check(packet.source(), packet.destination());
            if !is_cut && check == Check::Wrong {
                return Heard::Foreign;
            }
            hear_icmp_v6(flights, upper.payload)
        }
        _ => Heard::Foreign,
    }
}

fn hear_icmp_v4(flights: &Flights, bytes: &[u8], is_cut: bool) -> Heard {
    let Ok(message) = icmpv4::Packet::parse(bytes) else { return Heard::Foreign };
    // The checksum covers what was cut, too; the quoted sequence number has to do.
    if !is_cut && !message.checksum_is_right() {
        return Heard::Foreign;
    }
    let quoted = message.quoted().map(ipv4::Packet::parse_quoted);
    let Some(Ok(quoted)) = quoted else { return Heard::Foreign };
    if quoted.protocol() != protocol::TCP || quoted.fragment_offset() != 0 {
        return Heard::Foreign;
    }
    let (kind, code) = (message.kind().0, message.code());
    hear_error(flights, quoted.destination().into(), quoted.payload(), kind, code)
}

/// An ICMPv6 message, whose checksum holds.
pub fn hear_icmp_v6(flights: &Flights, bytes: &[u8]) -> Heard {
    let Ok(message) = icmpv6::Packet::parse(bytes) else { return Heard::Foreign };
    let quoted = message.quoted().map(ipv6::Packet::parse_quoted);
    let Some(Ok(quoted)) = quoted else { return Heard::Foreign };
    let Ok(upper) = quoted.upper_layer() else { return Heard::Foreign };
    if upper.protocol != protocol::TCP || upper.is_later_fragment() {
        return Heard::Foreign;
    }
    let (kind, code) = (message.kind().0, message.code());
    hear_error(flights, quoted.destination().into(), upper.payload, kind, code)
}

fn hear_error(flights: &Flights, destination: IpAddr, quoted: &[u8], kind: u8, code: u8) -> Heard {
    let Some(reason) = icmp::reason(destination.is_ipv6(), kind, code) else {
        return Heard::Foreign;
    };
    let Some(quoted) = tcp::Packet::parse_quoted_ports(quoted) else { return Heard::Foreign };
    let answer = Answer {
        verdict: Verdict::Unreachable(reason),
        evidence: Evidence::Icmp { kind, code },
        attempt: None,
    };
    flights.hear_error(destination, quoted, answer)
}

#[cfg(test)]
mod tests;
