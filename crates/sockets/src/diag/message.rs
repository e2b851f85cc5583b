//! The sock_diag codec: requests out, replies in. Integers of netlink are in host byte order, the
//! addresses and ports inside are in network byte order (include/uapi/linux/{netlink,inet_diag}.h).
//!
//! ```text
//! nlmsghdr       length:4 type:2 flags:2 sequence:4 pid:4
//! inet_diag_msg  family:1 state:1 timer:1 retransmits:1
//!                sport:2 dport:2 source:16 destination:16 interface:4 cookie:8
//!                expires:4 receive-queue:4 send-queue:4 uid:4 inode:4
//! attributes     length:2 type:2 payload, padded to 4; as many as there are
//!
//! inet_diag_req_v2  family:1 protocol:1 extensions:1 0:1 states:4, then `sport` to `cookie` as
//!                above, which a dump leaves zero, then attributes
//! inet_diag_req  family:1 0:2 extensions:1, `sport` to `cookie`, states:4 0:4, then attributes
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use portolan_flow::Transport;

use super::{SocketId, info, memory};
use crate::{Error, Query, Row, State};

const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = 56;
const FIRST_REQUEST_BYTES: usize = 60;
const ROW_BYTES: usize = 72;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SOCK_DESTROY: u16 = 21;
/// Without a family: TCP.
const TCPDIAG_GETSOCK: u16 = 18;
const NLM_F_REQUEST: u16 = 0x001;
const NLM_F_ACK: u16 = 0x004;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_DUMP_INTR: u16 = 0x010;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const INET_DIAG_REQ_BYTECODE: u16 = 1;
/// As an attribute's type and, less one, as a bit of the request.
const INET_DIAG_INFO: u16 = 2;
/// The same.
const INET_DIAG_SKMEMINFO: u16 = 7;
/// Told without being asked for, of IPv6 sockets in LISTEN and CLOSE: one byte.
const INET_DIAG_SKV6ONLY: u16 = 11;

/// The address family of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `AF_INET`.
    V4,
    /// `AF_INET6`; includes sockets that carry IPv4-mapped addresses.
    V6,
    /// Both in one dump, of TCP only: a request of the first version, which the kernel still takes
    /// (`inet_diag_dump_compat` in net/ipv4/inet_diag.c). Half the work, since a dump goes through
    /// the whole table whatever the family.
    Both,
}

impl Family {
    const AF_UNSPEC: u8 = 0;
    const AF_INET: u8 = 2;
    const AF_INET6: u8 = 10;

    fn number(self) -> u8 {
        match self {
            Self::V4 => Self::AF_INET,
            Self::V6 => Self::AF_INET6,
            Self::Both => Self::AF_UNSPEC,
        }
    }

    /// For people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
            Self::Both => "IPv4 and IPv6",
        }
    }
}

/// A request for a dump of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The address family.
    pub family: Family,
    /// What to list. Of its filter, the states are asked for.
    pub query: &'a Query,
    /// What the kernel is to run on each socket, at most [`crate::BYTECODE_BYTES_MAX`] bytes; empty
    /// for nothing.
    pub bytecode: &'a [u8],
    /// The sequence number that replies will carry.
    pub sequence: u32,
}

impl Request<'_> {
    /// The request as one netlink datagram: `nlmsghdr`, `inet_diag_req_v2` (for both families
    /// `inet_diag_req`), and the bytecode as an attribute.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (kind, length, extensions_at, states_at) = match self.family {
            Family::Both => (TCPDIAG_GETSOCK, FIRST_REQUEST_BYTES, 19, 68),
            Family::V4 | Family::V6 => (SOCK_DIAG_BY_FAMILY, REQUEST_BYTES, 18, 20),
        };
        let mut bytes = vec![0; HEADER_BYTES + length];
        if !self.bytecode.is_empty() {
            let length = u16::try_from(4 + self.bytecode.len()).unwrap_or(u16::MAX);
            bytes.extend(length.to_ne_bytes());
            bytes.extend(INET_DIAG_REQ_BYTECODE.to_ne_bytes());
            bytes.extend(self.bytecode);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let kind = (kind, NLM_F_REQUEST | NLM_F_DUMP);
        fill_in(&mut bytes, kind, self.sequence, self.family, self.query.transport);
        let wanted = self.query.details;
        let extensions = [(wanted.tcp_info, INET_DIAG_INFO), (wanted.memory, INET_DIAG_SKMEMINFO)];
        for (_, attribute) in extensions.iter().filter(|(asked, _)| *asked) {
            bytes[extensions_at] |= 1 << (attribute - 1);
        }
        let states = self.query.wanted_states();
        bytes[states_at..states_at + 4].copy_from_slice(&states.bits().to_ne_bytes());
        bytes
    }
}

