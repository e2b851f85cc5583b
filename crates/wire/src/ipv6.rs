//! IPv6 and its extension headers: RFC 8200.

use core::net::Ipv6Addr;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    network_endian::{U16, U32},
};

use crate::{
    Malformed, NoRoom,
    malformed::{split, split_header, write_header},
    protocol,
};

/// Length of the header in bytes, without extension headers.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// How many extension headers are walked. RFC 8200, section 4.1, lists seven at most.
pub const EXTENSIONS_MAX: usize = 8;

/// A view on a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a packet. Bytes behind its payload length, such as the padding of a short Ethernet
    /// frame, are left out of the payload. Jumbograms (RFC 2675), whose length field is 0, have an
    /// empty payload.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the version is not 6, or when the header or the packet is longer than the
    /// bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let packet = Self::parse_header(bytes)?;
        let (payload, _) =
            packet.payload.split_at_checked(packet.payload_len()).ok_or(Malformed::Truncated {
                what: "IPv6 packet",
                needed: HEADER_BYTES + packet.payload_len(),
                found: bytes.len(),
            })?;
        Ok(Self { payload, ..packet })
    }

    /// Reads the beginning of a packet, as an ICMPv6 error quotes it: the payload is what is there,
    /// which may be less than the payload length says.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the version is not 6, or when the header is cut.
    pub fn parse_quoted(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let packet = Self::parse_header(bytes)?;
        let payload = packet.payload.get(..packet.payload_len()).unwrap_or(packet.payload);
        Ok(Self { payload, ..packet })
    }

    /// Reads the header; the payload is all that follows.
    fn parse_header(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split_header::<Header>("IPv6 header", bytes)?;
        let [first, ..] = header.version_class_flow.to_bytes();
        let version = first >> 4;
        if version != 6 {
            return Err(Malformed::Version { what: "IPv6", expected: 6, found: version });
        }
        Ok(Self { header, payload })
    }

    /// Differentiated services (upper 6 bits, RFC 2474) and ECN (lower 2 bits, RFC 3168).
    pub fn traffic_class(&self) -> u8 {
        // The field begins in the middle of the first byte.
        let [class, ..] = (self.header.version_class_flow.get() << 4).to_be_bytes();
        class
    }

    /// The flow label, 20 bits: RFC 6437.
    pub fn flow_label(&self) -> u32 {
        self.header.version_class_flow.get() & FLOW_LABEL_MAX
    }

    /// Length in bytes of the payload as its sender made it, extension headers included.
    pub fn payload_len(&self) -> usize {
        self.header.payload_length.get().into()
    }

    /// What the payload begins with, an extension header or the upper layer: a number of
    /// [`protocol`].
    pub fn next_header(&self) -> u8 {
        self.header.next_header
    }

    /// How many more routers may forward the packet.
    pub fn hop_limit(&self) -> u8 {
        self.header.hop_limit
    }

    /// The address of the sender.
    pub fn source(&self) -> Ipv6Addr {
        self.header.source.into()
    }

    /// The address that the packet is for.
    pub fn destination(&self) -> Ipv6Addr {
        self.header.destination.into()
    }

    /// What the packet carries, extension headers included.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Walks the extension headers: hop-by-hop and destination options, routing, fragment
    /// (RFC 8200, section 4) and authentication (RFC 4302). Any other header is taken for the upper
    /// layer.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when an extension header is cut, or when there are more than
    /// [`EXTENSIONS_MAX`].
    pub fn upper_layer(&self) -> Result<UpperLayer<'a>, Malformed> {
        let mut upper =
            UpperLayer { protocol: self.next_header(), payload: self.payload, fragment: None };
        for _ in 0..EXTENSIONS_MAX {
            if !upper.step()? {
                return Ok(upper);
            }
        }
        if upper.step()? { Err(Malformed::Extensions { max: EXTENSIONS_MAX }) } else { Ok(upper) }
    }

    /// The header as a value.
    pub fn repr(&self) -> Repr {
        Repr {
            traffic_class: self.traffic_class(),
            flow_label: self.flow_label(),
            next_header: self.next_header(),
            hop_limit: self.hop_limit(),
            source: self.source(),
            destination: self.destination(),
            payload_len: self.payload.len(),
        }
    }
}

/// What follows the extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperLayer<'a> {
    /// What the payload is: a number of [`protocol`].
    pub protocol: u8,
    /// The upper layer's packet, or a part of it.
    pub payload: &'a [u8],
    /// What the fragment header says, if there is one.
    pub fragment: Option<Fragment>,
}

