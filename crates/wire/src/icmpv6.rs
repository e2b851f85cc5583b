//! ICMP for IPv6: RFC 4443, with the extensions of RFC 4884.

use core::net::{IpAddr, Ipv6Addr};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

pub use crate::icmpv4::Echo;
use crate::{
    Malformed, NoRoom,
    checksum::{Check, full},
    icmpv4::cut_extensions,
    malformed::{split_header, write_header},
    protocol::ICMPV6,
};

/// Length of the header in bytes, the word behind the checksum included.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// The type field. Errors are below 128: RFC 4443, section 2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u8);

impl Kind {
    /// An error: the packet cannot be delivered. Its codes are in [`mod@unreachable`].
    pub const DESTINATION_UNREACHABLE: Self = Self(1);
    /// An error: the packet is larger than the next link's MTU.
    pub const PACKET_TOO_BIG: Self = Self(2);
    /// An error: the hop limit reached 0 (code 0), or a fragment was missing for too long (code 1).
    pub const TIME_EXCEEDED: Self = Self(3);
    /// An error: a field of a header (code 0), a next header (code 1) or an option (code 2) is not
    /// known.
    pub const PARAMETER_PROBLEM: Self = Self(4);
    /// Asks for an echo reply.
    pub const ECHO_REQUEST: Self = Self(128);
    /// Answer to an echo request.
    pub const ECHO_REPLY: Self = Self(129);
    /// Asks who listens to groups: RFC 2710, section 3, as for the two that follow.
    pub const MULTICAST_LISTENER_QUERY: Self = Self(130);
    /// Tells a group that is listened to, in version 1.
    pub const MULTICAST_LISTENER_REPORT: Self = Self(131);
    /// Tells a group that is not listened to any more, in version 1.
    pub const MULTICAST_LISTENER_DONE: Self = Self(132);
    /// Tells what is listened to: RFC 3810, section 5.2.
    pub const MULTICAST_LISTENER_REPORT_V2: Self = Self(143);
    /// Asks routers to advertise themselves: RFC 4861, section 4.1, as for the four that follow.
    pub const ROUTER_SOLICITATION: Self = Self(133);
    /// Tells about a router.
    pub const ROUTER_ADVERTISEMENT: Self = Self(134);
    /// Asks for a neighbour's hardware address.
    pub const NEIGHBOR_SOLICITATION: Self = Self(135);
    /// Tells a hardware address.
    pub const NEIGHBOR_ADVERTISEMENT: Self = Self(136);
    /// Tells a better first hop.
    pub const REDIRECT: Self = Self(137);
}

/// Codes of [`Kind::DESTINATION_UNREACHABLE`]: RFC 4443, section 3.1.
pub mod unreachable {
    /// No route to the destination.
    pub const NO_ROUTE: u8 = 0;
    /// A rule of a router or firewall forbids this traffic.
    pub const ADMINISTRATIVELY_PROHIBITED: u8 = 1;
    /// The source address does not reach so far.
    pub const BEYOND_SCOPE: u8 = 2;
    /// The host does not answer neighbour solicitations.
    pub const ADDRESS: u8 = 3;
    /// Nobody listens on the port.
    pub const PORT: u8 = 4;
    /// A rule forbids this source address.
    pub const SOURCE_POLICY: u8 = 5;
    /// The route to the destination rejects traffic.
    pub const REJECT_ROUTE: u8 = 6;
}

