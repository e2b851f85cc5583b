//! Errors that others send: what they say, and about which packet of ours.

use core::net::IpAddr;

use portolan_wire::{icmpv4, icmpv6, ipv4, ipv6};

use crate::{
    ip::path_mtu::{MTU_MIN_V6, plateau_below},
    tcp::ErrorKind,
};

/// An error about a packet with these addresses, which may be forged: anybody can write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// From where the packet is said to have come: an address of ours, unless the error is forged.
    pub local: IpAddr,
    /// For whom it was.
    pub remote: IpAddr,
    /// What it carried: a number of [`portolan_wire::protocol`].
    pub protocol: u8,
    /// The beginning of that.
    pub quoted: &'a [u8],
    /// What went wrong.
    pub kind: ErrorKind,
}

/// Reads an error of ICMP for IPv4; none if it is no error, quotes nothing that can be read, or
/// tells of a link that cannot be.
pub fn read_v4<'a>(message: &icmpv4::Packet<'a>) -> Option<Report<'a>> {
    let packet = ipv4::Packet::parse_quoted(message.quoted()?).ok()?;
    let kind = match message.kind() {
        icmpv4::Kind::TIME_EXCEEDED | icmpv4::Kind::PARAMETER_PROBLEM => ErrorKind::Transient,
        _ => match message.code() {
            icmpv4::unreachable::FRAGMENTATION_NEEDED => {
                let mtu = message.next_hop_mtu().filter(|mtu| *mtu > 0).map(u32::from);
                if mtu.is_some_and(|mtu| mtu < LINK_MTU_MIN_V4) {
                    return None;
                }
                ErrorKind::TooBig { mtu: mtu.unwrap_or_else(|| plateau_below(packet.total_len())) }
            }
            code if HARD_V4.contains(&code) => ErrorKind::Unreachable,
            _ => ErrorKind::Transient,
        },
    };
    if packet.fragment_offset() > 0 {
        return None;
    }
    Some(Report {
        local: packet.source().into(),
        remote: packet.destination().into(),
        protocol: packet.protocol(),
        quoted: packet.payload(),
        kind,
    })
}

/// As [`read_v4`], of ICMPv6.
pub fn read_v6<'a>(message: &icmpv6::Packet<'a>) -> Option<Report<'a>> {
    let packet = ipv6::Packet::parse_quoted(message.quoted()?).ok()?;
    let upper = packet.upper_layer().ok()?;
    let kind = match message.kind() {
        // RFC 8201, section 4: one below the least that IPv6 asks of links is discarded.
        icmpv6::Kind::PACKET_TOO_BIG => {
            let mtu = message.mtu().filter(|mtu| *mtu >= MTU_MIN_V6.into())?;
            ErrorKind::TooBig { mtu }
        }
        icmpv6::Kind::DESTINATION_UNREACHABLE if HARD_V6.contains(&message.code()) => {
            ErrorKind::Unreachable
        }
        _ => ErrorKind::Transient,
    };
    if upper.is_later_fragment() {
        return None;
    }
    Some(Report {
        local: packet.source().into(),
        remote: packet.destination().into(),
        protocol: upper.protocol,
        quoted: upper.payload,
        kind,
    })
}

/// Whether the message is an error, that quotes a packet.
pub const fn is_error_v4(kind: icmpv4::Kind) -> bool {
    matches!(
        kind,
        icmpv4::Kind::DESTINATION_UNREACHABLE
            | icmpv4::Kind::TIME_EXCEEDED
            | icmpv4::Kind::PARAMETER_PROBLEM
    )
}

/// As [`is_error_v4`], of ICMPv6.
pub const fn is_error_v6(kind: icmpv6::Kind) -> bool {
    kind.0 < 128
}

/// Whether messages of this kind belong to neighbour discovery.
pub const fn is_ndp(kind: icmpv6::Kind) -> bool {
    matches!(
        kind,
        icmpv6::Kind::ROUTER_SOLICITATION
            | icmpv6::Kind::ROUTER_ADVERTISEMENT
            | icmpv6::Kind::NEIGHBOR_SOLICITATION
            | icmpv6::Kind::NEIGHBOR_ADVERTISEMENT
            | icmpv6::Kind::REDIRECT
    )
}

/// RFC 791, section 3.2: what every link takes, in bytes.
const LINK_MTU_MIN_V4: u32 = 68;

/// Codes that do not pass by themselves: RFC 1122, section 4.2.3.9, and prohibitions.
const HARD_V4: [u8; 5] = [
    icmpv4::unreachable::PROTOCOL,
    icmpv4::unreachable::PORT,
    icmpv4::unreachable::NETWORK_PROHIBITED,
    icmpv4::unreachable::HOST_PROHIBITED,
    icmpv4::unreachable::ADMINISTRATIVELY_PROHIBITED,
];
const HARD_V6: [u8; 4] = [
    icmpv6::unreachable::ADMINISTRATIVELY_PROHIBITED,
    icmpv6::unreachable::PORT,
    icmpv6::unreachable::SOURCE_POLICY,
    icmpv6::unreachable::REJECT_ROUTE,
];

#[cfg(test)]
mod tests;
