//! Headers of packets that leave.

use core::net::IpAddr;

use portolan_wire::{
    NoRoom, ipv4,
    ipv6::{self, Extension, Fragment, extension},
    protocol::FRAGMENT,
};

use super::fragment::{HEADER_BYTES, Piece};

/// What a header says, besides the length of what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, of the same version.
    pub destination: IpAddr,
    /// What follows: a number of [`portolan_wire::protocol`].
    pub protocol: u8,
    /// Differentiated services and ECN.
    pub traffic_class: u8,
    /// How many routers may forward the packet.
    pub hop_limit: u8,
    /// Whether routers may not cut the packet; over IPv6 they never do.
    pub dont_fragment: bool,
}

/// Length in bytes of the header that packets to this address have.
pub const fn header_len(destination: IpAddr) -> usize {
    match destination {
        IpAddr::V4(_) => ipv4::HEADER_BYTES,
        IpAddr::V6(_) => ipv6::HEADER_BYTES,
    }
}

impl Header {
    /// Writes the header of a whole packet at the front of the buffer; says how long it is.
    ///
    /// # Errors
    ///
    /// [`NoRoom`] when the buffer is too short, or the packet too long.
    pub fn emit(&self, payload_len: usize, buffer: &mut [u8]) -> Result<usize, NoRoom> {
        self.write(payload_len, None, buffer)
    }

    /// Writes the headers of a fragment at the front of the buffer; says how long they are.
    ///
    /// # Errors
    ///
    /// As for [`emit`](Self::emit).
    pub fn emit_fragment(
        &self,
        piece: Piece,
        identification: u32,
        buffer: &mut [u8],
    ) -> Result<usize, NoRoom> {
        self.write(piece.len, Some((piece, identification)), buffer)
    }

    fn write(
        &self,
        payload_len: usize,
        fragment: Option<(Piece, u32)>,
        buffer: &mut [u8],
    ) -> Result<usize, NoRoom> {
        let offset = |piece: Piece| {
            let no_room = NoRoom::Field {
                what: "fragment offset",
                max: u16::MAX.into(),
                found: piece.offset,
            };
            u16::try_from(piece.offset).map_err(|_| no_room)
        };
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let (piece, identification) = fragment.unzip();
                let [.., high, low] = identification.unwrap_or(0).to_be_bytes();
                let repr = ipv4::Repr {
                    traffic_class: self.traffic_class,
                    identification: u16::from_be_bytes([high, low]),
                    dont_fragment: self.dont_fragment && fragment.is_none(),
                    more_fragments: piece.is_some_and(|piece| piece.more),
                    fragment_offset: piece.map(offset).transpose()?.unwrap_or(0),
                    ttl: self.hop_limit,
                    protocol: self.protocol,
                    source,
                    destination,
                    options: &[],
                    payload_len,
                };
                repr.emit(buffer)?;
                Ok(ipv4::HEADER_BYTES)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let extension_len = if fragment.is_some() { HEADER_BYTES } else { 0 };
                let repr = ipv6::Repr {
                    traffic_class: self.traffic_class,
                    flow_label: 0,
                    next_header: if fragment.is_some() { FRAGMENT } else { self.protocol },
                    hop_limit: self.hop_limit,
                    source,
                    destination,
                    payload_len: payload_len + extension_len,
                };
                repr.emit(buffer)?;
                if let Some((piece, identification)) = fragment {
                    let fragment = Fragment {
                        offset: offset(piece)?,
                        more_fragments: piece.more,
                        identification,
                    };
                    let extension = Extension::Fragment(fragment);
                    let repr = extension::Repr { next_header: self.protocol, extension };
                    repr.emit(buffer.get_mut(ipv6::HEADER_BYTES..).unwrap_or_default())?;
                }
                Ok(ipv6::HEADER_BYTES + extension_len)
            }
            _ => Err(NoRoom::Field { what: "addresses of two versions", max: 0, found: 0 }),
        }
    }
}

/// How many routers a packet may pass, unless its user says otherwise: RFC 1700.
pub const HOP_LIMIT: u8 = 64;
