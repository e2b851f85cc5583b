//! IPv6: RFC 8200.

use core::net::Ipv6Addr;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    network_endian::{U16, U32},
};

use crate::{
    Malformed, NoRoom,
    malformed::{split_header, write_header},
    protocol,
};

pub mod extension;

pub use extension::{EXTENSIONS_MAX, Extension, Fragment, Routing};

/// Length of the header in bytes, without extension headers.
pub const HEADER_BYTES: usize = size_of::<Header>();

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
        let mut walk = self.extensions();
        match walk.find_map(Result::err) {
            Some(error) => Err(error),
            None => Ok(walk.upper),
        }
    }

    /// Goes through the extension headers.
    pub fn extensions(&self) -> Extensions<'a> {
        let upper = UpperLayer {
            protocol: self.next_header(),
            payload: self.payload,
            fragment: None,
            offset: HEADER_BYTES,
            named_at: NEXT_HEADER_AT,
        };
        Extensions { upper, count: 0, is_over: false }
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
    /// Where the payload begins, in bytes from the first one of the packet.
    pub offset: usize,
    /// Where the field is that names the protocol, in bytes from the first one of the packet: the
    /// pointer of an ICMPv6 parameter problem about a protocol that is not known (RFC 4443,
    /// section 3.4).
    pub named_at: usize,
}

impl UpperLayer<'_> {
    /// Whether the payload is a part of a packet that does not hold its beginning: the upper
    /// layer's header is in another fragment, and so may be extension headers.
    pub fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset > 0)
    }
}

/// Goes through the extension headers of a packet: see [`Packet::extensions`]. It ends with the
/// upper layer, or with an error.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    /// What there is behind the headers that were walked.
    upper: UpperLayer<'a>,
    count: usize,
    is_over: bool,
}

/// An extension header, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located<'a> {
    /// Where the header begins, in bytes from the first one of the packet.
    pub offset: usize,
    /// The header.
    pub header: extension::Repr<'a>,
}

impl<'a> Extensions<'a> {
    /// Goes behind one extension header; none if there is none.
    fn step(&mut self) -> Result<Option<Located<'a>>, Malformed> {
        let UpperLayer { protocol, payload, offset, .. } = self.upper;
        // RFC 8200, section 4.5: only the first fragment holds the headers that follow. Section 4:
        // hop-by-hop options are such in front of all others alone, and are not known elsewhere.
        if self.upper.is_later_fragment() || protocol == protocol::HOP_BY_HOP && self.count > 0 {
            return Ok(None);
        }
        let Some((header, rest)) = extension::Repr::parse(protocol, payload)? else {
            return Ok(None);
        };
        if self.count == EXTENSIONS_MAX {
            return Err(Malformed::Extensions { max: EXTENSIONS_MAX });
        }
        self.count += 1;
        if let Extension::Fragment(fragment) = header.extension {
            self.upper.fragment = Some(fragment);
        }
        self.upper = UpperLayer {
            protocol: header.next_header,
            payload: rest,
            // Every extension header begins with it.
            named_at: offset,
            offset: offset + payload.len() - rest.len(),
            ..self.upper
        };
        Ok(Some(Located { offset, header }))
    }
}

impl<'a> Iterator for Extensions<'a> {
    /// An error is the last item.
    type Item = Result<Located<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let step = self.step();
        self.is_over = !matches!(step, Ok(Some(_)));
        step.transpose()
    }
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

/// Where the next header field is in the header.
const NEXT_HEADER_AT: usize = 6;
const FLOW_LABEL_MAX: u32 = 0x000f_ffff;

#[cfg(test)]
mod tests;
