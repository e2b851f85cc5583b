//! The SYN that is sent, and what an answer to it says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use portolan_wire::{
    NoRoom, Seq,
    checksum::Sum,
    ipv4, ipv6, protocol,
    tcp::{
        self, Flags,
        options::{Option_, Options, Timestamps},
    },
};

use super::flights::Flight;
use crate::{Answer, Evidence, Verdict};

/// No SYN packet is longer, in bytes: the IPv6 header, the TCP header, and its options.
pub const PACKET_BYTES_MAX: usize = 80;

/// As Linux sends.
const HOP_LIMIT: u8 = 64;

/// The timestamp that the first question carries (RFC 7323 leaves its origin open). Each further
/// question has the next one, and the echo in a SYN+ACK tells which it answers.
const CLOCK: u32 = 0x706f_7274;

/// Where the fields lie that differ, in bytes: in the IP headers and in the TCP header.
mod at {
    use std::ops::Range;

    pub const V4_CHECKSUM: Range<usize> = 10..12;
    pub const V4_SOURCE: Range<usize> = 12..16;
    pub const V4_DESTINATION: Range<usize> = 16..20;
    pub const V6_SOURCE: Range<usize> = 8..24;
    pub const V6_DESTINATION: Range<usize> = 24..40;
    pub const SOURCE_PORT: Range<usize> = 0..2;
    pub const DESTINATION_PORT: Range<usize> = 2..4;
    pub const SEQUENCE: Range<usize> = 4..8;
    pub const CHECKSUM: Range<usize> = 16..18;
    /// Behind the options MSS and SACK-permitted.
    pub const TIMESTAMP: Range<usize> = 28..32;
}

/// The packet with the SYN of every check of one family, and the sums of what all have in common:
/// a few fields make it that of one check.
#[derive(Debug)]
pub struct Template {
    bytes: [u8; PACKET_BYTES_MAX],
    len: usize,
    is_v4: bool,
    /// Length of the IP header.
    header_len: usize,
    header_sum: Sum,
    /// With the pseudo header.
    segment_sum: Sum,
}

impl Template {
    /// For packets from this address and others of its family.
    ///
    /// # Errors
    /// Never: there is room for it.
    pub fn of(source: IpAddr) -> Result<Self, NoRoom> {
        if source.is_ipv4() { Self::v4() } else { Self::v6() }
    }

    fn v4() -> Result<Self, NoRoom> {
        let nobody = Ipv4Addr::UNSPECIFIED;
        let syn = syn(1460);
        let header = ipv4::Repr {
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: HOP_LIMIT,
            protocol: protocol::TCP,
            source: nobody,
            destination: nobody,
            options: &[],
            payload_len: syn.header_len(),
        };
        let mut bytes = [0; PACKET_BYTES_MAX];
        header.emit(&mut bytes)?;
        bytes[at::V4_CHECKSUM].fill(0);
        Self::with(bytes, header.header_len(), &syn, nobody.into())
    }

    fn v6() -> Result<Self, NoRoom> {
        let nobody = Ipv6Addr::UNSPECIFIED;
        let syn = syn(1440);
        let header = ipv6::Repr {
            traffic_class: 0,
            flow_label: 0,
            next_header: protocol::TCP,
            hop_limit: HOP_LIMIT,
            source: nobody,
            destination: nobody,
            payload_len: syn.header_len(),
        };
        let mut bytes = [0; PACKET_BYTES_MAX];
        header.emit(&mut bytes)?;
        Self::with(bytes, header.header_len(), &syn, nobody.into())
    }

    fn with(
        mut bytes: [u8; PACKET_BYTES_MAX],
        header_len: usize,
        syn: &tcp::Repr,
        nobody: IpAddr,
    ) -> Result<Self, NoRoom> {
        let len = header_len + syn.header_len();
        let segment = &mut bytes[header_len..len];
        syn.emit(segment, nobody, nobody)?;
        segment[at::CHECKSUM].fill(0);
        let mut segment_sum = Sum::default();
        segment_sum.add(segment);
        let segment_len = u32::try_from(segment.len()).unwrap_or(0);
        segment_sum.pseudo_header(nobody, nobody, protocol::TCP, segment_len);
        let mut header_sum = Sum::default();
        header_sum.add(&bytes[..header_len]);
        Ok(Self { bytes, len, is_v4: nobody.is_ipv4(), header_len, header_sum, segment_sum })
    }

