//! ICMP for IPv4: RFC 792, with the next-hop MTU of RFC 1191 and the extensions of RFC 4884.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

use crate::{
    Malformed, NoRoom,
    checksum::Sum,
    malformed::{split_header, write_header},
};

/// Length of the header in bytes, the word behind the checksum included.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// The type field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u8);

impl Kind {
    /// Answer to an echo request.
    pub const ECHO_REPLY: Self = Self(0);
    /// An error: the packet cannot be delivered. Its codes are in [`mod@unreachable`].
    pub const DESTINATION_UNREACHABLE: Self = Self(3);
    /// Another router is the better one.
    pub const REDIRECT: Self = Self(5);
    /// Asks for an echo reply.
    pub const ECHO_REQUEST: Self = Self(8);
    /// An error: the TTL reached 0 (code 0), or a fragment was missing for too long (code 1).
    pub const TIME_EXCEEDED: Self = Self(11);
    /// An error: a field of the IP header has a value that makes no sense.
    pub const PARAMETER_PROBLEM: Self = Self(12);
}

/// Codes of [`Kind::DESTINATION_UNREACHABLE`]: RFC 792, and RFC 1812, section 5.2.7.1.
pub mod unreachable {
    /// No route to the network.
    pub const NETWORK: u8 = 0;
    /// The host does not answer ARP.
    pub const HOST: u8 = 1;
    /// The host does not know the protocol.
    pub const PROTOCOL: u8 = 2;
    /// Nobody listens on the port.
    pub const PORT: u8 = 3;
    /// The packet is larger than the next link's MTU and may not be fragmented: RFC 1191.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// The source route failed.
    pub const SOURCE_ROUTE: u8 = 5;
    /// The network is not known.
    pub const NETWORK_UNKNOWN: u8 = 6;
    /// The host is not known.
    pub const HOST_UNKNOWN: u8 = 7;
    /// A rule forbids traffic to this network.
    pub const NETWORK_PROHIBITED: u8 = 9;
    /// A rule forbids traffic to this host.
    pub const HOST_PROHIBITED: u8 = 10;
    /// A rule of a router or firewall forbids this traffic.
    pub const ADMINISTRATIVELY_PROHIBITED: u8 = 13;
}

