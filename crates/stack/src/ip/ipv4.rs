//! IPv4 packets that arrive: RFC 791, RFC 1122, section 3.2.1.

use core::net::{IpAddr, Ipv4Addr};

use portolan_wire::{
    ipv4::{Option_, Packet},
    protocol, tcp,
};

use super::{
    address::Addresses,
    carrier::{Carrier, Cast, Content, Part},
};
use crate::counters::Dropped;

/// Checks a packet that arrived.
///
/// # Errors
///
/// Why it is dropped.
pub fn accept<'a>(
    bytes: &'a [u8],
    is_link_unicast: bool,
    addresses: &Addresses,
) -> Result<(Carrier<'a>, Content<'a>), Dropped> {
    let packet = Packet::parse(bytes).map_err(|_| Dropped::IpMalformed)?;
    if !packet.checksum_is_right() {
        return Err(Dropped::IpChecksum);
    }
    check_source(packet.source(), addresses)?;
    let cast = cast(packet.destination(), addresses).ok_or(Dropped::IpDestination)?;
    if cast == Cast::Unicast && !is_link_unicast {
        return Err(Dropped::IpLinkBroadcast);
    }
    check_options(&packet)?;
    let carrier = Carrier {
        source: packet.source().into(),
        destination: packet.destination().into(),
        traffic_class: packet.traffic_class(),
        cast,
        is_link_unicast,
        packet: bytes.get(..packet.total_len()).unwrap_or(bytes),
        header_len: packet.header_len(),
    };
    let (protocol, payload) = (packet.protocol(), packet.payload());
    if !packet.is_fragment() {
        return Ok((carrier, Content::Whole { protocol, named_at: PROTOCOL_AT, payload }));
    }
    let part = Part {
        identification: packet.identification().into(),
        protocol,
        offset: packet.fragment_offset(),
        more: packet.more_fragments(),
        payload,
    };
    check_tiny(&part)?;
    Ok((carrier, Content::Part(part)))
}

/// RFC 1122, section 3.2.1.3: what is no address of one host is no source.
fn check_source(source: Ipv4Addr, addresses: &Addresses) -> Result<(), Dropped> {
    let [first, ..] = source.octets();
    let is_host = first != 0 && !source.is_loopback() && first < MULTICAST_FIRST;
    if !is_host || addresses.is_broadcast(source) {
        return Err(Dropped::IpSource);
    }
    if addresses.is_own(IpAddr::V4(source)) {
        return Err(Dropped::IpSourceOwn);
    }
    Ok(())
}

/// For how many the packet is; none if not for us.
fn cast(destination: Ipv4Addr, addresses: &Addresses) -> Option<Cast> {
    if addresses.is_own(IpAddr::V4(destination)) {
        Some(Cast::Unicast)
    } else if addresses.is_broadcast(destination) {
        Some(Cast::Broadcast)
    } else if addresses.is_group(IpAddr::V4(destination)) {
        Some(Cast::Multicast)
    } else {
        None
    }
}

/// Source routes are refused: RFC 7126, section 4.3. The others say nothing to a host.
fn check_options(packet: &Packet<'_>) -> Result<(), Dropped> {
    for option in packet.options() {
        match option {
            Ok(Option_::LooseSourceRoute(_) | Option_::StrictSourceRoute(_)) => {
                return Err(Dropped::SourceRoute);
            }
            Ok(_) => {}
            Err(_) => return Err(Dropped::IpOptions),
        }
    }
    Ok(())
}

/// RFC 1858, section 3: no fragment cuts, or writes over, a header of TCP.
fn check_tiny(part: &Part<'_>) -> Result<(), Dropped> {
    let cuts = part.offset == 0 && part.payload.len() < tcp::HEADER_BYTES;
    let writes_over = part.offset > 0 && usize::from(part.offset) < tcp::HEADER_BYTES;
    if part.protocol == protocol::TCP && (cuts || writes_over) {
        return Err(Dropped::FragmentTiny);
    }
    Ok(())
}

/// Where the protocol field is.
pub const PROTOCOL_AT: usize = 9;
/// Multicast begins here, and what is reserved follows.
const MULTICAST_FIRST: u8 = 224;
