//! IP packets that arrive, and whom they are given to.

use core::net::{IpAddr, SocketAddr};

use portolan_wire::{Check, icmpv4, icmpv6, ndp, protocol, udp};

use super::{Stack, link::Arrival};
use crate::{
    Checksum,
    counters::{Delivered, Dropped, Noted},
    icmp::{
        echo,
        error::Problem,
        input::{self, is_ndp},
        mld::is_mld,
    },
    ip::{
        carrier::{Carrier, Cast, Content, Part},
        ipv4, ipv6,
        ipv6::{Refusal, Start},
        joined::Joined,
        reassembly::Whole,
    },
    outbox::Origin,
    tcp::{Arrived, Ecn},
};

/// An upper layer's packet.
struct Upper<'a> {
    protocol: u8,
    named_at: usize,
    payload: &'a [u8],
    /// Whether it was put together from fragments.
    is_joined: bool,
}

impl Stack {
    pub(super) fn receive_v4(
        &mut self,
        bytes: &[u8],
        is_link_unicast: bool,
        arrival: Arrival<'_>,
    ) -> Result<Delivered, Dropped> {
        let (carrier, content) = ipv4::accept(bytes, is_link_unicast, &self.addresses)?;
        match content {
            Content::Whole { protocol, named_at, payload } => {
                let upper = Upper { protocol, named_at, payload, is_joined: false };
                self.receive_upper(&carrier, &upper, arrival)
            }
            Content::Part(part) => {
                let whole = self.join(&carrier, &part, &arrival)?;
                let Some(whole) = whole else { return Ok(Delivered::Fragment) };
                let Whole { carrier, protocol, data, head } = whole;
                let named_at = ipv4::PROTOCOL_AT;
                let joined =
                    Joined { carrier, head, protocol, named_at, data, upper_at: 0, frame_bytes: 0 };
                self.pass_on(joined, arrival)
            }
        }
    }

    pub(super) fn receive_v6(
        &mut self,
        bytes: &[u8],
        is_link_unicast: bool,
        arrival: Arrival<'_>,
    ) -> Result<Delivered, Dropped> {
        let (carrier, packet) = ipv6::accept(bytes, is_link_unicast, &self.addresses)?;
        match self.walk(&carrier, Start::of(&packet), &arrival)? {
            (Content::Whole { protocol, named_at, payload }, header_len) => {
                let carrier = Carrier { header_len, ..carrier };
                let upper = Upper { protocol, named_at, payload, is_joined: false };
                self.receive_upper(&carrier, &upper, arrival)
            }
            (Content::Part(part), header_len) => {
                let carrier = Carrier { header_len, ..carrier };
                let whole = self.join(&carrier, &part, &arrival)?;
                let Some(whole) = whole else { return Ok(Delivered::Fragment) };
                let carrier = Carrier { packet: &whole.head, ..whole.carrier };
                let start = Start {
                    protocol: whole.protocol,
                    // The fragment header's first byte.
                    named_at: carrier.header_len.saturating_sub(8),
                    offset: carrier.header_len,
                    bytes: &whole.data,
                    may_be_part: false,
                };
                let (content, header_len) = self.walk(&carrier, start, &arrival)?;
                let Content::Whole { protocol, named_at, payload } = content else {
                    return Err(Dropped::FragmentMalformed);
                };
                let upper_at = whole.data.len() - payload.len();
                let carrier = Carrier { header_len, ..whole.carrier };
                let Whole { data, head, .. } = whole;
                let joined =
                    Joined { carrier, head, protocol, named_at, data, upper_at, frame_bytes: 0 };
                self.pass_on(joined, arrival)
            }
        }
    }

    /// A datagram was put together: it is dealt with here, unless it may be another stack's.
    fn pass_on(&mut self, joined: Joined, arrival: Arrival<'_>) -> Result<Delivered, Dropped> {
        if self.shares_flows {
            self.joined = Some(joined);
            return Ok(Delivered::Fragment);
        }
        // The device has seen fragments alone.
        self.receive_joined(&joined, Arrival { checksum: Checksum::Unknown, ..arrival })
    }

    pub(super) fn receive_joined(
        &mut self,
        joined: &Joined,
        arrival: Arrival<'_>,
    ) -> Result<Delivered, Dropped> {
        let carrier = Carrier { packet: &joined.head, ..joined.carrier };
        let (protocol, named_at, payload) = (joined.protocol, joined.named_at, joined.payload());
        let upper = Upper { protocol, named_at, payload, is_joined: true };
        self.receive_upper(&carrier, &upper, arrival)
    }