/// A view on a message.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    message: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the upper-layer payload of an IPv6 packet. Any type and code is read.
    ///
    /// The checksum is not looked at: see [`check`](Self::check).
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`] when there are fewer than 8 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split_header::<Header>("ICMPv6 header", bytes)?;
        Ok(Self { header, message: bytes, payload })
    }

    /// The type.
    pub fn kind(&self) -> Kind {
        Kind(self.header.kind)
    }

    /// The code, of which the meaning depends on the type.
    pub fn code(&self) -> u8 {
        self.header.code
    }

    /// The checksum.
    pub fn checksum(&self) -> u16 {
        self.header.checksum.get()
    }

    /// What the checksum says, in a packet between these addresses: RFC 4443, section 2.3.
    pub fn check(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Check {
        let (source, destination) = (IpAddr::V6(source), IpAddr::V6(destination));
        Check::of(self.message, self.checksum(), ICMPV6, source, destination)
    }

    /// What belongs to an echo request or reply; none with other types.
    pub fn echo(&self) -> Option<Echo> {
        let is_echo = matches!(self.kind(), Kind::ECHO_REQUEST | Kind::ECHO_REPLY);
        let [a, b, c, d] = self.header.rest;
        is_echo.then_some(Echo {
            identifier: u16::from_be_bytes([a, b]),
            sequence: u16::from_be_bytes([c, d]),
        })
    }

    /// The largest packet in bytes that the next link takes, of "packet too big"; none with other
    /// types.
    pub fn mtu(&self) -> Option<u32> {
        (self.kind() == Kind::PACKET_TOO_BIG).then_some(u32::from_be_bytes(self.header.rest))
    }

    /// The beginning of the packet that an error is about, for
    /// [`ipv6::Packet::parse_quoted`](crate::ipv6::Packet::parse_quoted). None when the message is
    /// no such error: destination unreachable, packet too big, time exceeded, parameter problem.
    ///
    /// Extensions behind the quoted packet are left out: RFC 4884, section 4.
    pub fn quoted(&self) -> Option<&'a [u8]> {
        let [words, ..] = self.header.rest;
        match self.kind() {
            Kind::DESTINATION_UNREACHABLE | Kind::TIME_EXCEEDED => {
                Some(cut_extensions(self.payload, usize::from(words) * 8))
            }
            Kind::PACKET_TOO_BIG | Kind::PARAMETER_PROBLEM => Some(self.payload),
            _ => None,
        }
    }

    /// The word behind the checksum, of which the meaning depends on the type.
    pub(crate) fn rest(&self) -> [u8; 4] {
        self.header.rest
    }

    /// What follows the header: the data of an echo, the quoted packet of an error.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as a value; none with types that [`Repr`] does not have.
    pub fn repr(&self) -> Option<Repr> {
        let code = self.code();
        Some(match self.kind() {
            Kind::ECHO_REQUEST => Repr::EchoRequest(self.echo()?),
            Kind::ECHO_REPLY => Repr::EchoReply(self.echo()?),
            Kind::DESTINATION_UNREACHABLE => Repr::DestinationUnreachable { code },
            Kind::PACKET_TOO_BIG => Repr::PacketTooBig { mtu: self.mtu()? },
            Kind::TIME_EXCEEDED => Repr::TimeExceeded { code },
            Kind::PARAMETER_PROBLEM => {
                Repr::ParameterProblem { code, pointer: u32::from_be_bytes(self.header.rest) }
            }
            _ => return None,
        })
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// Asks for a reply with the same data, which is what follows the header.
    EchoRequest(Echo),
    /// The reply.
    EchoReply(Echo),
    /// The quoted packet, which follows the header, cannot be delivered.
    DestinationUnreachable {
        /// One of [`mod@unreachable`].
        code: u8,
    },
    /// The quoted packet, which follows the header, is too large for the next link.
    PacketTooBig {
        /// The next link's MTU in bytes.
        mtu: u32,
    },
    /// The quoted packet, which follows the header, was too long on the way.
    TimeExceeded {
        /// 0 for the hop limit, 1 for the reassembly of fragments.
        code: u8,
    },
    /// A header of the quoted packet, which follows this one, is not understood.
    ParameterProblem {
        /// 0 for a field, 1 for a next header, 2 for an option.
        code: u8,
        /// The byte of the quoted packet at which the error is.
        pointer: u32,
    },
}

impl Repr {
    /// Length of the header in bytes: 8.
    pub const fn header_len(&self) -> usize {
        HEADER_BYTES
    }

    /// Writes the header at the front of the buffer, with the checksum over all of the buffer and
    /// the pseudo header: the buffer is as long as the message, and what follows the header is
    /// already in it.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer than [`header_len`](Self::header_len) bytes; nothing is
    /// written then.
    pub fn emit(
        &self,
        buffer: &mut [u8],
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> Result<(), NoRoom> {
        let (kind, code, rest) = self.fields();
        let mut header = Header { kind: kind.0, code, checksum: U16::ZERO, rest };
        write_header("ICMPv6 header", &header, buffer)?;
        let (source, destination) = (IpAddr::V6(source), IpAddr::V6(destination));
        header.checksum = full(buffer, ICMPV6, source, destination).into();
        write_header("ICMPv6 header", &header, buffer)
    }

    fn fields(&self) -> (Kind, u8, [u8; 4]) {
        match *self {
            Self::EchoRequest(echo) => (Kind::ECHO_REQUEST, 0, echo.to_bytes()),
            Self::EchoReply(echo) => (Kind::ECHO_REPLY, 0, echo.to_bytes()),
            Self::DestinationUnreachable { code } => (Kind::DESTINATION_UNREACHABLE, code, [0; 4]),
            Self::PacketTooBig { mtu } => (Kind::PACKET_TOO_BIG, 0, mtu.to_be_bytes()),
            Self::TimeExceeded { code } => (Kind::TIME_EXCEEDED, code, [0; 4]),
            Self::ParameterProblem { code, pointer } => {
                (Kind::PARAMETER_PROBLEM, code, pointer.to_be_bytes())
            }
        }
    }
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    kind: u8,
    code: u8,
    checksum: U16,
    rest: [u8; 4],
}

#[cfg(test)]
mod tests;
