//! IPv4: RFC 791.

use core::net::Ipv4Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

use crate::{
    Malformed, NoRoom,
    checksum::Sum,
    malformed::{split, split_header, write_header},
};

pub mod options;

pub use options::{OPTIONS_BYTES_MAX, Option_, Route};

/// Length of the header in bytes, without options.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// A view on a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    /// The header once more, with its options.
    header_bytes: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a packet. Bytes behind its total length, such as the padding of a short Ethernet
    /// frame, are left out of the payload.
    ///
    /// The checksum is not looked at: see [`checksum_is_right`](Self::checksum_is_right).
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the version is not 4, when a length is too small, or when the header or
    /// the packet is longer than the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let packet = Self::parse_header(bytes)?;
        let (needed, header_len) = (packet.total_len(), packet.header_len());
        if needed < header_len {
            let what = "IPv4 total length";
            return Err(Malformed::Length { what, least: header_len, found: needed });
        }
        let (payload, _) = packet
            .payload
            .split_at_checked(needed - header_len)
            .ok_or(Malformed::Truncated { what: "IPv4 packet", needed, found: bytes.len() })?;
        Ok(Self { payload, ..packet })
    }

    /// Reads the beginning of a packet, as an ICMP error quotes it: the payload is what is there,
    /// which may be less than the total length says (RFC 792: the header and 8 bytes).
    ///
    /// A total length that is smaller than the header is ignored: there are hosts that change the
    /// field before they quote the packet.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the version is not 4, or when the header is too small or cut.
    pub fn parse_quoted(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let packet = Self::parse_header(bytes)?;
        let payload = packet
            .total_len()
            .checked_sub(packet.header_len())
            .and_then(|payload_len| packet.payload.get(..payload_len))
            .unwrap_or(packet.payload);
        Ok(Self { payload, ..packet })
    }

    /// Reads the header; the payload is all that follows.
    fn parse_header(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, _) = split_header::<Header>("IPv4 header", bytes)?;
        let version = header.version_and_length >> 4;
        if version != 4 {
            return Err(Malformed::Version { what: "IPv4", expected: 4, found: version });
        }
        let header_len = usize::from(header.version_and_length & 0x0f) * 4;
        if header_len < HEADER_BYTES {
            let what = "IPv4 header length";
            return Err(Malformed::Length { what, least: HEADER_BYTES, found: header_len });
        }
        let (header_bytes, payload) = split("IPv4 header", bytes, header_len)?;
        Ok(Self { header, header_bytes, payload })
    }

    /// Length of the header in bytes, options included: 20 to 60.
    pub fn header_len(&self) -> usize {
        self.header_bytes.len()
    }

    /// Length in bytes of the packet as its sender made it, header included.
    pub fn total_len(&self) -> usize {
        self.header.total_length.get().into()
    }

    /// Differentiated services (upper 6 bits, RFC 2474) and ECN (lower 2 bits, RFC 3168).
    pub fn traffic_class(&self) -> u8 {
        self.header.traffic_class
    }

    /// What the fragments of a packet have in common.
    pub fn identification(&self) -> u16 {
        self.header.identification.get()
    }

    /// Whether routers may not fragment the packet.
    pub fn dont_fragment(&self) -> bool {
        self.header.fragment.get() & DONT_FRAGMENT != 0
    }

    /// Whether this is a fragment that others follow.
    pub fn more_fragments(&self) -> bool {
        self.header.fragment.get() & MORE_FRAGMENTS != 0
    }

    /// Where the payload belongs in that of the whole packet, in bytes.
    pub fn fragment_offset(&self) -> u16 {
        (self.header.fragment.get() & OFFSET) * 8
    }

    /// Whether the payload is a part of the upper layer's packet, and not all of it.
    pub fn is_fragment(&self) -> bool {
        self.header.fragment.get() & (MORE_FRAGMENTS | OFFSET) != 0
    }

    /// How many more routers may forward the packet.
    pub fn ttl(&self) -> u8 {
        self.header.ttl
    }

    /// What the payload is: a number of [`protocol`](crate::protocol).
    pub fn protocol(&self) -> u8 {
        self.header.protocol
    }

    /// The header checksum.
    pub fn checksum(&self) -> u16 {
        self.header.checksum.get()
    }

    /// Whether the header checksum is that of the header. In a quoted packet it often is not, as
    /// the router had changed the TTL.
    pub fn checksum_is_right(&self) -> bool {
        let mut sum = Sum::default();
        sum.add(self.header_bytes);
        sum.folded() == u16::MAX
    }

    /// The address of the sender.
    pub fn source(&self) -> Ipv4Addr {
        self.header.source.into()
    }

    /// The address that the packet is for.
    pub fn destination(&self) -> Ipv4Addr {
        self.header.destination.into()
    }

    /// The options, not taken apart: 0 to 40 bytes.
    pub fn option_bytes(&self) -> &'a [u8] {
        self.header_bytes.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// Goes through the options.
    pub fn options(&self) -> options::Iter<'a> {
        options::Iter::new(self.option_bytes())
    }

    /// What the packet carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as a value.
    pub fn repr(&self) -> Repr<'a> {
        Repr {
            traffic_class: self.traffic_class(),
            identification: self.identification(),
            dont_fragment: self.dont_fragment(),
            more_fragments: self.more_fragments(),
            fragment_offset: self.fragment_offset(),
            ttl: self.ttl(),
            protocol: self.protocol(),
            source: self.source(),
            destination: self.destination(),
            options: self.option_bytes(),
            payload_len: self.payload.len(),
        }
    }
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Differentiated services (upper 6 bits) and ECN (lower 2 bits).
    pub traffic_class: u8,
    /// What its fragments have in common.
    pub identification: u16,
    /// Whether routers may not fragment the packet.
    pub dont_fragment: bool,
    /// Whether this is a fragment that others follow.
    pub more_fragments: bool,
    /// Where the payload belongs in that of the whole packet, in bytes: a multiple of 8.
    pub fragment_offset: u16,
    /// How many routers may forward the packet.
    pub ttl: u8,
    /// What the payload is: a number of [`protocol`](crate::protocol).
    pub protocol: u8,
    /// The address of the sender.
    pub source: Ipv4Addr,
    /// The address that the packet is for.
    pub destination: Ipv4Addr,
    /// The options, at most [`OPTIONS_BYTES_MAX`]; they are padded to a multiple of 4 bytes.
    pub options: &'a [u8],
    /// Length in bytes of what follows the header, at most 65,515 without options.
    pub payload_len: usize,
}