    fn walk<'a>(
        &mut self,
        carrier: &Carrier<'_>,
        start: Start<'a>,
        arrival: &Arrival<'_>,
    ) -> Result<(Content<'a>, usize), Dropped> {
        ipv6::walk(start).map_err(|refusal| match refusal {
            Refusal::Silent(reason) => reason,
            Refusal::Problem { reason, code, pointer, even_to_groups } => {
                let problem = Problem::Parameter { code, pointer, even_to_groups };
                self.send_error(carrier, problem, arrival.now);
                reason
            }
        })
    }

    fn join(
        &mut self,
        carrier: &Carrier<'_>,
        part: &Part<'_>,
        arrival: &Arrival<'_>,
    ) -> Result<Option<Whole>, Dropped> {
        let whole = self.reassembly.insert(carrier, part, arrival.now);
        for _ in 0..self.reassembly.take_evicted() {
            self.counters.note(Noted::ReassemblyEvicted);
        }
        if let Ok(Some(_)) = whole {
            self.counters.note(Noted::Reassembled);
        }
        whole
    }

    fn receive_upper(
        &mut self,
        carrier: &Carrier<'_>,
        upper: &Upper<'_>,
        arrival: Arrival<'_>,
    ) -> Result<Delivered, Dropped> {
        let is_v4 = carrier.source.is_ipv4();
        // RFC 4862, section 5.4: an address that may not stay ours hears of neighbours alone.
        let is_tentative =
            carrier.cast == Cast::Unicast && !self.addresses.is_own(carrier.destination);
        match upper.protocol {
            protocol::ICMPV6 if !is_v4 => {
                self.receive_icmp_v6(carrier, upper, arrival, is_tentative)
            }
            // Who has no address yet gets no answer.
            _ if carrier.source.is_unspecified() => Err(Dropped::IpSource),
            protocol::TCP => self.receive_tcp(carrier, upper, arrival),
            protocol::UDP => self.receive_udp(carrier, upper, &arrival),
            protocol::ICMPV4 if is_v4 => self.receive_icmp_v4(carrier, upper, &arrival),
            protocol::NO_NEXT_HEADER if !is_v4 => Err(Dropped::NothingFollows),
            _ => {
                let problem = Problem::Protocol { named_at: upper.named_at };
                self.send_error(carrier, problem, arrival.now);
                Err(Dropped::ProtocolUnknown)
            }
        }
    }

    fn receive_tcp(
        &mut self,
        carrier: &Carrier<'_>,
        upper: &Upper<'_>,
        arrival: Arrival<'_>,
    ) -> Result<Delivered, Dropped> {
        if carrier.cast != Cast::Unicast {
            return Err(Dropped::TcpNotUnicast);
        }
        let (path_mtus, now) = (&self.path_mtus, arrival.now);
        let arrived = Arrived {
            source: carrier.source,
            destination: carrier.destination,
            ecn: Ecn::from_bits(carrier.traffic_class),
            segment: upper.payload,
            checksum: arrival.checksum,
            path_mtu: &|destination| path_mtus.get(destination, now),
        };
        self.tcp.handle_segment(arrived, now, arrival.deliver);
        Ok(Delivered::Tcp)
    }

    fn receive_udp(
        &mut self,
        carrier: &Carrier<'_>,
        upper: &Upper<'_>,
        arrival: &Arrival<'_>,
    ) -> Result<Delivered, Dropped> {
        let packet = udp::Packet::parse(upper.payload).map_err(|_| Dropped::UdpMalformed)?;
        let Carrier { source, destination, .. } = *carrier;
        let is_verified = arrival.checksum == Checksum::Verified && packet.checksum() != 0;
        // A partial checksum is the device's to vouch for: it does not show damage.
        let is_right = || matches!(packet.check(source, destination), Check::Right | Check::Absent);
        if !is_verified && !is_right() {
            return Err(Dropped::UdpChecksum);
        }
        if packet.destination_port() == 0 {
            return Err(Dropped::UdpMalformed);
        }
        let from = SocketAddr::new(source, packet.source_port());
        let to = SocketAddr::new(destination, packet.destination_port());
        match self.udp.deliver(from, to, packet.payload()) {
            Ok(()) => Ok(Delivered::Udp),
            Err(reason) => {
                if reason == Dropped::UdpPort {
                    self.send_error(carrier, Problem::Port, arrival.now);
                }
                Err(reason)
            }
        }
    }

    fn receive_icmp_v4(
        &mut self,
        carrier: &Carrier<'_>,
        upper: &Upper<'_>,
        arrival: &Arrival<'_>,
    ) -> Result<Delivered, Dropped> {
        let message = icmpv4::Packet::parse(upper.payload).map_err(|_| Dropped::IcmpMalformed)?;
        if !message.checksum_is_right() {
            return Err(Dropped::IcmpChecksum);
        }
        match (message.kind(), message.echo()) {
            (icmpv4::Kind::ECHO_REQUEST, Some(request)) => {
                if carrier.cast != Cast::Unicast {
                    return Err(Dropped::EchoBroadcast);
                }
                let mut buffer = self.echo_buffer(message.payload().len())?;
                if echo::reply_v4(request, message.payload(), &mut buffer).is_err() {
                    return Err(Dropped::IcmpMalformed);
                }
                self.send_echo(carrier, carrier.destination, buffer)
            }
            (icmpv4::Kind::REDIRECT, _) => Err(Dropped::Redirect),
            (kind, _) if input::is_error_v4(kind) => {
                let report = input::read_v4(&message).ok_or(Dropped::IcmpMalformed)?;
                self.handle_report(&report, arrival.now)
            }
            _ => Err(Dropped::IcmpIgnored),
        }
    }

    fn receive_icmp_v6(
        &mut self,
        carrier: &Carrier<'_>,
        upper: &Upper<'_>,
        arrival: Arrival<'_>,
        is_tentative: bool,
    ) -> Result<Delivered, Dropped> {
        let message = icmpv6::Packet::parse(upper.payload).map_err(|_| Dropped::IcmpMalformed)?;
        let (IpAddr::V6(source), IpAddr::V6(destination)) = (carrier.source, carrier.destination)
        else {
            return Err(Dropped::IcmpMalformed);
        };
        // A partial checksum is the device's to vouch for: it does not show damage.
        let is_right = match message.check(source, destination) {
            Check::Right => true,
            Check::Partial => arrival.checksum == Checksum::Verified,
            Check::Absent | Check::Wrong => false,
        };
        if !is_right {
            return Err(Dropped::IcmpChecksum);
        }
        let is_rival = message.kind() == icmpv6::Kind::NEIGHBOR_ADVERTISEMENT;
        if !is_rival && self.addresses.is_own(carrier.source) {
            return Err(Dropped::IpSourceOwn);
        }
        if is_ndp(message.kind()) {
            // RFC 6980: it does not come in fragments.
            let packet = match ndp::Packet::parse(&message) {
                Ok(packet) if !upper.is_joined => packet,
                _ => return Err(Dropped::NdpMalformed),
            };
            return self.receive_ndp(&packet, carrier, arrival.sender, arrival.now);
        }
        if is_mld(message.kind()) {
            // Nor does this: its hop-by-hop options are for each router.
            if upper.is_joined {
                return Err(Dropped::MldMalformed);
            }
            return self.receive_mld(&message, carrier, arrival.now);
        }
        if is_tentative || source.is_unspecified() {
            return Err(Dropped::IpDestination);
        }
        match (message.kind(), message.echo()) {
            (icmpv6::Kind::ECHO_REQUEST, Some(request)) => {
                let local = self.answer_address(carrier, arrival.now);
                let Some(IpAddr::V6(local)) = local else { return Err(Dropped::EchoNoRoom) };
                // Anybody can ask a group in another's name.
                let is_group = carrier.cast != Cast::Unicast;
                if is_group && !self.limiter.allow(carrier.source, arrival.now) {
                    return Err(Dropped::EchoBroadcast);
                }
                let mut buffer = self.echo_buffer(message.payload().len())?;
                let written =
                    echo::reply_v6(request, message.payload(), local, source, &mut buffer);
                if written.is_err() {
                    return Err(Dropped::IcmpMalformed);
                }
                self.send_echo(carrier, local.into(), buffer)
            }
            (kind, _) if input::is_error_v6(kind) => {
                let report = input::read_v6(&message).ok_or(Dropped::IcmpMalformed)?;
                self.handle_report(&report, arrival.now)
            }
            _ => Err(Dropped::IcmpIgnored),
        }
    }

    fn echo_buffer(&mut self, len: usize) -> Result<alloc::vec::Vec<u8>, Dropped> {
        if !self.outbox.has_room(len + icmpv4::HEADER_BYTES, Origin::Host) {
            return Err(Dropped::EchoNoRoom);
        }
        Ok(self.outbox.buffer())
    }
}