/// A request to close one socket, as if its peer had reset the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destroy<'a> {
    /// The socket. With its cookie, so that never another one is meant that has its addresses now.
    pub socket: &'a SocketId,
    /// The sequence number that the reply will carry.
    pub sequence: u32,
}

impl Destroy<'_> {
    /// The request as one netlink datagram: `nlmsghdr` and `inet_diag_req_v2`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let SocketId { transport, local, remote, interface, cookie } = *self.socket;
        let mut bytes = vec![0; HEADER_BYTES + REQUEST_BYTES];
        let family = if local.is_ipv4() { Family::V4 } else { Family::V6 };
        let kind = (SOCK_DESTROY, NLM_F_REQUEST | NLM_F_ACK);
        fill_in(&mut bytes, kind, self.sequence, family, transport);
        let socket = &mut bytes[24..];
        for (end, port, address) in [(local, 0, 4), (remote, 2, 20)] {
            socket[port..port + 2].copy_from_slice(&end.port().to_be_bytes());
            match end.ip() {
                IpAddr::V4(v4) => socket[address..address + 4].copy_from_slice(&v4.octets()),
                IpAddr::V6(v6) => socket[address..address + 16].copy_from_slice(&v6.octets()),
            }
        }
        socket[36..40].copy_from_slice(&interface.to_ne_bytes());
        // The lower half first, whatever the byte order of the host.
        let halves = [cookie as u32, (cookie >> 32) as u32];
        socket[40..44].copy_from_slice(&halves[0].to_ne_bytes());
        socket[44..48].copy_from_slice(&halves[1].to_ne_bytes());
        bytes
    }
}

/// Fills in what all requests have in common; `kind` is the message's type and its flags.
fn fill_in(
    bytes: &mut [u8],
    kind: (u16, u16),
    sequence: u32,
    family: Family,
    transport: Transport,
) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    bytes[0..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.0.to_ne_bytes());
    bytes[6..8].copy_from_slice(&kind.1.to_ne_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes[16] = family.number();
    bytes[17] = match (family, transport) {
        // The first version has none here.
        (Family::Both, _) => 0,
        (_, Transport::Tcp) => 6,
        (_, Transport::Udp) => 17,
    };
}

/// One netlink message of a reply.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    kind: u16,
    /// The sequence number of the request that it answers.
    pub sequence: u32,
    /// The table changed during the dump (`NLM_F_DUMP_INTR`).
    pub interrupted: bool,
    payload: &'a [u8],
    at: usize,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A socket.
    Row(Box<Row>),
    /// A message, or a socket of a state or family, that this version does not know.
    Unknown,
    /// The dump is complete.
    Done,
    /// The kernel's error number, positive.
    Failed(i32),
}

/// Splits a datagram into its messages. After an error there are no more.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Result<Message<'_>, Error>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = datagram.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at;
        let message = split_message(rest, start);
        at = match &message {
            Ok((_, length)) => start + length.next_multiple_of(4),
            Err(_) => datagram.len(),
        };
        Some(message.map(|(message, _)| message))
    })
}

fn split_message(rest: &[u8], at: usize) -> Result<(Message<'_>, usize), Error> {
    let malformed = |what| Error::Malformed { what, at };
    let header = rest.get(..HEADER_BYTES).ok_or_else(|| malformed("header cut short"))?;
    let length = usize::try_from(u32_at(header, 0)).unwrap_or(usize::MAX);
    if length < HEADER_BYTES {
        return Err(malformed("message shorter than its header"));
    }
    let message =
        rest.get(..length).ok_or_else(|| malformed("message longer than the datagram"))?;
    let message = Message {
        kind: u16_at(header, 4),
        interrupted: u16_at(header, 6) & NLM_F_DUMP_INTR != 0,
        sequence: u32_at(header, 8),
        payload: &message[HEADER_BYTES..],
        at,
    };
    Ok((message, length))
}