impl UpperLayer<'_> {
    /// Whether the payload is a part of a packet that does not hold its beginning: the upper
    /// layer's header is in another fragment, and so may be extension headers.
    pub fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset > 0)
    }

    /// Goes behind one extension header; false if there is none.
    fn step(&mut self) -> Result<bool, Malformed> {
        // RFC 8200, section 4.5: only the first fragment holds the headers that follow.
        if self.is_later_fragment() {
            return Ok(false);
        }
        let (next_header, rest) = match self.protocol {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS => {
                let (head, _) = split_header::<ExtensionHead>(EXTENSION, self.payload)?;
                let length = (usize::from(head.length) + 1) * 8;
                (head.next_header, split(EXTENSION, self.payload, length)?.1)
            }
            // RFC 4302, section 2.2: in words of 4 bytes, minus 2.
            protocol::AUTHENTICATION => {
                let (head, _) = split_header::<ExtensionHead>(EXTENSION, self.payload)?;
                let length = (usize::from(head.length) + 2) * 4;
                (head.next_header, split(EXTENSION, self.payload, length)?.1)
            }
            protocol::FRAGMENT => {
                let (head, rest) = split_header::<FragmentHeader>(EXTENSION, self.payload)?;
                let offset_and_flags = head.offset_and_flags.get();
                self.fragment = Some(Fragment {
                    offset: offset_and_flags & FRAGMENT_OFFSET,
                    more_fragments: offset_and_flags & MORE_FRAGMENTS != 0,
                    identification: head.identification.get(),
                });
                (head.next_header, rest)
            }
            _ => return Ok(false),
        };
        (self.protocol, self.payload) = (next_header, rest);
        Ok(true)
    }
}

/// What a fragment header says: RFC 8200, section 4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Where the payload belongs in that of the whole packet, in bytes.
    pub offset: u16,
    /// Whether other fragments follow. Without it, and with an offset of 0, the packet is whole:
    /// RFC 6946.
    pub more_fragments: bool,
    /// What the fragments of a packet have in common.
    pub identification: u32,
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Differentiated services (upper 6 bits) and ECN (lower 2 bits).
    pub traffic_class: u8,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// What the payload begins with: a number of [`protocol`].
    pub next_header: u8,
    /// How many routers may forward the packet.
    pub hop_limit: u8,
    /// The address of the sender.
    pub source: Ipv6Addr,
    /// The address that the packet is for.
    pub destination: Ipv6Addr,
    /// Length in bytes of what follows the header, at most 65,535.
    pub payload_len: usize,
}

impl Repr {
    /// Length of the header in bytes: 40.
    pub const fn header_len(&self) -> usize {
        HEADER_BYTES
    }

    /// Writes the header at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes. The payload need not be there.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer, [`NoRoom::Field`] when the payload is too long for
    /// one packet or the flow label has more than 20 bits; nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let payload_length = u16::try_from(self.payload_len).map_err(|_| NoRoom::Field {
            what: "IPv6 payload length",
            max: u16::MAX.into(),
            found: self.payload_len,
        })?;
        if self.flow_label > FLOW_LABEL_MAX {
            return Err(NoRoom::Field {
                what: "IPv6 flow label",
                max: FLOW_LABEL_MAX as usize,
                found: self.flow_label as usize,
            });
        }
        let class = u32::from(self.traffic_class) << 20;
        let header = Header {
            version_class_flow: (6 << 28 | class | self.flow_label).into(),
            payload_length: payload_length.into(),
            next_header: self.next_header,
            hop_limit: self.hop_limit,
            source: self.source.octets(),
            destination: self.destination.octets(),
        };
        write_header("IPv6 header", &header, buffer)
    }
}

/// RFC 8200, section 3.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    version_class_flow: U32,
    payload_length: U16,
    next_header: u8,
    hop_limit: u8,
    source: [u8; 16],
    destination: [u8; 16],
}

/// What every extension header but the fragment header begins with.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ExtensionHead {
    next_header: u8,
    length: u8,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct FragmentHeader {
    next_header: u8,
    reserved: u8,
    offset_and_flags: U16,
    identification: U32,
}

const EXTENSION: &str = "IPv6 extension header";
const FLOW_LABEL_MAX: u32 = 0x000f_ffff;
/// The offset counts 8 bytes and stands 3 bits to the left, so that it is one in bytes as it is.
const FRAGMENT_OFFSET: u16 = 0xfff8;
const MORE_FRAGMENTS: u16 = 1;

#[cfg(test)]
mod tests;
