//! The raw-socket check as it was published in 2018 (mruby-fast-remote-check), for comparison.
//!
//! Rebuilt with its habits, which are not to be imitated: the segment is made once, of 20 bytes,
//! with a source address and a source port that were typed by hand, and without any option; each
//! check opens a new raw socket, which gets every TCP segment of the host; what has the target's
//! address and port as its source is the answer, whoever it is for; after five others it gives up;
//! and a segment that is lost is lost.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    time::{Duration, Instant},
};

use rustix::{
    io::{Errno, Result},
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, sockopt,
        sockopt::Timeout,
    },
};

use crate::{Count, Error};

/// Segments that are looked at before it gives up.
const SEGMENTS_MAX: u32 = 5;

/// Flags of a TCP header: RFC 9293 section 3.1.
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// What to check, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Whom to ask.
    pub target: SocketAddrV4,
    /// Where the answer is to go.
    pub source: SocketAddrV4,
    /// How often, one after another.
    pub count: u64,
    /// How long to wait for a segment, whichever.
    pub timeout: Duration,
}

impl Published {
    /// As the command line of the hidden `portolan bench published` takes it.
    #[must_use]
    pub fn to_args(self) -> Vec<String> {
        let Self { target, source, count, timeout } = self;
        [
            ("--target", target.to_string()),
            ("--source", source.to_string()),
            ("--count", count.to_string()),
            ("--timeout-ms", timeout.as_millis().to_string()),
        ]
        .map(|(flag, value)| [flag.to_owned(), value])
        .concat()
    }
}

/// Checks as `plan` says. A check without an answer counts as filtered.
///
/// # Errors
/// Without CAP_NET_RAW, or when a segment cannot be sent.
pub fn published(plan: Published) -> std::result::Result<Count, Error> {
    let segment = syn(plan.source, plan.target);
    let start = Instant::now();
    let mut count = Count { checks: plan.count, ..Count::default() };
    for _ in 0..plan.count {
        match check(&plan, &segment) {
            Ok(true) => count.open += 1,
            Ok(false) => count.closed += 1,
            Err(Errno::AGAIN) => count.filtered += 1,
            Err(error) => {
                let what = format!("check {} with a raw socket (CAP_NET_RAW)", plan.target);
                return Err(Error::system(what)(error.into()));
            }
        }
    }
    count.seconds = start.elapsed().as_secs_f64();
    Ok(count)
}

fn check(plan: &Published, segment: &[u8]) -> Result<bool> {
    let (flags, tcp) = (SocketFlags::empty(), Some(ipproto::TCP));
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::RAW, flags, tcp)?;
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(plan.timeout))?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(plan.timeout))?;
    rustix::net::sendto(&socket, segment, SendFlags::empty(), &plan.target)?;
    for _ in 0..SEGMENTS_MAX {
        let mut packet = [0; 4096];
        let (length, ..) = rustix::net::recvfrom(&socket, &mut packet[..], RecvFlags::empty())?;
        if let Some(is_open) = answer(&packet[..length], plan.target) {
            return Ok(is_open);
        }
    }
    Ok(false)
}

/// What an IPv4 packet with a TCP segment says about `target`; an IP header without options, as
/// the original takes it.
fn answer(packet: &[u8], target: SocketAddrV4) -> Option<bool> {
    let source: [u8; 4] = packet.get(12..16)?.try_into().ok()?;
    let port: [u8; 2] = packet.get(20..22)?.try_into().ok()?;
    let flags = *packet.get(33)?;
    if Ipv4Addr::from(source) != *target.ip() || u16::from_be_bytes(port) != target.port() {
        return None;
    }
    match flags {
        flags if flags & (SYN | ACK) == SYN | ACK => Some(true),
        flags if flags & RST != 0 => Some(false),
        _ => None,
    }
}

/// A SYN without options, sequence number 1, window 4321 (RFC 9293 section 3.1).
fn syn(source: SocketAddrV4, target: SocketAddrV4) -> [u8; 20] {
    let mut segment = [0; 20];
    segment[0..2].copy_from_slice(&source.port().to_be_bytes());
    segment[2..4].copy_from_slice(&target.port().to_be_bytes());
    segment[4..8].copy_from_slice(&1_u32.to_be_bytes());
    // The header's length in words of four bytes.
    segment[12] = 5 << 4;
    segment[13] = SYN;
    segment[14..16].copy_from_slice(&4_321_u16.to_be_bytes());
    let sum = checksum(*source.ip(), *target.ip(), &segment);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}

/// The internet checksum (RFC 1071) of the pseudo header and a segment of 20 bytes.
fn checksum(source: Ipv4Addr, target: Ipv4Addr, segment: &[u8; 20]) -> u16 {
    let pseudo = [source.octets(), target.octets(), [0, 6, 0, 20]];
    let bytes = pseudo.as_flattened().iter().chain(segment).copied().collect::<Vec<u8>>();
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    !u16::try_from((folded >> 16) + (folded & 0xffff)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
