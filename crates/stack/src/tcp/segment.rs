//! A segment as it arrived, and one that is to leave.

use core::net::IpAddr;

use portolan_wire::{
    Seq,
    tcp::{Flags, Options, Packet, Repr},
};

use super::{Config, Flow};

/// The congestion marks of an IP header: RFC 3168, section 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender does not understand marks.
    #[default]
    NotCapable,
    /// ECT(1): the sender understands marks.
    Capable1,
    /// ECT(0): the sender understands marks.
    Capable0,
    /// A router met congestion.
    Experienced,
}

impl Ecn {
    /// By the two lowest bits of the traffic class.
    #[must_use]
    pub const fn from_bits(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::Experienced,
        }
    }

    /// The two lowest bits of the traffic class.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0b00,
            Self::Capable1 => 0b01,
            Self::Capable0 => 0b10,
            Self::Experienced => 0b11,
        }
    }
}

/// What is known about the checksum of a packet that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// It is to be looked at.
    #[default]
    Unknown,
    /// The device has looked at it, or the packet never left this machine.
    Verified,
}

/// A segment that arrived for this host.
#[derive(Clone, Copy)]
pub struct Arrived<'a> {
    /// The address of the sender.
    pub source: IpAddr,
    /// This host's address.
    pub destination: IpAddr,
    /// Congestion marks.
    pub ecn: Ecn,
    /// Whether the checksum is to be looked at.
    pub checksum: Checksum,
    /// Header and payload.
    pub segment: &'a [u8],
    /// The largest packet in bytes that the way to an address takes, as far as known.
    pub path_mtu: &'a dyn Fn(IpAddr) -> u16,
}

/// A segment that is to leave. It was written at the front of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// This host's address.
    pub source: IpAddr,
    /// The other end's address.
    pub destination: IpAddr,
    /// Congestion marks for the IP header.
    pub ecn: Ecn,
    /// The Differentiated Services codepoint for the IP header, 0 to 63.
    pub diffserv: u8,
    /// The TTL or hop limit for the IP header.
    pub hop_limit: u8,
    /// Length in bytes of header and payload.
    pub len: usize,
    /// Length in bytes of the header.
    pub header_len: usize,
    /// Into segments of how many bytes of payload the device is to split it; none if it fits.
    pub segment_payload: Option<u16>,
}

/// Where a segment is written: behind as many bytes as the headers before it take.
pub struct Room<'a> {
    pub buffer: &'a mut [u8],
    /// How many bytes the headers take, those of the link included, if the segment leaves by IPv4.
    pub headers_v4: usize,
    /// As above, by IPv6.
    pub headers_v6: usize,
}

impl Room<'_> {
    /// The part for a segment to this address; none of the buffer if it is too short.
    pub fn behind_headers(&mut self, remote: IpAddr) -> &mut [u8] {
        let headers = if remote.is_ipv6() { self.headers_v6 } else { self.headers_v4 };
        self.buffer.get_mut(headers..).unwrap_or_default()
    }
}

/// The fields of a segment that arrived for a connection.
#[derive(Clone, Copy)]
pub(super) struct Segment<'a> {
    pub flags: Flags,
    pub sequence: Seq,
    pub acknowledgment: Seq,
    pub window: u16,
    pub urgent: u16,
    pub options: Options,
    pub payload: &'a [u8],
    pub ecn: Ecn,
}

impl<'a> Segment<'a> {
    pub fn new(packet: &Packet<'a>, ecn: Ecn) -> Self {
        let repr = packet.repr();
        Self {
            flags: repr.flags,
            sequence: repr.sequence,
            acknowledgment: repr.acknowledgment,
            window: repr.window,
            urgent: repr.urgent_pointer,
            options: repr.options,
            payload: packet.payload(),
            ecn,
        }
    }

    pub fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// SEG.LEN: data, SYN and FIN.
    pub fn len(&self) -> u32 {
        let controls = u32::from(self.has(Flags::SYN)) + u32::from(self.has(Flags::FIN));
        self.payload_len() + controls
    }

    pub fn payload_len(&self) -> u32 {
        u32::try_from(self.payload.len()).unwrap_or(u32::MAX)
    }

    /// The number after the last one that the segment takes.
    pub fn end(&self) -> Seq {
        self.sequence + self.len()
    }
}

/// Which connection a packet between these addresses belongs to.
pub(super) fn flow_of(arrived: &Arrived<'_>, packet: &Packet<'_>) -> Flow {
    Flow {
        local: arrived.destination,
        remote: arrived.source,
        local_port: packet.destination_port(),
        remote_port: packet.source_port(),
    }
}

/// Writes the header of a segment in front of its payload; none if there is no room. Where the
/// device completes checksums, it is left to it.
pub(super) fn emit(repr: &Repr, buffer: &mut [u8], flow: &Flow, config: &Config) -> Option<()> {
    let (source, destination) = (flow.local, flow.remote);
    let written = if config.checksum_offload {
        repr.emit_partial(buffer, source, destination)
    } else {
        repr.emit(buffer, source, destination)
    };
    written.ok()
}
