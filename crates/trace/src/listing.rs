//! The sockets of a network namespace, as the kernel lists them (sock_diag(7)).
//!
//! ```text
//! nlmsghdr       length:4 type:2 flags:2 sequence:4 pid:4
//! inet_diag_msg  family:1 state:1 timer:1 retransmits:1
//!                sport:2 dport:2 source:16 destination:16 interface:4 cookie:8
//!                expires:4 receive-queue:4 send-queue:4 uid:4 inode:4
//! attributes     length:2 type:2 payload, padded to 4; as many as there are
//! ```

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use portolan_sys::netlink::NetlinkSocket;

/// The kernel answers at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// The kernel's datagrams are at most 32 KiB (`netlink_dump` of net/netlink/af_netlink.c).
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;

const HEADER_BYTES: usize = 16;
/// `struct inet_diag_req`: the first version, for which the kernel goes through TCP's table once,
/// whatever the families.
const FIRST_REQUEST_BYTES: usize = 60;
/// `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
const ROW_BYTES: usize = 72;

const TCPDIAG_GETSOCK: u16 = 18;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_AND_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const INET_DIAG_INFO: u16 = 2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_UDP: u8 = 17;

/// States of include/net/tcp_states.h by number; those that move bytes, and LISTEN.
pub const LISTEN: u8 = 10;
const CONNECTED: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// FIN-WAIT-1, FIN-WAIT-2, LAST-ACK, CLOSING: this end has closed.
const CLOSED: u32 = 1 << 4 | 1 << 5 | 1 << 9 | 1 << 11;

/// A socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub state: u8,
    pub local: (IpAddr, u16),
    pub remote: (IpAddr, u16),
    pub cookie: u64,
    pub inode: u32,
    /// Acknowledged and under way: sequence numbers, of a SYN too, of a FIN not.
    pub sent: u64,
    /// Bytes that left; what this host dropped itself is in it twice.
    pub sent_max: u64,
    /// With a FIN, if there was one.
    pub received: u64,
    pub retransmits: u32,
    /// Microseconds; 0: not measured yet.
    pub rtt_us: u32,
}

/// Lists one namespace, again and again.
#[derive(Debug)]
pub struct Listing {
    socket: NetlinkSocket,
    buffer: Box<[u8]>,
    sequence: u32,
}

impl Listing {
    /// Of the namespace of the calling thread.
    pub fn open() -> io::Result<Self> {
        let socket = NetlinkSocket::open_sock_diag(PATIENCE)?;
        Ok(Self { socket, buffer: vec![0; DATAGRAM_BYTES_MAX].into(), sequence: 0 })
    }

    /// The kernel's number of the namespace; the lower half, as programs have it.
    pub fn namespace(&self) -> io::Result<u32> {
        // In the lower half alone, they are told apart as long as there are fewer.
        #[expect(clippy::cast_possible_truncation)]
        self.socket.namespace_cookie().map(|cookie| cookie as u32)
    }

    /// Every connection, and every listener if asked for.
    pub fn tcp(&mut self, with_listeners: bool, each: &mut dyn FnMut(Row)) -> io::Result<()> {
        let states = CONNECTED | u32::from(with_listeners) << LISTEN;
        let mut request = request(TCPDIAG_GETSOCK, FIRST_REQUEST_BYTES);
        request[19] = 1 << (INET_DIAG_INFO - 1);
        request[68..72].copy_from_slice(&states.to_ne_bytes());
        self.list(request, each)
    }

    /// Every UDP socket, whose rows have no numbers.
    pub fn udp(&mut self, each: &mut dyn FnMut(Row)) -> io::Result<()> {
        for family in [AF_INET, AF_INET6] {
            let mut request = request(SOCK_DIAG_BY_FAMILY, REQUEST_BYTES);
            request[16..18].copy_from_slice(&[family, IPPROTO_UDP]);
            request[20..24].fill(0xff);
            self.list(request, each)?;
        }
        Ok(())
    }

