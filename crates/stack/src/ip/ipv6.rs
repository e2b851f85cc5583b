//! IPv6 packets that arrive: RFC 8200.

use core::net::{IpAddr, Ipv6Addr};

use portolan_wire::{
    icmpv6,
    ipv6::{
        EXTENSIONS_MAX, Extension, HEADER_BYTES, Packet,
        extension::{
            Repr,
            options::{self, Unrecognized},
        },
    },
    protocol, tcp, udp,
};

use super::{
    address::Addresses,
    carrier::{Carrier, Cast, Content, Part},
};
use crate::counters::Dropped;

/// Why a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is dropped.
    Silent(Dropped),
    /// It is dropped, and its sender told where the error is: RFC 4443, section 3.4.
    Problem {
        /// Why.
        reason: Dropped,
        /// The code of the parameter problem.
        code: u8,
        /// The byte of the packet.
        pointer: usize,
        /// Whether it is told even if the packet was for many.
        even_to_groups: bool,
    },
}

impl Refusal {
    const fn problem(reason: Dropped, code: u8, pointer: usize) -> Self {
        Self::Problem { reason, code, pointer, even_to_groups: false }
    }
}

/// Checks the header of a packet that arrived: who may have sent it, and whether it is for us. Says
/// what the first header behind it is, and what follows.
///
/// # Errors
///
/// Why it is dropped.
pub fn accept<'a>(
    bytes: &'a [u8],
    is_link_unicast: bool,
    addresses: &Addresses,
) -> Result<(Carrier<'a>, Packet<'a>), Dropped> {
    let packet = Packet::parse(bytes).map_err(|_| Dropped::IpMalformed)?;
    check_source(&packet, addresses)?;
    let cast = cast(&packet, addresses).ok_or(Dropped::IpDestination)?;
    if cast == Cast::Unicast && !is_link_unicast {
        return Err(Dropped::IpLinkBroadcast);
    }
    let carrier = Carrier {
        source: packet.source().into(),
        destination: packet.destination().into(),
        traffic_class: packet.traffic_class(),
        cast,
        is_link_unicast,
        packet: bytes.get(..HEADER_BYTES + packet.payload_len()).unwrap_or(bytes),
        header_len: HEADER_BYTES,
    };
    Ok((carrier, packet))
}

/// RFC 4291, sections 2.5.3 and 2.7: what no packet on a link may come from. The unspecified
/// address is for those that have none yet, and ask for a neighbour or router.
fn check_source(packet: &Packet<'_>, addresses: &Addresses) -> Result<(), Dropped> {
    let source = packet.source();
    let is_anonymous = source.is_unspecified() && packet.next_header() != protocol::ICMPV6;
    let is_mapped = source.to_ipv4_mapped().is_some();
    if source.is_multicast() || source.is_loopback() || is_mapped || is_anonymous {
        return Err(Dropped::IpSource);
    }
    // Who has the same address says so from it: that is for neighbour discovery to hear.
    if addresses.is_own(IpAddr::V6(source)) && packet.next_header() != protocol::ICMPV6 {
        return Err(Dropped::IpSourceOwn);
    }
    Ok(())
}

/// For how many the packet is; none if not for us.
fn cast(packet: &Packet<'_>, addresses: &Addresses) -> Option<Cast> {
    let destination = IpAddr::V6(packet.destination());
    // RFC 4862, section 5.4: as long as it is not known to be ours alone.
    let may_be_told = packet.next_header() == protocol::ICMPV6;
    if addresses.is_own(destination) || (may_be_told && addresses.is_tentative(destination)) {
        Some(Cast::Unicast)
    } else if addresses.is_group(destination) {
        Some(Cast::Multicast)
    } else {
        None
    }
}

/// Where a walk through headers begins.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The first header: a number of [`protocol`].
    pub protocol: u8,
    /// Where in the packet that is said.
    pub named_at: usize,
    /// Where in the packet the header is.
    pub offset: usize,
    /// The header, and all that follows.
    pub bytes: &'a [u8],
    /// Whether a fragment header may come; in what was put together there is none.
    pub may_be_part: bool,
}

impl<'a> Start<'a> {
    /// Behind the header of a packet.
    pub fn of(packet: &Packet<'a>) -> Self {
        Self {
            protocol: packet.next_header(),
            named_at: NEXT_HEADER_AT,
            offset: HEADER_BYTES,
            bytes: packet.payload(),
            may_be_part: true,
        }
    }
}

