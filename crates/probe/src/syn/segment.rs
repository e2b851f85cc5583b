//! The SYN that is sent, and what an answer to it says.

use std::net::{IpAddr, Ipv6Addr};

use portolan_wire::{
    Check, NoRoom, Seq, ipv4, ipv6, protocol,
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

/// Writes the packet with the SYN of `flight`, question number `attempt`, from its IP header on;
/// returns its length.
///
/// # Errors
/// When the buffer has less than [`PACKET_BYTES_MAX`].
pub fn write(flight: &Flight, attempt: u8, buffer: &mut [u8]) -> Result<usize, NoRoom> {
    let syn = syn(flight, attempt);
    let payload_len = syn.header_len();
    let header_len = match (flight.source, flight.target.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = ipv4::Repr {
                traffic_class: 0,
                identification: 0,
                dont_fragment: true,
                ttl: HOP_LIMIT,
                protocol: protocol::TCP,
                source,
                destination,
                payload_len,
            };
            header.emit(buffer)?;
            header.header_len()
        }
        (source, destination) => {
            let header = ipv6::Repr {
                traffic_class: 0,
                flow_label: 0,
                next_header: protocol::TCP,
                hop_limit: HOP_LIMIT,
                source: as_v6(source),
                destination: as_v6(destination),
                payload_len,
            };
            header.emit(buffer)?;
            header.header_len()
        }
    };
    let (needed, found) = (header_len + payload_len, buffer.len());
    let room = NoRoom::Buffer { what: "SYN", needed, found };
    let segment = buffer.get_mut(header_len..needed).ok_or(room)?;
    syn.emit(segment, flight.source, flight.target.ip())?;
    Ok(needed)
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

fn syn(flight: &Flight, attempt: u8) -> tcp::Repr {
    let mss = match flight.target.ip() {
        IpAddr::V4(_) => 1460,
        IpAddr::V6(_) => 1440,
    };
    let value = CLOCK.wrapping_add(attempt.into());
    tcp::Repr {
        source_port: flight.source_port,
        destination_port: flight.target.port(),
        sequence: flight.sequence,
        acknowledgment: Seq(0),
        flags: Flags::SYN,
        window: 64_240,
        urgent_pointer: 0,
        // As Linux has them: hosts and firewalls that distrust odd SYNs know these.
        options: Options {
            mss: Some(mss),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value, echo: 0 }),
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
    let echo = packet.options().map_while(Result::ok).find_map(|option| match option {
        Option_::Timestamps(Timestamps { echo, .. }) => Some(echo),
        _ => None,
    })?;
    u8::try_from(echo.wrapping_sub(CLOCK)).ok().filter(|&attempt| attempt < attempts)
}

/// Whether the segment arrived as it was sent. A sender on this machine leaves its checksum to the
/// device, which does not exist.
pub fn is_whole(packet: &tcp::Packet<'_>, source: IpAddr, flight: &Flight) -> bool {
    packet.check(source, flight.source) != Check::Wrong
}

#[cfg(test)]
mod tests;