    /// Writes the SYN of `flight`, question number `attempt`, from its IP header on or, if `bare`,
    /// from its TCP header on; returns its length. `buffer` has [`PACKET_BYTES_MAX`]; where it is
    /// too short, or an address of the other family, nothing is written.
    pub fn write(&self, flight: &Flight, attempt: u8, bare: bool, buffer: &mut [u8]) -> usize {
        let (source, destination) = (flight.source, flight.target.ip());
        let start = if bare { self.header_len } else { 0 };
        let len = self.len - start;
        let Some(packet) = buffer.get_mut(..len) else { return 0 };
        if [source, destination].iter().any(|address| address.is_ipv4() != self.is_v4) {
            return 0;
        }
        packet.copy_from_slice(&self.bytes[start..self.len]);
        let (header, segment) = packet.split_at_mut(self.header_len - start);
        if !bare {
            self.address(header, source, destination);
        }
        let value = CLOCK.wrapping_add(attempt.into());
        let mut sum = self.segment_sum;
        sum.add_address(source);
        sum.add_address(destination);
        sum.add_u16(flight.source_port);
        sum.add_u16(flight.target.port());
        sum.add_u32(flight.sequence.0);
        sum.add_u32(value);
        segment[at::SOURCE_PORT].copy_from_slice(&flight.source_port.to_be_bytes());
        segment[at::DESTINATION_PORT].copy_from_slice(&flight.target.port().to_be_bytes());
        segment[at::SEQUENCE].copy_from_slice(&flight.sequence.0.to_be_bytes());
        segment[at::TIMESTAMP].copy_from_slice(&value.to_be_bytes());
        segment[at::CHECKSUM].copy_from_slice(&sum.finish().to_be_bytes());
        len
    }

    fn address(&self, header: &mut [u8], source: IpAddr, destination: IpAddr) {
        match (source, destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let mut sum = self.header_sum;
                sum.add_address(source);
                sum.add_address(destination);
                header[at::V4_SOURCE].copy_from_slice(&from.octets());
                header[at::V4_DESTINATION].copy_from_slice(&to.octets());
                header[at::V4_CHECKSUM].copy_from_slice(&sum.finish().to_be_bytes());
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                header[at::V6_SOURCE].copy_from_slice(&from.octets());
                header[at::V6_DESTINATION].copy_from_slice(&to.octets());
            }
            _ => {}
        }
    }
}

/// The SYN, without what differs from check to check.
fn syn(mss: u16) -> tcp::Repr {
    tcp::Repr {
        source_port: 0,
        destination_port: 0,
        sequence: Seq(0),
        acknowledgment: Seq(0),
        flags: Flags::SYN,
        window: 64_240,
        urgent_pointer: 0,
        // As Linux has them: hosts and firewalls that distrust odd SYNs know these.
        options: Options {
            mss: Some(mss),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 0, echo: 0 }),
            ..Options::default()
        },
    }
}

/// What a segment says about a SYN of this sequence number that was sent `attempts` times; `None`
/// if it does not acknowledge that SYN, or says nothing (RFC 9293, section 3.10.7.3).
pub fn conclude(packet: &tcp::Packet<'_>, sequence: Seq, attempts: u8) -> Option<Answer> {
    let flags = packet.flags();
    let acknowledges = flags.contains(Flags::ACK) && packet.acknowledgment() == sequence + 1;
    if !acknowledges {
        return None;
    }
    let attempt = echoed(packet, attempts);
    if flags.contains(Flags::RST) {
        return Some(Answer { verdict: Verdict::Closed, evidence: Evidence::Reset, attempt });
    }
    flags.contains(Flags::SYN).then_some(Answer {
        verdict: Verdict::Open,
        evidence: Evidence::SynAck,
        attempt,
    })
}

/// Which of the questions an answer is to.
fn echoed(packet: &tcp::Packet<'_>, attempts: u8) -> Option<u8> {
    if attempts == 1 {
        return Some(0);
    }
    let echo = packet.options().filter_map(Result::ok).find_map(|option| match option {
        Option_::Timestamps(Timestamps { echo, .. }) => Some(echo),
        _ => None,
    })?;
    u8::try_from(echo.wrapping_sub(CLOCK)).ok().filter(|&attempt| attempt < attempts)
}

/// Whether the segment arrived as it was sent. A sender on this machine leaves its checksum to the
/// device, which does not exist.
pub fn is_whole(packet: &tcp::Packet<'_>, source: IpAddr, flight: &Flight) -> bool {
    packet.is_intact(source, flight.source)
}

#[cfg(test)]
mod tests;
