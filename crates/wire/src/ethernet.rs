//! Ethernet II frames, with or without VLAN tags: IEEE 802.3, clause 3.

use core::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

use crate::{
    Malformed, NoRoom,
    malformed::{split_header, write_header},
    vlan::{TAG_BYTES, TAGS_MAX, Tag, TagFields, Tags},
};

/// Length of the header in bytes, without tags.
pub const HEADER_BYTES: usize = size_of::<Header>() + size_of::<U16>();

/// A hardware address, in the order of transmission. Displayed as `02:00:00:00:00:01`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct Address(pub [u8; 6]);

impl Address {
    /// The address of all stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The stations that listen to a multicast address of IPv4: RFC 1112, section 6.4.
    pub const fn of_multicast_v4(group: Ipv4Addr) -> Self {
        let [_, b, c, d] = group.octets();
        Self([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }

    /// The stations that listen to a multicast address of IPv6: RFC 2464, section 7.
    pub const fn of_multicast_v6(group: Ipv6Addr) -> Self {
        let [.., a, b, c, d] = group.octets();
        Self([0x33, 0x33, a, b, c, d])
    }

    /// Whether it addresses a group of stations, which [`Address::BROADCAST`] does too.
    pub const fn is_multicast(self) -> bool {
        let [first, ..] = self.0;
        first & 1 == 1
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

/// What a frame carries, in the host's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4: RFC 894.
    pub const IPV4: Self = Self(0x0800);
    /// ARP: RFC 826.
    pub const ARP: Self = Self(0x0806);
    /// A VLAN tag: IEEE 802.1Q.
    pub const VLAN: Self = Self(0x8100);
    /// The tag of a provider of VLANs, with that of its customer behind it: IEEE 802.1ad.
    pub const SERVICE_VLAN: Self = Self(0x88a8);
    /// IPv6: RFC 2464.
    pub const IPV6: Self = Self(0x86dd);
}

/// A view on a frame, without preamble and frame check sequence.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    tags: &'a [TagFields],
    ethertype: EtherType,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the header, and up to two VLAN tags. Further tags are left in the payload, with
    /// [`EtherType::VLAN`] or [`EtherType::SERVICE_VLAN`].
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`] when the frame ends within the header or a tag.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let what = "Ethernet header";
        let truncated = Malformed::Truncated { what, needed: HEADER_BYTES, found: bytes.len() };
        let (header, behind) = split_header::<Header>(what, bytes).map_err(|_| truncated)?;
        let (mut ethertype, mut payload) = U16::ref_from_prefix(behind).map_err(|_| truncated)?;
        let mut count = 0;
        while is_tag(*ethertype) && count < TAGS_MAX {
            // What follows the type is the tag's control field, and the next type.
            let (next, rest) = split_header::<TagFields>("VLAN tag", payload)?;
            (ethertype, payload) = (&next.control, rest);
            count += 1;
        }
        let (tags, _) = <[TagFields]>::ref_from_prefix_with_elems(behind, count)
            .map_err(|_| Malformed::Truncated { what, needed: count, found: 0 })?;
        Ok(Self { header, tags, ethertype: EtherType(ethertype.get()), payload })
    }

    /// The station that the frame is for.
    pub fn destination(&self) -> Address {
        self.header.destination
    }

    /// The station that sent it.
    pub fn source(&self) -> Address {
        self.header.source
    }

    /// The type of the payload; behind the tags if there are some.
    pub fn ethertype(&self) -> EtherType {
        self.ethertype
    }

    /// The VLAN tags.
    pub fn tags(&self) -> Tags {
        let mut tags = Tags::default();
        for fields in self.tags {
            // There is room, as no more of them are read.
            tags.push(Tag::read(*fields));
        }
        tags
    }

    /// The VLAN identifier of the outer tag, 0 to 4095; 0 says that the tag holds a priority alone.
    pub fn vlan(&self) -> Option<u16> {
        self.tags.first().map(|fields| Tag::read(*fields).identifier)
    }

    /// What follows the header and the tags. Short frames are padded to 46 bytes, so that it can be
    /// longer than the packet that it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as a value.
    pub fn repr(&self) -> Repr {
        Repr {
            source: self.source(),
            destination: self.destination(),
            tags: self.tags(),
            ethertype: self.ethertype(),
        }
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The station that sends it.
    pub source: Address,
    /// The station that it is for.
    pub destination: Address,
    /// The VLAN tags.
    pub tags: Tags,
    /// The type of what follows.
    pub ethertype: EtherType,
}

impl Repr {
    /// Length of the header in bytes: 14, and 4 for each tag.
    pub fn header_len(&self) -> usize {
        HEADER_BYTES + self.tags.len() * TAG_BYTES
    }

    /// Writes the header at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer, [`NoRoom::Field`] when a tag has a value that is too
    /// large; nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let what = "Ethernet header";
        self.tags.check()?;
        let (needed, found) = (self.header_len(), buffer.len());
        let no_room = NoRoom::Buffer { what, needed, found };
        let header = buffer.get_mut(..needed).ok_or(no_room)?;
        let (addresses, behind) =
            header.split_at_mut_checked(size_of::<Header>()).ok_or(no_room)?;
        let (tags, ethertype) =
            behind.split_last_chunk_mut::<{ size_of::<U16>() }>().ok_or(no_room)?;
        *ethertype = self.ethertype.0.to_be_bytes();
        self.tags.emit(tags)?;
        let header = Header { destination: self.destination, source: self.source };
        write_header(what, &header, addresses)
    }
}

fn is_tag(ethertype: U16) -> bool {
    matches!(EtherType(ethertype.get()), EtherType::VLAN | EtherType::SERVICE_VLAN)
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    destination: Address,
    source: Address,
}

#[cfg(test)]
mod tests;
