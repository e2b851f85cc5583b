//! Ethernet II frames, with or without a VLAN tag: IEEE 802.3, clause 3, and IEEE 802.1Q, clause 9.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

use crate::{
    Malformed, NoRoom,
    malformed::{split_header, write_header},
};

/// Length of the header in bytes, without a tag.
pub const HEADER_BYTES: usize = size_of::<Header>();

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
    /// IPv6: RFC 2464.
    pub const IPV6: Self = Self(0x86dd);
}

/// A view on a frame, without preamble and frame check sequence.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    tag: Option<&'a Tag>,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the header, and one VLAN tag if there is one. A second tag is left in the payload,
    /// with [`EtherType::VLAN`].
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`] when the frame ends within the header or the tag.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split_header::<Header>("Ethernet header", bytes)?;
        if header.ethertype.get() != EtherType::VLAN.0 {
            return Ok(Self { header, tag: None, payload });
        }
        let (tag, payload) = split_header("VLAN tag", payload)?;
        Ok(Self { header, tag: Some(tag), payload })
    }

    /// The station that the frame is for.
    pub fn destination(&self) -> Address {
        self.header.destination
    }

    /// The station that sent it.
    pub fn source(&self) -> Address {
        self.header.source
    }

    /// The type of the payload; behind the tag if there is one.
    pub fn ethertype(&self) -> EtherType {
        EtherType(self.tag.map_or(self.header.ethertype, |tag| tag.ethertype).get())
    }

    /// The VLAN identifier of the tag, 0 to 4095; 0 says that the tag holds a priority alone.
    pub fn vlan(&self) -> Option<u16> {
        self.tag.map(|tag| tag.control.get() & 0x0fff)
    }

    /// What follows the header and the tag. Short frames are padded to 46 bytes, so that it can be
    /// longer than the packet that it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as a value, without the tag.
    pub fn repr(&self) -> Repr {
        Repr { source: self.source(), destination: self.destination(), ethertype: self.ethertype() }
    }
}

/// The header of a frame without a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The station that sends it.
    pub source: Address,
    /// The station that it is for.
    pub destination: Address,
    /// The type of what follows.
    pub ethertype: EtherType,
}

impl Repr {
    /// Length of the header in bytes: 14.
    pub const fn header_len(&self) -> usize {
        HEADER_BYTES
    }

    /// Writes the header at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer; nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let header = Header {
            destination: self.destination,
            source: self.source,
            ethertype: self.ethertype.0.into(),
        };
        write_header("Ethernet header", &header, buffer)
    }
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    destination: Address,
    source: Address,
    ethertype: U16,
}

/// What follows the type [`EtherType::VLAN`].
#[derive(Debug, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tag {
    control: U16,
    ethertype: U16,
}

#[cfg(test)]
mod tests;
