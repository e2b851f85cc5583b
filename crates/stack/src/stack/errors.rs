//! Echo replies and ICMP errors that leave, and errors that arrived.

use core::net::{IpAddr, SocketAddr};

use alloc::vec::Vec;

use portolan_wire::{protocol, tcp, udp};

use super::Stack;
use crate::{
    Instant,
    counters::{Delivered, Dropped, Noted, Unsent},
    icmp::{
        error::{self, Problem},
        input::Report,
    },
    ip::{
        carrier::{Carrier, Cast},
        output::{HOP_LIMIT, Header},
    },
    outbox::{Envelope, Message, Offload, Origin, Packet},
    tcp::{ErrorKind, IcmpError},
};

impl Stack {
    /// Tells the sender of a packet what was wrong with it, if he may be told.
    pub(super) fn send_error(&mut self, carrier: &Carrier<'_>, problem: Problem, now: Instant) {
        if !error::is_allowed(carrier, problem) {
            return self.counters.not_sent(Unsent::IcmpErrorForbidden);
        }
        if !self.limiter.allow(carrier.source, now) {
            return self.counters.not_sent(Unsent::IcmpErrorLimit);
        }
        let Some(source) = self.answer_address(carrier, now) else {
            return self.counters.not_sent(Unsent::NoRoute);
        };
        let mut buffer = self.outbox.buffer();
        if error::write(problem, carrier, source, &mut buffer).is_err() {
            return self.counters.not_sent(Unsent::Buffer);
        }
        let header = Header { dont_fragment: false, ..icmp_header(source, carrier.source) };
        if self.push_ip(header, buffer, Origin::Host) {
            self.counters.note(Noted::IcmpErrorSent);
        }
    }

    /// Sends an echo reply from `local` to the packet's sender.
    pub(super) fn send_echo(
        &mut self,
        carrier: &Carrier<'_>,
        local: IpAddr,
        buffer: Vec<u8>,
    ) -> Result<Delivered, Dropped> {
        // RFC 1122, section 3.2.1.6: the type of service of the request; its marks of ECN are not.
        let traffic_class = carrier.traffic_class & !3;
        let header = Header { traffic_class, ..icmp_header(local, carrier.source) };
        match self.push_ip(header, buffer, Origin::Host) {
            true => Ok(Delivered::Echo),
            false => Err(Dropped::EchoNoRoom),
        }
    }

    /// The address from which a packet is answered: the one that it was for, unless that is a
    /// group.
    pub(super) fn answer_address(&self, carrier: &Carrier<'_>, now: Instant) -> Option<IpAddr> {
        if carrier.cast == Cast::Unicast {
            return Some(carrier.destination);
        }
        let next_hop = self.routes.next_hop(carrier.source, &self.addresses, now)?;
        self.addresses.source_for(carrier.source, next_hop)
    }

    /// Puts a packet into the queue; whether there was room.
    pub(super) fn push_ip(&mut self, header: Header, bytes: Vec<u8>, origin: Origin) -> bool {
        let offload = Offload::default();
        let packet = Packet { header, hardware: None, fragments: None, offload };
        self.push(Message { envelope: Envelope::Ip(packet), bytes, origin })
    }

    pub(super) fn push(&mut self, message: Message) -> bool {
        let fits = self.outbox.push(message);
        if !fits {
            self.counters.not_sent(Unsent::OutboxFull);
        }
        fits
    }

    /// Hands an error to the one whose packet it is about. A router on the way, and nobody else,
    /// knows what a connection has in flight, or to whom a port has sent: RFC 5927.
    pub(super) fn handle_report(
        &mut self,
        report: &Report<'_>,
        now: Instant,
    ) -> Result<Delivered, Dropped> {
        let Report { local, remote, protocol, quoted, kind } = *report;
        if !self.addresses.is_own(local) {
            return Err(Dropped::IcmpErrorForged);
        }
        let is_ours = match protocol {
            protocol::TCP => {
                let quoted = tcp::Packet::parse_quoted_ports(quoted);
                let quoted = quoted.ok_or(Dropped::IcmpMalformed)?;
                self.tcp.handle_error(&IcmpError { local, remote, quoted, kind }, now)
            }
            protocol::UDP => {
                let quoted = udp::Packet::parse_quoted_ports(quoted);
                let quoted = quoted.ok_or(Dropped::IcmpMalformed)?;
                let local = SocketAddr::new(local, quoted.source_port);
                let remote = SocketAddr::new(remote, quoted.destination_port);
                self.udp.fail(local, remote, kind)
            }
            _ => false,
        };
        if !is_ours {
            return Err(Dropped::IcmpErrorForged);
        }
        if let ErrorKind::TooBig { mtu } = kind
            && self.path_mtus.reduce(remote, mtu, now)
        {
            self.counters.note(Noted::PathMtu);
        }
        Ok(Delivered::IcmpError)
    }

    /// A message cannot be sent, as its neighbour does not answer: its sender is told.
    pub(super) fn fail_message(&mut self, message: Message, now: Instant) {
        self.counters.not_sent(Unsent::NeighborSilent);
        if let Envelope::Ip(packet) = &message.envelope {
            self.fail_packet(&packet.header, &message.bytes, message.origin, now);
        }
        self.outbox.recycle(message.bytes);
    }

    /// As [`fail_message`](Self::fail_message), for an upper layer's packet.
    pub(super) fn fail_packet(
        &mut self,
        header: &Header,
        bytes: &[u8],
        origin: Origin,
        now: Instant,
    ) {
        let (local, remote) = (header.source, header.destination);
        let kind = ErrorKind::Transient;
        match origin {
            Origin::Host => {}
            Origin::Udp => {
                if let Some(quoted) = udp::Packet::parse_quoted_ports(bytes) {
                    let local = SocketAddr::new(local, quoted.source_port);
                    let remote = SocketAddr::new(remote, quoted.destination_port);
                    self.udp.fail(local, remote, kind);
                }
            }
            Origin::Tcp => {
                if let Some(quoted) = tcp::Packet::parse_quoted_ports(bytes) {
                    self.tcp.handle_error(&IcmpError { local, remote, quoted, kind }, now);
                }
            }
        }
    }
}

fn icmp_header(source: IpAddr, destination: IpAddr) -> Header {
    let protocol = if source.is_ipv4() { protocol::ICMPV4 } else { protocol::ICMPV6 };
    Header {
        source,
        destination,
        protocol,
        traffic_class: 0,
        hop_limit: HOP_LIMIT,
        dont_fragment: false,
    }
}