    fn list(&mut self, mut request: Vec<u8>, each: &mut dyn FnMut(Row)) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        request[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        self.socket.send(&request)?;
        loop {
            let length = self.socket.receive(&mut self.buffer)?;
            if take(&self.buffer[..length], self.sequence, each)? {
                return Ok(());
            }
        }
    }
}

fn request(kind: u16, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES + length];
    let length = u32::try_from(bytes.len()).unwrap_or(0);
    bytes[0..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST_AND_DUMP.to_ne_bytes());
    bytes
}

/// Handles one datagram; true when the listing is complete.
fn take(datagram: &[u8], sequence: u32, each: &mut dyn FnMut(Row)) -> io::Result<bool> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "netlink message cut short");
    let mut rest = datagram;
    while !rest.is_empty() {
        let length = word(rest, 0).and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|&length| length >= HEADER_BYTES).ok_or_else(malformed)?;
        let message = rest.get(..length).ok_or_else(malformed)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        // One of an earlier request that was given up half-way.
        if word(message, 8) != Some(sequence) {
            continue;
        }
        let payload = &message[HEADER_BYTES..];
        let number = || word(payload, 0).map_or(0, u32::cast_signed);
        match half(message, 4) {
            Some(TCPDIAG_GETSOCK | SOCK_DIAG_BY_FAMILY) => {
                row(payload).into_iter().for_each(&mut *each)
            }
            Some(NLMSG_DONE) if number() >= 0 => return Ok(true),
            Some(NLMSG_DONE | NLMSG_ERROR) if number() < 0 => {
                return Err(io::Error::from_raw_os_error(number().saturating_neg()));
            }
            _ => {}
        }
    }
    Ok(false)
}

fn row(payload: &[u8]) -> Option<Row> {
    let fixed: &[u8; ROW_BYTES] = payload.first_chunk()?;
    let state = fixed[1];
    let end = |port: usize, at: usize| -> (IpAddr, u16) {
        let octets: [u8; 16] = fixed[at..at + 16].try_into().expect("16 bytes");
        let address = match fixed[0] {
            AF_INET => IpAddr::V4(Ipv4Addr::from([octets[0], octets[1], octets[2], octets[3]])),
            _ => IpAddr::V6(Ipv6Addr::from(octets)),
        };
        (address, u16::from_be_bytes([fixed[port], fixed[port + 1]]))
    };
    let long_of = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let info = info(&payload[ROW_BYTES..]).unwrap_or_default();
    // `struct tcp_info` (include/uapi/linux/tcp.h); what an older kernel does not have is 0.
    let number = |at| word(info, at).unwrap_or(0);
    let long = |at: usize| long_of(number(at), number(at + 4));
    let (acked, received, left) = (long(120), long(128), long(200).saturating_sub(long(208)));
    let (queued, unsent) = (word(fixed, 60)?, number(144));
    let under_way = queued.saturating_sub(unsent);
    // It follows all that is to be sent.
    let fin = u32::from(1 << state & CLOSED != 0 && unsent == 0);
    Some(Row {
        state,
        local: end(4, 8),
        remote: end(6, 24),
        cookie: long_of(word(fixed, 44)?, word(fixed, 48)?),
        inode: word(fixed, 68)?,
        sent: (acked + u64::from(under_way)).saturating_sub(u64::from(fin)),
        sent_max: if info.len() >= 216 { left } else { u64::MAX },
        received,
        retransmits: number(100),
        rtt_us: number(68),
    })
}

/// The payload of the attribute `INET_DIAG_INFO`.
fn info(mut attributes: &[u8]) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(attributes, 0)?);
        let attribute = attributes.get(..length).filter(|_| length >= 4)?;
        if half(attribute, 2) == Some(INET_DIAG_INFO) {
            return attribute.get(4..);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests;
