//! UDP datagrams: RFC 768; over IPv6: RFC 8200, section 8.1.

use core::net::IpAddr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

use crate::{
    Malformed, NoRoom,
    checksum::{Check, full, partial},
    malformed::{split, split_header, write_header},
    protocol::UDP,
};

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// The longest payload in bytes: the length field counts the header too.
pub const PAYLOAD_BYTES_MAX: usize = u16::MAX as usize - HEADER_BYTES;

/// A view on a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    datagram: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the upper-layer payload of an IP packet. Bytes behind the length of the datagram are
    /// left out, as Linux does (`__udp4_lib_rcv`, net/ipv4/udp.c). A length of 0, which jumbograms
    /// have (RFC 2675), is refused.
    ///
    /// The checksum is not looked at: see [`check`](Self::check).
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the length is below 8 bytes, or when the header or the datagram is longer
    /// than the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, _) = split_header::<Header>("UDP header", bytes)?;
        let length = usize::from(header.length.get());
        if length < HEADER_BYTES {
            let what = "UDP length";
            return Err(Malformed::Length { what, least: HEADER_BYTES, found: length });
        }
        let (datagram, _) = split("UDP datagram", bytes, length)?;
        let payload = datagram.get(HEADER_BYTES..).unwrap_or_default();
        Ok(Self { header, datagram, payload })
    }

    /// What the first 8 bytes of a datagram say: an ICMP error need not quote more of it (RFC 792).
    /// None if there are fewer.
    pub fn parse_quoted_ports(bytes: &[u8]) -> Option<Quoted> {
        let (header, _) = Header::ref_from_prefix(bytes).ok()?;
        Some(Quoted {
            source_port: header.source_port.get(),
            destination_port: header.destination_port.get(),
        })
    }

    /// The port of the sender; 0 if it expects no answer.
    pub fn source_port(&self) -> u16 {
        self.header.source_port.get()
    }

    /// The port that the datagram is for.
    pub fn destination_port(&self) -> u16 {
        self.header.destination_port.get()
    }

    /// The checksum; 0 if the sender made none.
    pub fn checksum(&self) -> u16 {
        self.header.checksum.get()
    }

    /// The data.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// What the checksum says, in a packet between these addresses. [`Check::Absent`] is possible
    /// over IPv4 alone; over IPv6 a datagram without a checksum is [`Check::Wrong`]: RFC 8200,
    /// section 8.1.
    pub fn check(&self, source: IpAddr, destination: IpAddr) -> Check {
        match (self.checksum(), source) {
            (0, IpAddr::V4(_)) => Check::Absent,
            (0, IpAddr::V6(_)) => Check::Wrong,
            (field, _) => Check::of(self.datagram, field, UDP, source, destination),
        }
    }

    /// Whether the datagram arrived as it was sent, in a packet between these addresses: its
    /// [`check`](Self::check) is not wrong, which takes less time to find out where the sender is
    /// on this machine.
    pub fn is_intact(&self, source: IpAddr, destination: IpAddr) -> bool {
        match self.checksum() {
            0 => source.is_ipv4(),
            field => Check::holds(self.datagram, field, UDP, source, destination),
        }
    }

    /// The header as a value.
    pub fn repr(&self) -> Repr {
        Repr { source_port: self.source_port(), destination_port: self.destination_port() }
    }
}

/// What an ICMP error says at least about the datagram that it quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// The port of the datagram's sender, who gets the error.
    pub source_port: u16,
    /// The port that the datagram was for.
    pub destination_port: u16,
}

/// The header of a datagram; its length is that of the buffer into which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The port of the sender.
    pub source_port: u16,
    /// The port that the datagram is for.
    pub destination_port: u16,
}

impl Repr {
    /// Length of the header in bytes: 8.
    pub const fn header_len(&self) -> usize {
        HEADER_BYTES
    }

    /// Writes the header at the front of the buffer, with the checksum over all of the buffer and
    /// the pseudo header: the buffer is as long as the datagram, and the payload is already in it
    /// behind the first [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when the buffer is shorter than the header, [`NoRoom::Field`] when the
    /// payload has more than [`PAYLOAD_BYTES_MAX`]; nothing is written then.
    pub fn emit(
        &self,
        buffer: &mut [u8],
        source: IpAddr,
        destination: IpAddr,
    ) -> Result<(), NoRoom> {
        let header = self.write(buffer)?;
        let checksum = match full(buffer, UDP, source, destination) {
            // 0 says that there is none, and in this arithmetic the other one is 0 too: RFC 768.
            0 => u16::MAX,
            checksum => checksum,
        };
        write_header("UDP header", &Header { checksum: checksum.into(), ..header }, buffer)
    }

    /// As [`emit`](Self::emit), but the checksum is left to the device: its field gets the sum of
    /// the pseudo header, as with [`Check::Partial`], and the payload need not be there.
    ///
    /// # Errors
    ///
    /// As for [`emit`](Self::emit).
    pub fn emit_partial(
        &self,
        buffer: &mut [u8],
        source: IpAddr,
        destination: IpAddr,
    ) -> Result<(), NoRoom> {
        let header = self.write(buffer)?;
        let checksum = partial(buffer, UDP, source, destination);
        write_header("UDP header", &Header { checksum: checksum.into(), ..header }, buffer)
    }

    /// Writes the header without a checksum.
    fn write(&self, buffer: &mut [u8]) -> Result<Header, NoRoom> {
        let found = buffer.len().saturating_sub(HEADER_BYTES);
        let length = u16::try_from(buffer.len()).map_err(|_| NoRoom::Field {
            what: "UDP payload length",
            max: PAYLOAD_BYTES_MAX,
            found,
        })?;
        let header = Header {
            source_port: self.source_port.into(),
            destination_port: self.destination_port.into(),
            length: length.into(),
            checksum: U16::ZERO,
        };
        write_header("UDP header", &header, buffer)?;
        Ok(header)
    }
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    source_port: U16,
    destination_port: U16,
    length: U16,
    checksum: U16,
}

#[cfg(test)]
mod tests;
