//! Neighbour discovery, the messages of ICMPv6 that find routers and hardware addresses: RFC 4861.

use core::net::Ipv6Addr;

use crate::{
    Malformed, NoRoom,
    checksum::full,
    icmpv6::{self, Kind},
    ipv6,
    malformed::split,
    protocol::ICMPV6,
};

pub mod options;

pub use options::{Option_, Prefix};

/// The hop limit of every message, which no packet has that passed a router.
pub const HOP_LIMIT: u8 = 255;

/// What a message says, without its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Routers are asked to advertise themselves.
    RouterSolicitation,
    /// A router tells hosts what they need to know about this link.
    RouterAdvertisement(RouterAdvertisement),
    /// Who has this address?
    NeighborSolicitation {
        /// The address.
        target: Ipv6Addr,
    },
    /// The hardware address of the target is in the options.
    NeighborAdvertisement(NeighborAdvertisement),
    /// There is a better first hop.
    Redirect {
        /// The better first hop, or the destination itself where that is on this link.
        target: Ipv6Addr,
        /// For packets to this address.
        destination: Ipv6Addr,
    },
}

/// What a router tells: RFC 4861, section 4.2. Where a number is 0 it is left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// The hop limit that hosts should send with.
    pub hop_limit: u8,
    /// Whether addresses are to be had by DHCPv6.
    pub managed: bool,
    /// Whether other settings are to be had by DHCPv6.
    pub other: bool,
    /// For how many seconds the sender is a default router; 0 if it is none.
    pub lifetime_s: u16,
    /// For how many milliseconds a neighbour counts as reachable once it was.
    pub reachable_ms: u32,
    /// After how many milliseconds a neighbour solicitation is sent again.
    pub retransmit_ms: u32,
}

/// What a neighbour tells: RFC 4861, section 4.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborAdvertisement {
    /// The address that is advertised.
    pub target: Ipv6Addr,
    /// Whether the sender is a router.
    pub is_router: bool,
    /// Whether this is an answer to a solicitation.
    pub is_solicited: bool,
    /// Whether it replaces a hardware address that is known already.
    pub overrides: bool,
}