/// A view on a message.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    message: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the payload of an IPv4 packet. Any type and code is read.
    ///
    /// The checksum is not looked at: see [`checksum_is_right`](Self::checksum_is_right).
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`] when there are fewer than 8 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split_header::<Header>("ICMP header", bytes)?;
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

    /// Whether the checksum is that of the message.
    pub fn checksum_is_right(&self) -> bool {
        let mut sum = Sum::default();
        sum.add(self.message);
        sum.folded() == u16::MAX
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

    /// The largest packet in bytes that the next link takes, of "fragmentation needed"; routers
    /// older than RFC 1191 write 0. None with other types and codes.
    pub fn next_hop_mtu(&self) -> Option<u16> {
        let [.., c, d] = self.header.rest;
        let has_mtu = self.kind() == Kind::DESTINATION_UNREACHABLE
            && self.code() == unreachable::FRAGMENTATION_NEEDED;
        has_mtu.then_some(u16::from_be_bytes([c, d]))
    }

    /// The beginning of the packet that an error is about, for
    /// [`ipv4::Packet::parse_quoted`](crate::ipv4::Packet::parse_quoted). None when the message is
    /// no such error: destination unreachable, time exceeded, parameter problem.
    ///
    /// Extensions behind the quoted packet are left out: RFC 4884, section 5.1.
    pub fn quoted(&self) -> Option<&'a [u8]> {
        let [_, words, ..] = self.header.rest;
        matches!(
            self.kind(),
            Kind::DESTINATION_UNREACHABLE | Kind::TIME_EXCEEDED | Kind::PARAMETER_PROBLEM
        )
        .then(|| cut_extensions(self.payload, usize::from(words) * 4))
    }

    /// What follows the header: the data of an echo, the quoted packet of an error.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as a value; none with types that [`Repr`] does not have.
    pub fn repr(&self) -> Option<Repr> {
        let code = self.code();
        let [pointer, ..] = self.header.rest;
        Some(match self.kind() {
            Kind::ECHO_REQUEST => Repr::EchoRequest(self.echo()?),
            Kind::ECHO_REPLY => Repr::EchoReply(self.echo()?),
            Kind::DESTINATION_UNREACHABLE => Repr::DestinationUnreachable {
                code,
                next_hop_mtu: self.next_hop_mtu().unwrap_or_default(),
            },
            Kind::TIME_EXCEEDED => Repr::TimeExceeded { code },
            Kind::PARAMETER_PROBLEM => Repr::ParameterProblem { code, pointer },
            _ => return None,
        })
    }
}

/// What an echo request and its reply have in common: RFC 792 and RFC 4443, section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Who asks; Linux writes a number per socket.
    pub identifier: u16,
    /// Which of their requests.
    pub sequence: u16,
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
        /// The next link's MTU in bytes; 0 with other codes than
        /// [`unreachable::FRAGMENTATION_NEEDED`].
        next_hop_mtu: u16,
    },
    /// The quoted packet, which follows the header, was too long on the way.
    TimeExceeded {
        /// 0 for the TTL, 1 for the reassembly of fragments.
        code: u8,
    },
    /// The header of the quoted packet, which follows this one, makes no sense.
    ParameterProblem {
        /// 0 when the pointer says where.
        code: u8,
        /// The byte of the quoted packet at which the error is.
        pointer: u8,
    },
}

impl Repr {
    /// Length of the header in bytes: 8.
    pub const fn header_len(&self) -> usize {
        HEADER_BYTES
    }

    /// Writes the header at the front of the buffer, with the checksum over all of the buffer: it
    /// is as long as the message, and what follows the header is already in it.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer than [`header_len`](Self::header_len) bytes; nothing is
    /// written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let (kind, code, rest) = self.fields();
        let mut header = Header { kind: kind.0, code, checksum: U16::ZERO, rest };
        write_header("ICMP header", &header, buffer)?;
        let mut sum = Sum::default();
        sum.add(buffer);
        header.checksum = sum.finish().into();
        write_header("ICMP header", &header, buffer)
    }

    fn fields(&self) -> (Kind, u8, [u8; 4]) {
        match *self {
            Self::EchoRequest(echo) => (Kind::ECHO_REQUEST, 0, echo.to_bytes()),
            Self::EchoReply(echo) => (Kind::ECHO_REPLY, 0, echo.to_bytes()),
            Self::DestinationUnreachable { code, next_hop_mtu } => {
                let [c, d] = next_hop_mtu.to_be_bytes();
                (Kind::DESTINATION_UNREACHABLE, code, [0, 0, c, d])
            }
            Self::TimeExceeded { code } => (Kind::TIME_EXCEEDED, code, [0; 4]),
            Self::ParameterProblem { code, pointer } => {
                (Kind::PARAMETER_PROBLEM, code, [pointer, 0, 0, 0])
            }
        }
    }
}

impl Echo {
    pub(crate) fn to_bytes(self) -> [u8; 4] {
        let [a, b] = self.identifier.to_be_bytes();
        let [c, d] = self.sequence.to_be_bytes();
        [a, b, c, d]
    }
}

/// The quoted packet without the extensions that follow it if its length is said.
///
/// RFC 4884, section 3: it has 128 bytes or more where extensions follow. A smaller length is
/// something else that an older sender left in the field.
pub(crate) fn cut_extensions(payload: &[u8], length: usize) -> &[u8] {
    if length < QUOTED_BYTES_MIN { payload } else { payload.get(..length).unwrap_or(payload) }
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    kind: u8,
    code: u8,
    checksum: U16,
    rest: [u8; 4],
}

const QUOTED_BYTES_MIN: usize = 128;

#[cfg(test)]
mod tests;