impl Repr<'_> {
    /// Length of the header in bytes: 20, and that of the options with their padding.
    pub const fn header_len(&self) -> usize {
        HEADER_BYTES + self.options.len().next_multiple_of(4)
    }

    /// Writes the header with its checksum at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes. The payload need not be there.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer, [`NoRoom::Field`] when the payload or the options are
    /// too long for one packet, or when the fragment's offset is no multiple of 8; nothing is
    /// written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let what = "IPv4 header";
        let (needed, found) = (self.header_len(), buffer.len());
        let mut header = Header {
            version_and_length: 0x40 | self.words()?,
            traffic_class: self.traffic_class,
            total_length: self.total_length()?.into(),
            identification: self.identification.into(),
            fragment: self.fragment()?.into(),
            ttl: self.ttl,
            protocol: self.protocol,
            checksum: U16::ZERO,
            source: self.source.octets(),
            destination: self.destination.octets(),
        };
        let to = buffer.get_mut(..needed).ok_or(NoRoom::Buffer { what, needed, found })?;
        if let Some(to) = to.get_mut(HEADER_BYTES..) {
            let options = self.options.iter().copied().chain(core::iter::repeat(END_OF_OPTIONS));
            to.iter_mut().zip(options).for_each(|(to, byte)| *to = byte);
        }
        let mut sum = Sum::default();
        sum.add(header.as_bytes());
        // It fills whole words, and the padding is 0.
        sum.add(self.options);
        header.checksum = sum.finish().into();
        write_header(what, &header, to)
    }

    /// Length of the header in words of 4 bytes.
    fn words(&self) -> Result<u8, NoRoom> {
        match u8::try_from(self.header_len() / 4) {
            Ok(words @ ..=15) => Ok(words),
            _ => Err(NoRoom::Field {
                what: "length of IPv4 options",
                max: OPTIONS_BYTES_MAX,
                found: self.options.len(),
            }),
        }
    }

    fn total_length(&self) -> Result<u16, NoRoom> {
        let header_len = self.header_len();
        u16::try_from(self.payload_len.saturating_add(header_len)).map_err(|_| NoRoom::Field {
            what: "IPv4 payload length",
            max: usize::from(u16::MAX) - header_len,
            found: self.payload_len,
        })
    }

    /// The flags and the offset.
    fn fragment(&self) -> Result<u16, NoRoom> {
        if !self.fragment_offset.is_multiple_of(8) {
            return Err(NoRoom::Field {
                what: "IPv4 fragment offset, a multiple of 8,",
                max: usize::from(OFFSET) * 8,
                found: self.fragment_offset.into(),
            });
        }
        let dont_fragment = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let more_fragments = if self.more_fragments { MORE_FRAGMENTS } else { 0 };
        Ok(dont_fragment | more_fragments | (self.fragment_offset / 8))
    }
}

/// RFC 791, section 3.1.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    version_and_length: u8,
    traffic_class: u8,
    total_length: U16,
    identification: U16,
    fragment: U16,
    ttl: u8,
    protocol: u8,
    checksum: U16,
    source: [u8; 4],
    destination: [u8; 4],
}

const END_OF_OPTIONS: u8 = 0;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

#[cfg(test)]
mod tests;