/// A view on a message whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    message: Message,
    options: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads an ICMPv6 message; neither its checksum nor its carrier is looked at, see
    /// [`check_carrier`](Self::check_carrier).
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the type is no neighbour discovery, when the code is not 0, or when the
    /// message or one of its options is cut or has a length of 0.
    pub fn parse(message: &icmpv6::Packet<'a>) -> Result<Self, Malformed> {
        let expect_code_0 = |found: u8| match found {
            0 => Ok(()),
            found => Err(Malformed::Value { what: "NDP code", found: found.into() }),
        };
        let (read, options) = match message.kind() {
            Kind::ROUTER_SOLICITATION => (Message::RouterSolicitation, message.payload()),
            Kind::ROUTER_ADVERTISEMENT => read_router_advertisement(message)?,
            Kind::NEIGHBOR_SOLICITATION => {
                let (target, options) = split_address("neighbor solicitation", message.payload())?;
                (Message::NeighborSolicitation { target }, options)
            }
            Kind::NEIGHBOR_ADVERTISEMENT => {
                let (target, options) = split_address("neighbor advertisement", message.payload())?;
                let [flags, ..] = message.rest();
                let advertisement = NeighborAdvertisement {
                    target,
                    is_router: flags & ROUTER != 0,
                    is_solicited: flags & SOLICITED != 0,
                    overrides: flags & OVERRIDE != 0,
                };
                (Message::NeighborAdvertisement(advertisement), options)
            }
            Kind::REDIRECT => {
                let (target, rest) = split_address("NDP redirect", message.payload())?;
                let (destination, options) = split_address("NDP redirect", rest)?;
                (Message::Redirect { target, destination }, options)
            }
            Kind(found) => {
                return Err(Malformed::Value { what: "NDP type", found: found.into() });
            }
        };
        expect_code_0(message.code())?;
        options::check(options)?;
        Ok(Self { message: read, options })
    }

    /// What the message says, without its options.
    pub fn message(&self) -> Message {
        self.message
    }

    /// Goes through the options.
    pub fn options(&self) -> options::Iter<'a> {
        options::Iter::new(self.options)
    }

    /// Whether a host may believe the message in this packet: RFC 4861, sections 6.1, 7.1 and 8.1.
    ///
    /// Two of their rules are left to the receiver: the checksum, and that a redirect comes from
    /// the router that is in use.
    ///
    /// # Errors
    ///
    /// [`Malformed::Forbidden`], which names the rule.
    pub fn check_carrier(&self, carrier: &ipv6::Packet<'_>) -> Result<(), Malformed> {
        let unless = |holds: bool, what| match holds {
            true => Ok(()),
            false => Err(Malformed::Forbidden { what }),
        };
        let (source, destination) = (carrier.source(), carrier.destination());
        unless(carrier.hop_limit() == HOP_LIMIT, "NDP with a hop limit below 255")?;
        let names_source =
            || self.options().any(|option| matches!(option, Option_::SourceLinkLayerAddress(_)));
        let what = "NDP from the unspecified address with a hardware address";
        let anonymous = source.is_unspecified();
        match self.message {
            Message::RouterSolicitation => unless(!anonymous || !names_source(), what),
            Message::RouterAdvertisement(_) => {
                let what = "router advertisement from an address that is not link-local";
                unless(source.is_unicast_link_local(), what)
            }
            Message::NeighborSolicitation { target } => {
                unless(!anonymous || !names_source(), what)?;
                unless(!target.is_multicast(), "neighbor solicitation for a multicast address")?;
                let what = "neighbor solicitation from the unspecified address to another than \
                            the solicited node's";
                unless(!anonymous || is_solicited_node(destination), what)
            }
            Message::NeighborAdvertisement(NeighborAdvertisement {
                target, is_solicited, ..
            }) => {
                unless(!target.is_multicast(), "neighbor advertisement of a multicast address")?;
                let what = "solicited neighbor advertisement to a multicast address";
                unless(!destination.is_multicast() || !is_solicited, what)
            }
            Message::Redirect { target, destination } => {
                let what = "NDP redirect from an address that is not link-local";
                unless(source.is_unicast_link_local(), what)?;
                unless(!destination.is_multicast(), "NDP redirect for a multicast address")?;
                let what = "NDP redirect to neither a router nor the destination itself";
                unless(target.is_unicast_link_local() || target == destination, what)
            }
        }
    }
}

/// A message with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// What it says.
    pub message: Message,
    /// The options.
    pub options: &'a [Option_<'a>],
}

