//! Errors that this host sends: RFC 1122, section 3.2.2; RFC 4443, section 2.4.

use core::net::IpAddr;

use alloc::vec::Vec;

use portolan_wire::{NoRoom, icmpv4, icmpv6, ipv4, ipv6, protocol};

use crate::ip::{
    carrier::{Carrier, Cast},
    ipv6::is_host,
};

/// What is wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Nobody reads on its port.
    Port,
    /// Nobody knows its protocol, which is named at this byte of the packet.
    Protocol {
        /// The byte.
        named_at: usize,
    },
    /// Some of its fragments are missing.
    Incomplete,
    /// A header of IPv6 is not understood.
    Parameter {
        /// The code of the parameter problem.
        code: u8,
        /// The byte of the packet.
        pointer: usize,
        /// Whether it is told even if the packet was for many.
        even_to_groups: bool,
    },
}

/// Whether an error may be sent to the one who sent the packet.
pub fn is_allowed(carrier: &Carrier<'_>, problem: Problem) -> bool {
    let even_to_groups = matches!(problem, Problem::Parameter { even_to_groups: true, .. });
    let is_single = carrier.cast == Cast::Unicast && carrier.is_link_unicast;
    if !is_single && !even_to_groups {
        return false;
    }
    match carrier.source {
        IpAddr::V4(_) => !is_error_v4(carrier.packet),
        IpAddr::V6(source) => is_host(source) && !is_error_v6(carrier.packet),
    }
}

/// Whether the packet is an ICMP error itself, or a fragment that does not tell.
fn is_error_v4(packet: &[u8]) -> bool {
    let Ok(packet) = ipv4::Packet::parse_quoted(packet) else { return true };
    if packet.fragment_offset() > 0 {
        return true;
    }
    if packet.protocol() != protocol::ICMPV4 {
        return false;
    }
    let is_question = |kind: &u8| INFORMATION.contains(kind);
    !packet.payload().first().is_some_and(is_question)
}

fn is_error_v6(packet: &[u8]) -> bool {
    let Ok(packet) = ipv6::Packet::parse_quoted(packet) else { return true };
    let Ok(upper) = packet.upper_layer() else { return false };
    let is_error = |kind: &u8| *kind < 128 || *kind == icmpv6::Kind::REDIRECT.0;
    // Of a later fragment, the type is not known.
    upper.protocol == protocol::ICMPV6
        && (upper.is_later_fragment() || upper.payload.first().is_none_or(is_error))
}

/// Writes the error about the packet into the empty buffer, from `source`, an address of ours, to
/// the packet's.
///
/// # Errors
///
/// [`NoRoom`], which cannot be, as the buffer grows.
pub fn write(
    problem: Problem,
    carrier: &Carrier<'_>,
    source: IpAddr,
    buffer: &mut Vec<u8>,
) -> Result<(), NoRoom> {
    let quote = |most: usize| carrier.packet.get(..most).unwrap_or(carrier.packet);
    match (source, carrier.source) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            buffer.resize(icmpv6::HEADER_BYTES, 0);
            buffer.extend_from_slice(quote(QUOTE_BYTES_MAX_V6));
            repr_v6(problem).emit(buffer, source, destination)
        }
        _ => {
            buffer.resize(icmpv4::HEADER_BYTES, 0);
            buffer.extend_from_slice(quote(QUOTE_BYTES_MAX_V4));
            repr_v4(problem).emit(buffer)
        }
    }
}

fn repr_v4(problem: Problem) -> icmpv4::Repr {
    let unreachable = |code| icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu: 0 };
    match problem {
        Problem::Port => unreachable(icmpv4::unreachable::PORT),
        Problem::Protocol { .. } => unreachable(icmpv4::unreachable::PROTOCOL),
        Problem::Incomplete => icmpv4::Repr::TimeExceeded { code: MISSING_FRAGMENT },
        Problem::Parameter { pointer, .. } => {
            let pointer = u8::try_from(pointer).unwrap_or(u8::MAX);
            icmpv4::Repr::ParameterProblem { code: 0, pointer }
        }
    }
}

fn repr_v6(problem: Problem) -> icmpv6::Repr {
    let parameter = |code, pointer: usize| {
        let pointer = u32::try_from(pointer).unwrap_or(u32::MAX);
        icmpv6::Repr::ParameterProblem { code, pointer }
    };
    match problem {
        Problem::Port => icmpv6::Repr::DestinationUnreachable { code: icmpv6::unreachable::PORT },
        Problem::Protocol { named_at } => parameter(crate::ip::ipv6::UNKNOWN_NEXT_HEADER, named_at),
        Problem::Incomplete => icmpv6::Repr::TimeExceeded { code: MISSING_FRAGMENT },
        Problem::Parameter { code, pointer, .. } => parameter(code, pointer),
    }
}

/// Types of ICMP that are no errors: echo, timestamp, information, address mask: RFC 1122,
/// section 3.2.2. The error of a kind that nobody knows is not answered either.
const INFORMATION: [u8; 8] = [0, 8, 13, 14, 15, 16, 17, 18];
const MISSING_FRAGMENT: u8 = 1;
/// RFC 1812, section 4.3.2.3: the error has 576 bytes at most.
const QUOTE_BYTES_MAX_V4: usize = 576 - ipv4::HEADER_BYTES - icmpv4::HEADER_BYTES;
/// RFC 4443, section 2.4 (c): the smallest MTU.
const QUOTE_BYTES_MAX_V6: usize = 1_280 - ipv6::HEADER_BYTES - icmpv6::HEADER_BYTES;
