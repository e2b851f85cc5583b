//! Errors of ICMP about segments of the stack's.

use std::net::IpAddr;

use portolan_wire::{ethernet, icmpv4, icmpv6, protocol};

use super::{Done, Number, Player};
use crate::{
    frame::{Datagram, wrapped},
    script::Icmp,
};

impl Player {
    /// An error reaches the stack that quotes what it sent last, with another sequence number where
    /// one is given.
    pub(super) fn icmp(&mut self, name: &str, error: Icmp, at: Option<Number>) -> Done {
        let way = self.way();
        let connection = self.connection(name);
        let last = connection.last.clone().ok_or("the stack has sent nothing yet")?;
        let number = at.and_then(|at| at.on_wire(connection.firsts.stack));
        let datagram = Datagram::read(&last).ok_or("the stack sent no packet")?;
        let mut quoted = datagram.packet.to_vec();
        if let Some(number) = number {
            let first = datagram.packet.len() - datagram.payload.len() + SEQUENCE_AT;
            quoted[first..first + 4].copy_from_slice(&number.0.to_be_bytes());
        }
        let mut message = vec![0; icmpv4::HEADER_BYTES];
        let what = match (way.source, way.destination) {
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                message.extend_from_slice(&quoted[..quoted.len().min(1_232)]);
                error_v6(error).emit(&mut message, source, destination)
            }
            _ => {
                message.extend_from_slice(&quoted[..quoted.len().min(28)]);
                error_v4(error).emit(&mut message)
            }
        };
        what.map_err(|error| format!("{error:?}"))?;
        let number = match way.source {
            IpAddr::V4(_) => protocol::ICMPV4,
            IpAddr::V6(_) => protocol::ICMPV6,
        };
        debug_assert!(last.len() > ethernet::HEADER_BYTES, "the stack sends frames");
        self.hand_in(&wrapped(way, number, 0, &message));
        Ok(())
    }
}

fn error_v4(error: Icmp) -> icmpv4::Repr {
    let unreachable =
        |code, next_hop_mtu| icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu };
    match error {
        Icmp::TooBig(mtu) => unreachable(
            icmpv4::unreachable::FRAGMENTATION_NEEDED,
            u16::try_from(mtu).unwrap_or(u16::MAX),
        ),
        Icmp::PortUnreachable => unreachable(icmpv4::unreachable::PORT, 0),
        Icmp::HostUnreachable => unreachable(icmpv4::unreachable::HOST, 0),
        Icmp::TimeExceeded => icmpv4::Repr::TimeExceeded { code: 0 },
    }
}

fn error_v6(error: Icmp) -> icmpv6::Repr {
    match error {
        Icmp::TooBig(mtu) => {
            icmpv6::Repr::PacketTooBig { mtu: u32::try_from(mtu).unwrap_or(u32::MAX) }
        }
        Icmp::PortUnreachable => {
            icmpv6::Repr::DestinationUnreachable { code: icmpv6::unreachable::PORT }
        }
        Icmp::HostUnreachable => {
            icmpv6::Repr::DestinationUnreachable { code: icmpv6::unreachable::ADDRESS }
        }
        Icmp::TimeExceeded => icmpv6::Repr::TimeExceeded { code: 0 },
    }
}

/// Where the number is in the header of TCP.
const SEQUENCE_AT: usize = 4;