impl Message<'_> {
    /// Reads the message as part of a dump of `transport`.
    ///
    /// # Errors
    /// [`Error::Malformed`] when the message is shorter than its type demands.
    pub fn part(&self, transport: Transport) -> Result<Part, Error> {
        match self.kind {
            SOCK_DIAG_BY_FAMILY | TCPDIAG_GETSOCK => self.row(transport),
            NLMSG_DONE => Ok(match self.errno() {
                Some(number) if number < 0 => Part::Failed(number.saturating_neg()),
                _ => Part::Done,
            }),
            NLMSG_ERROR => match self.errno() {
                None => Err(self.malformed("error message without a number")),
                Some(0) => Ok(Part::Unknown),
                Some(number) => Ok(Part::Failed(number.saturating_neg())),
            },
            _ => Ok(Part::Unknown),
        }
    }

    /// Reads the message as the answer to a request that no listing follows: the kernel's error
    /// number, positive, or 0 where it did as it was asked. `None` if it is no such answer.
    #[must_use]
    pub fn answer(&self) -> Option<i32> {
        let number = self.errno().filter(|_| self.kind == NLMSG_ERROR)?;
        Some(number.saturating_neg())
    }

    fn errno(&self) -> Option<i32> {
        self.payload.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))
    }

    fn malformed(&self, what: &'static str) -> Error {
        Error::Malformed { what, at: self.at }
    }

    fn row(&self, transport: Transport) -> Result<Part, Error> {
        let fixed =
            self.payload.get(..ROW_BYTES).ok_or_else(|| self.malformed("socket cut short"))?;
        let Some(state) = State::from_kernel(fixed[1]) else { return Ok(Part::Unknown) };
        let interface = u32_at(fixed, 40);
        let address = |port: usize, at: usize| socket_address(fixed, port, at, interface);
        let (Some(local), Some(remote)) = (address(4, 8), address(6, 24)) else {
            return Ok(Part::Unknown);
        };
        Ok(Part::Row(Box::new(Row {
            transport,
            state,
            local,
            remote,
            interface,
            only_v6: self.only_v6(local),
            receive_queue: u32_at(fixed, 56),
            send_queue: u32_at(fixed, 60),
            uid: u32_at(fixed, 64),
            inode: u32_at(fixed, 68),
            cookie: u64::from(u32_at(fixed, 44)) | u64::from(u32_at(fixed, 48)) << 32,
            retransmits: fixed[3],
            timer: fixed[2],
            expires_ms: u32_at(fixed, 52),
            tcp: self.attribute(INET_DIAG_INFO).and_then(info::decode),
            memory: self.attribute(INET_DIAG_SKMEMINFO).and_then(memory::decode),
        })))
    }

    /// What is told of IPv4 sockets, if anything ever is, means nothing.
    fn only_v6(&self, local: SocketAddr) -> Option<bool> {
        let told = local.is_ipv6().then(|| self.attribute(INET_DIAG_SKV6ONLY))?;
        told?.first().map(|&only| only != 0)
    }

    /// The payload of the first attribute of a type; a malformed attribute ends the list.
    fn attribute(&self, wanted: u16) -> Option<&[u8]> {
        let mut rest = self.payload.get(ROW_BYTES..)?;
        while rest.len() >= 4 {
            let length = usize::from(u16_at(rest, 0));
            let payload = rest.get(4..length)?;
            if u16_at(rest, 2) == wanted {
                return Some(payload);
            }
            rest = rest.get(length.next_multiple_of(4)..)?;
        }
        None
    }
}

fn socket_address(row: &[u8], port: usize, at: usize, interface: u32) -> Option<SocketAddr> {
    let port = u16::from_be_bytes([row[port], row[port + 1]]);
    match row[0] {
        Family::AF_INET => {
            let octets: [u8; 4] = row[at..at + 4].try_into().ok()?;
            Some(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::from(octets), port)))
        }
        Family::AF_INET6 => {
            let octets: [u8; 16] = row[at..at + 16].try_into().ok()?;
            let address = Ipv6Addr::from(octets);
            // Only a link-local address needs the interface to be complete (RFC 4007).
            let scope = if address.is_unicast_link_local() { interface } else { 0 };
            Some(SocketAddr::V6(SocketAddrV6::new(address, port, 0, scope)))
        }
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
pub(super) mod tests;
