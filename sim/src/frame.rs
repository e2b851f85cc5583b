//! Frames on the simulated wire, read and made.

use std::net::{IpAddr, SocketAddr};

use portolan_wire::{
    Check, ethernet, ethernet::EtherType, icmpv4, icmpv6, ipv4, ipv6, protocol, tcp, udp,
};

/// A frame as it lies on the wire.
pub type Frame = Vec<u8>;

/// What a frame carries.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The address of the sender.
    pub source: IpAddr,
    /// The address that it is for.
    pub destination: IpAddr,
    /// A number of [`protocol`].
    pub protocol: u8,
    /// The lower two bits of the traffic class: RFC 3168, section 5.
    pub ecn: u8,
    /// What the IP packet carries, without extension headers.
    pub payload: &'a [u8],
    /// The IP packet, without the padding of the frame.
    pub packet: &'a [u8],
    /// Whether routers may not fragment it.
    pub dont_fragment: bool,
    /// Whether it is a fragment, so that `payload` is not all.
    pub is_fragment: bool,
}

impl<'a> Datagram<'a> {
    /// Reads the IP packet of a frame; none where it carries no whole one, or where the checksum of
    /// the header of IPv4 is wrong.
    #[must_use]
    pub fn read(frame: &'a [u8]) -> Option<Self> {
        let frame = ethernet::Packet::parse(frame).ok()?;
        match frame.ethertype() {
            EtherType::IPV4 => {
                let packet = ipv4::Packet::parse(frame.payload()).ok()?;
                packet.checksum_is_right().then_some(Self {
                    source: packet.source().into(),
                    destination: packet.destination().into(),
                    protocol: packet.protocol(),
                    ecn: packet.traffic_class() & 3,
                    payload: packet.payload(),
                    packet: frame.payload().get(..packet.total_len())?,
                    dont_fragment: packet.dont_fragment(),
                    is_fragment: packet.is_fragment(),
                })
            }
            EtherType::IPV6 => {
                let packet = ipv6::Packet::parse(frame.payload()).ok()?;
                let upper = packet.upper_layer().ok()?;
                let length = packet.payload_len() + ipv6::HEADER_BYTES;
                Some(Self {
                    source: packet.source().into(),
                    destination: packet.destination().into(),
                    protocol: upper.protocol,
                    ecn: packet.traffic_class() & 3,
                    payload: upper.payload,
                    packet: frame.payload().get(..length)?,
                    dont_fragment: true,
                    is_fragment: upper.fragment.is_some(),
                })
            }
            _ => None,
        }
    }

    /// The segment of TCP in it; none where it is another protocol, or malformed.
    #[must_use]
    pub fn segment(&self) -> Option<Segment<'a>> {
        if self.protocol != protocol::TCP || self.is_fragment {
            return None;
        }
        let packet = tcp::Packet::parse(self.payload).ok()?;
        Some(Segment {
            source: SocketAddr::new(self.source, packet.source_port()),
            destination: SocketAddr::new(self.destination, packet.destination_port()),
            checksum: packet.check(self.source, self.destination),
            packet,
        })
    }

    /// Whether its checksum is right. Protocols without one are, and fragments: theirs is that of
    /// the whole.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        if self.is_fragment {
            return true;
        }
        match (self.protocol, self.source, self.destination) {
            (protocol::TCP, ..) => self.segment().is_some_and(|one| one.checksum == Check::Right),
            (protocol::UDP, source, destination) => udp::Packet::parse(self.payload)
                .is_ok_and(|packet| packet.check(source, destination) == Check::Right),
            (protocol::ICMPV4, ..) => {
                icmpv4::Packet::parse(self.payload).is_ok_and(|packet| packet.checksum_is_right())
            }
            (protocol::ICMPV6, IpAddr::V6(source), IpAddr::V6(destination)) => {
                icmpv6::Packet::parse(self.payload)
                    .is_ok_and(|packet| packet.check(source, destination) == Check::Right)
            }
            _ => true,
        }
    }

    /// Whether it belongs to finding neighbours by NDP: RFC 4861.
    #[must_use]
    pub fn is_neighbor_discovery(&self) -> bool {
        self.protocol == protocol::ICMPV6
            && self.payload.first().is_some_and(|kind| (133..=137).contains(kind))
    }
}

/// A segment and who sends it to whom.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Address and port of the sender.
    pub source: SocketAddr,
    /// Address and port that it is for.
    pub destination: SocketAddr,
    /// What its checksum says.
    pub checksum: Check,
    /// Its header and data.
    pub packet: tcp::Packet<'a>,
}

/// Who sends a frame to whom, on all layers.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The sender's hardware address.
    pub source_mac: ethernet::Address,
    /// The receiver's hardware address.
    pub destination_mac: ethernet::Address,
    /// The sender's address.
    pub source: IpAddr,
    /// The receiver's address, of the same version.
    pub destination: IpAddr,
}

/// A frame around this payload.
#[must_use]
pub fn wrapped(way: Way, protocol: u8, ecn: u8, payload: &[u8]) -> Frame {
    let (ethertype, header_len) = match way.source {
        IpAddr::V4(_) => (EtherType::IPV4, ipv4::HEADER_BYTES),
        IpAddr::V6(_) => (EtherType::IPV6, ipv6::HEADER_BYTES),
    };
    let mut frame = vec![0; ethernet::HEADER_BYTES + header_len];
    let ethernet = ethernet::Repr {
        source: way.source_mac,
        destination: way.destination_mac,
        tags: Default::default(),
        ethertype,
    };
    let mut done = ethernet.emit(&mut frame).is_ok();
    let at = &mut frame[ethernet::HEADER_BYTES..];
    done &= match (way.source, way.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => ipv4::Repr {
            traffic_class: ecn,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            source,
            destination,
            options: &[],
            payload_len: payload.len(),
        }
        .emit(at)
        .is_ok(),
        (IpAddr::V6(source), IpAddr::V6(destination)) => ipv6::Repr {
            traffic_class: ecn,
            flow_label: 0,
            next_header: protocol,
            hop_limit: if protocol == protocol::ICMPV6 { 255 } else { 64 },
            source,
            destination,
            payload_len: payload.len(),
        }
        .emit(at)
        .is_ok(),
        _ => false,
    };
    debug_assert!(done, "a frame of the simulator does not fit: {way:?}");
    frame.extend_from_slice(payload);
    frame
}

/// A frame with this segment.
#[must_use]
pub fn of_segment(way: Way, ecn: u8, header: &tcp::Repr, payload: &[u8]) -> Frame {
    let mut segment = vec![0; header.header_len()];
    segment.extend_from_slice(payload);
    let written = header.emit(&mut segment, way.source, way.destination);
    debug_assert!(written.is_ok(), "a segment of the simulator does not fit: {header:?}");
    wrapped(way, protocol::TCP, ecn, &segment)
}

/// Writes an ECN codepoint into the IP header of a frame; the checksum stays right.
pub fn set_ecn(frame: &mut [u8], ecn: u8) {
    let Some(datagram) = Datagram::read(frame) else { return };
    let is_v4 = datagram.source.is_ipv4();
    let Some(header) = frame.get_mut(ethernet::HEADER_BYTES..) else { return };
    if !is_v4 {
        // The traffic class begins in the middle of the first byte: RFC 8200, section 3.
        header[1] = (header[1] & !0x30) | (ecn << 4);
        return;
    }
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[1] = (header[1] & !3) | ecn;
    let new = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let checksum = portolan_wire::checksum::update(checksum, old, new);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}