impl Repr<'_> {
    /// Length of the message in bytes: the ICMPv6 header, what follows it, and the options.
    pub fn header_len(&self) -> usize {
        let options = self.options.iter().map(Option_::len).sum::<usize>();
        icmpv6::HEADER_BYTES + self.body_len() + options
    }

    fn body_len(&self) -> usize {
        match self.message {
            Message::RouterSolicitation => 0,
            Message::RouterAdvertisement(_) => 8,
            Message::NeighborSolicitation { .. } | Message::NeighborAdvertisement(_) => 16,
            Message::Redirect { .. } => 32,
        }
    }

    /// Writes the message, with its checksum, at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer, [`NoRoom::Field`] when an option has more than 2,040;
    /// nothing is written then.
    pub fn emit(
        &self,
        buffer: &mut [u8],
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> Result<(), NoRoom> {
        let (needed, found) = (self.header_len(), buffer.len());
        let no_room = NoRoom::Buffer { what: "NDP message", needed, found };
        for option in self.options {
            option.words()?;
        }
        let buffer = buffer.get_mut(..needed).ok_or(no_room)?;
        let (head, behind) =
            buffer.split_first_chunk_mut::<{ icmpv6::HEADER_BYTES }>().ok_or(no_room)?;
        let (body, mut rest) = behind.split_at_mut_checked(self.body_len()).ok_or(no_room)?;
        *head = self.head(body);
        for option in self.options {
            let (to, behind) = rest.split_at_mut_checked(option.len()).ok_or(no_room)?;
            option.emit(option.words()?, to);
            rest = behind;
        }
        let checksum = full(buffer, ICMPV6, source.into(), destination.into());
        if let Some(field) = buffer.get_mut(2..4) {
            field.copy_from_slice(&checksum.to_be_bytes());
        }
        Ok(())
    }

    /// Writes what follows the header, and says what the header is, without a checksum.
    fn head(&self, body: &mut [u8]) -> [u8; icmpv6::HEADER_BYTES] {
        let mut put = |bytes: &[u8], more: &[u8]| {
            let bytes = bytes.iter().chain(more);
            body.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        };
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let (Kind(kind), [a, b, c, d]) = match self.message {
            Message::RouterSolicitation => (Kind::ROUTER_SOLICITATION, [0; 4]),
            Message::RouterAdvertisement(said) => {
                put(&said.reachable_ms.to_be_bytes(), &said.retransmit_ms.to_be_bytes());
                let flags = flag(said.managed, MANAGED) | flag(said.other, OTHER);
                let [high, low] = said.lifetime_s.to_be_bytes();
                (Kind::ROUTER_ADVERTISEMENT, [said.hop_limit, flags, high, low])
            }
            Message::NeighborSolicitation { target } => {
                put(&target.octets(), &[]);
                (Kind::NEIGHBOR_SOLICITATION, [0; 4])
            }
            Message::NeighborAdvertisement(said) => {
                put(&said.target.octets(), &[]);
                let solicited = flag(said.is_solicited, SOLICITED);
                let flags = flag(said.is_router, ROUTER) | solicited;
                (Kind::NEIGHBOR_ADVERTISEMENT, [flags | flag(said.overrides, OVERRIDE), 0, 0, 0])
            }
            Message::Redirect { target, destination } => {
                put(&target.octets(), &destination.octets());
                (Kind::REDIRECT, [0; 4])
            }
        };
        [kind, 0, 0, 0, a, b, c, d]
    }
}

/// The multicast address to which those listen who have this address: RFC 4291, section 2.7.1.
pub const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., high, low] = address.segments();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | high & 0x00ff, low)
}

fn is_solicited_node(address: Ipv6Addr) -> bool {
    solicited_node(address) == address
}

fn read_router_advertisement<'a>(
    message: &icmpv6::Packet<'a>,
) -> Result<(Message, &'a [u8]), Malformed> {
    let what = "router advertisement";
    let truncated = Malformed::Truncated { what, needed: 8, found: message.payload().len() };
    let (&[a, b, c, d, e, f, g, h], options) =
        message.payload().split_first_chunk().ok_or(truncated)?;
    let [hop_limit, flags, high, low] = message.rest();
    let advertisement = RouterAdvertisement {
        hop_limit,
        managed: flags & MANAGED != 0,
        other: flags & OTHER != 0,
        lifetime_s: u16::from_be_bytes([high, low]),
        reachable_ms: u32::from_be_bytes([a, b, c, d]),
        retransmit_ms: u32::from_be_bytes([e, f, g, h]),
    };
    Ok((Message::RouterAdvertisement(advertisement), options))
}

fn split_address<'a>(
    what: &'static str,
    bytes: &'a [u8],
) -> Result<(Ipv6Addr, &'a [u8]), Malformed> {
    let (address, rest) = split(what, bytes, 16)?;
    let octets = address.first_chunk().copied().unwrap_or_default();
    Ok((Ipv6Addr::from_octets(octets), rest))
}

const MANAGED: u8 = 0x80;
const OTHER: u8 = 0x40;
const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

#[cfg(test)]
mod tests;
