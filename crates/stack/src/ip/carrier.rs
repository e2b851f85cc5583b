//! What the upper layers need to know about the packet that brought them something.

use core::net::IpAddr;

/// For how many a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// For this host.
    Unicast,
    /// For all that are in a group.
    Multicast,
    /// For all on a network.
    Broadcast,
}

/// A packet that arrived, without what it carries.
#[derive(Clone, Copy, Debug)]
pub struct Carrier<'a> {
    /// Its source address.
    pub source: IpAddr,
    /// Its destination address.
    pub destination: IpAddr,
    /// Differentiated services and ECN.
    pub traffic_class: u8,
    /// For how many it was.
    pub cast: Cast,
    /// Whether the frame was for this host alone.
    pub is_link_unicast: bool,
    /// The packet from its first byte, for an error to quote; of one that was put together, its
    /// first fragment.
    pub packet: &'a [u8],
    /// How long the headers in front of the upper layer are in `packet`.
    pub header_len: usize,
}

/// What a checked packet holds.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// An upper layer's packet.
    Whole {
        /// What it is: a number of [`portolan_wire::protocol`].
        protocol: u8,
        /// Where in the packet the protocol is named.
        named_at: usize,
        /// The upper layer's packet.
        payload: &'a [u8],
    },
    /// A part of such.
    Part(Part<'a>),
}

/// A fragment.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// What the fragments of one datagram have in common, besides their addresses.
    pub identification: u32,
    /// The first header in the fragments' joined payload: over IPv4 the upper layer.
    pub protocol: u8,
    /// Where the payload belongs, in bytes.
    pub offset: u16,
    /// Whether others follow.
    pub more: bool,
    /// The part.
    pub payload: &'a [u8],
}