/// Walks the extension headers: says what follows them, and where in the packet.
///
/// # Errors
///
/// Why the packet is dropped.
pub fn walk(start: Start<'_>) -> Result<(Content<'_>, usize), Refusal> {
    let mut at = start;
    for _ in 0..=EXTENSIONS_MAX {
        let here = at;
        let unknown = Refusal::problem(Dropped::ProtocolUnknown, UNKNOWN_NEXT_HEADER, at.named_at);
        if at.protocol == protocol::HOP_BY_HOP && at.offset != HEADER_BYTES {
            return Err(unknown);
        }
        // It cannot be checked here.
        let parsed = match at.protocol {
            protocol::AUTHENTICATION => None,
            protocol => Repr::parse(protocol, at.bytes)
                .map_err(|_| Refusal::Silent(Dropped::ExtensionMalformed))?,
        };
        let Some((header, rest)) = parsed else {
            let Start { protocol, named_at, bytes: payload, offset, .. } = at;
            return Ok((Content::Whole { protocol, named_at, payload }, offset));
        };
        at = Start {
            protocol: header.next_header,
            named_at: here.offset,
            offset: here.offset + here.bytes.len().saturating_sub(rest.len()),
            bytes: rest,
            ..at
        };
        match header.extension {
            Extension::HopByHop(bytes) | Extension::DestinationOptions(bytes) => {
                check_options(bytes, here.offset)?;
            }
            Extension::Routing(routing) if routing.segments_left > 0 => {
                // RFC 8200, section 4.4, and RFC 5095: it points to the type.
                let reason = Dropped::SourceRoute;
                return Err(Refusal::problem(reason, ERRONEOUS_FIELD, here.offset + 2));
            }
            Extension::Fragment(fragment) => {
                if !here.may_be_part {
                    return Err(Refusal::Silent(Dropped::FragmentMalformed));
                }
                at.may_be_part = false;
                // RFC 6946: it is all there, whatever other fragments wait under its number.
                if fragment.offset > 0 || fragment.more_fragments {
                    let part = Part {
                        identification: fragment.identification,
                        protocol: header.next_header,
                        offset: fragment.offset,
                        more: fragment.more_fragments,
                        payload: rest,
                    };
                    check_part(&part, at, here.offset)?;
                    return Ok((Content::Part(part), at.offset));
                }
            }
            Extension::Routing(_) | Extension::Authentication(_) => {}
        }
    }
    Err(Refusal::Silent(Dropped::ExtensionMalformed))
}

/// RFC 8200, section 4.2: the highest bits say what a host does that does not know an option.
fn check_options(bytes: &[u8], offset: usize) -> Result<(), Refusal> {
    for option in options::Iter::new(bytes) {
        let option = option.map_err(|_| Refusal::Silent(Dropped::IpOptions))?;
        let problem = |even_to_groups| Refusal::Problem {
            reason: Dropped::IpOptions,
            code: UNKNOWN_OPTION,
            pointer: offset + option.offset,
            even_to_groups,
        };
        match option.kind.unrecognized() {
            Unrecognized::Skip => {}
            Unrecognized::Discard => return Err(Refusal::Silent(Dropped::IpOptions)),
            Unrecognized::Report => return Err(problem(true)),
            Unrecognized::ReportUnlessMulticast => return Err(problem(false)),
        }
    }
    Ok(())
}

/// RFC 8200, section 4.5: lengths, of the whole with the headers that all fragments have. RFC 7112:
/// the first fragment has all headers.
fn check_part(part: &Part<'_>, behind: Start<'_>, header_at: usize) -> Result<(), Refusal> {
    let malformed = Dropped::FragmentMalformed;
    if part.more && !part.payload.len().is_multiple_of(8) {
        return Err(Refusal::problem(malformed, ERRONEOUS_FIELD, PAYLOAD_LENGTH_AT));
    }
    let unfragmentable = header_at.saturating_sub(HEADER_BYTES);
    if unfragmentable + usize::from(part.offset) + part.payload.len() > usize::from(u16::MAX) {
        return Err(Refusal::problem(malformed, ERRONEOUS_FIELD, header_at + 2));
    }
    if part.offset == 0 {
        let tiny = Refusal::problem(Dropped::FragmentTiny, INCOMPLETE_CHAIN, 0);
        let (content, _) = match walk(behind) {
            Err(Refusal::Silent(Dropped::ExtensionMalformed)) => return Err(tiny),
            walked => walked?,
        };
        let Content::Whole { protocol, payload, .. } = content else { return Err(tiny) };
        let least = match protocol {
            protocol::TCP => tcp::HEADER_BYTES,
            protocol::UDP => udp::HEADER_BYTES,
            protocol::ICMPV6 => icmpv6::HEADER_BYTES,
            _ => 0,
        };
        if payload.len() < least {
            return Err(tiny);
        }
    }
    Ok(())
}

/// Whether an address may be the target of an answer.
pub fn is_host(address: Ipv6Addr) -> bool {
    !address.is_multicast() && !address.is_unspecified() && !address.is_loopback()
}

/// Where the next header field is.
const NEXT_HEADER_AT: usize = 6;
const PAYLOAD_LENGTH_AT: usize = 4;

// Codes of parameter problems: RFC 4443, section 3.4.
const ERRONEOUS_FIELD: u8 = 0;
/// The code for a protocol that nobody knows.
pub const UNKNOWN_NEXT_HEADER: u8 = 1;
const UNKNOWN_OPTION: u8 = 2;
/// RFC 7112, section 5.
const INCOMPLETE_CHAIN: u8 = 3;
