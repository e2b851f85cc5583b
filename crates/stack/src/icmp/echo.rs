//! Echo requests are answered: RFC 1122, section 3.2.2.6; RFC 4443, section 4.2.

use core::net::Ipv6Addr;

use alloc::vec::Vec;

use portolan_wire::{NoRoom, icmpv4, icmpv6};

/// Writes the reply to a request with these contents into the empty buffer.
///
/// # Errors
///
/// [`NoRoom`], which cannot be, as the buffer grows.
pub fn reply_v4(echo: icmpv4::Echo, data: &[u8], buffer: &mut Vec<u8>) -> Result<(), NoRoom> {
    buffer.resize(icmpv4::HEADER_BYTES, 0);
    buffer.extend_from_slice(data);
    icmpv4::Repr::EchoReply(echo).emit(buffer)
}

/// As [`reply_v4`], between these addresses.
///
/// # Errors
///
/// As for [`reply_v4`].
pub fn reply_v6(
    echo: icmpv6::Echo,
    data: &[u8],
    source: Ipv6Addr,
    destination: Ipv6Addr,
    buffer: &mut Vec<u8>,
) -> Result<(), NoRoom> {
    buffer.resize(icmpv6::HEADER_BYTES, 0);
    buffer.extend_from_slice(data);
    icmpv6::Repr::EchoReply(echo).emit(buffer, source, destination)
}
