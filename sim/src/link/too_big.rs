//! Packets that are larger than a link: RFC 1191 and RFC 8201.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use portolan_wire::{ethernet, icmpv4, icmpv6, protocol};
use serde::{Deserialize, Serialize};

use crate::frame::{Datagram, Frame, Way, wrapped};

/// What a router says about packets that are too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// How large they may be.
    #[default]
    Mtu,
    /// That they are too large; as before RFC 1191. With IPv6 as [`Mtu`](Self::Mtu).
    NoMtu,
    /// Nothing: a black hole.
    Nothing,
}

/// None where the packet may pass, else the frame that says why it may not, if any says so.
pub(super) fn refused(frame: &[u8], mtu: usize, answer: Answer) -> Option<Option<Frame>> {
    let datagram = Datagram::read(frame)?;
    if mtu == 0 || datagram.packet.len() <= mtu {
        return None;
    }
    let is_error = matches!(datagram.protocol, protocol::ICMPV4 | protocol::ICMPV6);
    // A router would cut what may be cut; this one has no room for that.
    Some(if answer == Answer::Nothing || is_error || !datagram.dont_fragment {
        None
    } else {
        error(frame, datagram, mtu, answer)
    })
}

fn error(frame: &[u8], datagram: Datagram<'_>, mtu: usize, answer: Answer) -> Option<Frame> {
    let ethernet = ethernet::Packet::parse(frame).ok()?;
    let way = |source| Way {
        source_mac: ROUTER_MAC,
        destination_mac: ethernet.source(),
        source,
        destination: datagram.source,
    };
    let quoted = |bytes: usize| {
        let mut message = vec![0; icmpv4::HEADER_BYTES];
        message.extend_from_slice(&datagram.packet[..datagram.packet.len().min(bytes)]);
        message
    };
    match datagram.source {
        IpAddr::V4(_) => {
            // The header and 8 bytes, as RFC 792 has it: the least that a host must do with.
            let mut message = quoted(28);
            let next_hop_mtu = match answer {
                Answer::Mtu => u16::try_from(mtu).unwrap_or(u16::MAX),
                _ => 0,
            };
            let code = icmpv4::unreachable::FRAGMENTATION_NEEDED;
            let header = icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu };
            header.emit(&mut message).ok()?;
            Some(wrapped(way(ROUTER_V4.into()), protocol::ICMPV4, 0, &message))
        }
        IpAddr::V6(destination) => {
            // RFC 4443, section 3.2: as much as fits the least MTU of IPv6.
            let mut message = quoted(1_280 - 48);
            let header = icmpv6::Repr::PacketTooBig { mtu: u32::try_from(mtu).unwrap_or(u32::MAX) };
            header.emit(&mut message, ROUTER_V6, destination).ok()?;
            Some(wrapped(way(ROUTER_V6.into()), protocol::ICMPV6, 0, &message))
        }
    }
}

const ROUTER_MAC: ethernet::Address = ethernet::Address([2, 0, 0, 0, 0, 0xfe]);
/// Of the networks for documentation: RFC 5737 and RFC 3849.
const ROUTER_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xfe, 0, 0, 0, 0, 0xfe);
