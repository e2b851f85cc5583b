//! One socket of the kernel's tables.

use std::net::SocketAddr;

use portolan_flow::Transport;
use serde::Serialize;

/// A TCP state by the kernel's number (include/net/tcp_states.h); UDP uses two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "RFC 9293 section 3.3.2 defines the states")]
pub enum State {
    Established = 1,
    SynSent = 2,
    SynReceived = 3,
    FinWait1 = 4,
    FinWait2 = 5,
    TimeWait = 6,
    /// For UDP: bound, without a peer.
    Close = 7,
    CloseWait = 8,
    LastAck = 9,
    Listen = 10,
    Closing = 11,
    /// A half-open connection in the listener's table (`TCP_NEW_SYN_RECV`).
    NewSynReceived = 12,
    /// Bound to a port, neither listening nor connected.
    BoundInactive = 13,
}

impl State {
    /// All states, in the kernel's order.
    pub const ALL: [Self; 13] = [
        Self::Established,
        Self::SynSent,
        Self::SynReceived,
        Self::FinWait1,
        Self::FinWait2,
        Self::TimeWait,
        Self::Close,
        Self::CloseWait,
        Self::LastAck,
        Self::Listen,
        Self::Closing,
        Self::NewSynReceived,
        Self::BoundInactive,
    ];

    /// The state with the kernel's number.
    #[must_use]
    pub fn from_kernel(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The name that ss(8) uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "ESTAB",
            Self::SynSent => "SYN-SENT",
            Self::SynReceived | Self::NewSynReceived => "SYN-RECV",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::TimeWait => "TIME-WAIT",
            Self::Close => "UNCONN",
            Self::CloseWait => "CLOSE-WAIT",
            Self::LastAck => "LAST-ACK",
            Self::Listen => "LISTEN",
            Self::Closing => "CLOSING",
            Self::BoundInactive => "BOUND-INACTIVE",
        }
    }
}

/// A set of states, as the bit mask that sock_diag takes (bit n for state n).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States(u32);

impl States {
    /// Every state that a listing shows: all but [`State::BoundInactive`], which no other tool and
    /// not procfs shows.
    pub const ALL: Self = Self(0x1ffe);

    /// No state.
    pub const NONE: Self = Self(0);

    /// This set and `state`.
    #[must_use]
    pub const fn with(self, state: State) -> Self {
        Self(self.0 | 1 << state as u8)
    }

    /// Whether `state` is in the set. A half-open connection is in it with either of its states.
    #[must_use]
    pub fn contains(self, state: State) -> bool {
        let both = 1 << State::SynReceived as u8 | 1 << State::NewSynReceived as u8;
        let bit = 1 << state as u8;
        let bits = if bit & both == 0 { bit } else { both };
        self.0 & bits != 0
    }

    /// The states of both sets together.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.bits() | other.bits())
    }

    /// The states that are in both sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.bits() & other.bits())
    }

    /// The states of this set that are not in the other.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        Self(self.bits() & !other.bits())
    }

    /// The kernel's mask. Asking for SYN-RECEIVED asks for half-open connections too.
    #[must_use]
    pub fn bits(self) -> u32 {
        let half_open = self.contains(State::SynReceived);
        if half_open {
            self.0 | 1 << State::SynReceived as u8 | 1 << State::NewSynReceived as u8
        } else {
            self.0
        }
    }
}

/// One socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The transport protocol.
    pub transport: Transport,
    /// The state.
    pub state: State,
    /// The socket's own address and port. IPv4-mapped addresses are left as the kernel gives them.
    pub local: SocketAddr,
    /// The peer's; unspecified with port 0 where there is none.
    pub remote: SocketAddr,
    /// Index of the interface the socket is bound to; 0 for none. Not known to procfs.
    pub interface: u32,
    /// Whether it takes IPv6 only, and no IPv4-mapped addresses (`IPV6_V6ONLY`); `None` where that
    /// is not told. sock_diag tells it of IPv6 sockets that listen or have no peer.
    pub only_v6: Option<bool>,
    /// Bytes received and not read; for a listener, connections waiting to be accepted.
    pub receive_queue: u32,
    /// Bytes sent and not acknowledged; for a listener under sock_diag, the backlog's limit.
    pub send_queue: u32,
    /// The user that the socket belongs to.
    pub uid: u32,
    /// The inode number of the socket; 0 where no process holds it (TIME-WAIT, half-open, not yet
    /// accepted).
    pub inode: u32,
    /// The kernel's unique number of the socket; 0 under procfs.
    pub cookie: u64,
    /// Retransmissions of the segment under way.
    pub retransmits: u8,
    /// The timer that runs: 0 none, 1 retransmit, 2 keepalive, 3 TIME-WAIT, 4 zero-window probe.
    pub timer: u8,
    /// Milliseconds until that timer expires.
    pub expires_ms: u32,
    /// Measurements of the connection, where they were asked for and the socket has them.
    pub tcp: Option<TcpInfo>,
    /// What its queues take, where that was asked for and can be told. Not known to procfs.
    pub memory: Option<SocketMemory>,
}

/// The part of `struct tcp_info` (include/uapi/linux/tcp.h) that people look at. A field that
/// the running kernel is too old to fill in is `None`.
///
/// Serialised, it is the object `tcp_info` of docs/formats/socket.md, in the order of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TcpInfo {
    /// Smoothed round-trip time, microseconds.
    pub rtt_us: u32,
    /// Its variation, microseconds.
    pub rtt_variation_us: u32,
    /// Smallest round-trip time seen, microseconds; `None` also before the first was seen.
    pub rtt_min_us: Option<u32>,
    /// Retransmission timeout, microseconds.
    pub retransmit_timeout_us: u32,
    /// Largest segment sent, bytes.
    pub send_mss: u32,
    /// Largest segment received, bytes.
    pub receive_mss: u32,
    /// Path MTU, bytes.
    pub path_mtu: u32,
    /// Congestion window, segments.
    pub congestion_window: u32,
    /// Slow-start threshold, segments.
    pub slow_start_threshold: u32,
    /// Segments retransmitted since the start.
    pub retransmits_total: u32,
    /// Segments taken for lost.
    pub lost: u32,
    /// Bytes sent, retransmissions included.
    pub bytes_sent: Option<u64>,
    /// Bytes acknowledged by the peer (counts the SYN as one).
    pub bytes_acked: Option<u64>,
    /// Bytes received (counts the FIN as one).
    pub bytes_received: Option<u64>,
    /// Bytes retransmitted.
    pub bytes_retransmitted: Option<u64>,
    /// Delivery rate, bytes per second.
    pub delivery_rate: Option<u64>,
}

/// What the queues of a socket take of the kernel's memory, by `sk_get_meminfo` of
/// net/core/sock.c. Bytes are those of whole buffers with the kernel's book-keeping, so they are
/// more than what a program sent or will read. A field that the running kernel is too old to fill
/// in is `None`.
///
/// Serialised, it is the object `memory` of docs/formats/socket.md, in the order of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SocketMemory {
    /// What was received and not read, bytes (`sk_rmem_alloc`; `r` in ss).
    pub receive_queue_bytes: u32,
    /// As much may wait there, bytes (`sk_rcvbuf`, `SO_RCVBUF`; `rb` in ss).
    pub receive_limit_bytes: u32,
    /// What waits to be sent or to be acknowledged, bytes (`sk_wmem_queued`; `w` in ss).
    pub send_queue_bytes: u32,
    /// As much may wait there, bytes (`sk_sndbuf`, `SO_SNDBUF`; `tb` in ss).
    pub send_limit_bytes: u32,
    /// What the layers below (queues of interfaces, drivers) have and did not free yet, bytes
    /// (`sk_wmem_alloc`; `t` in ss).
    pub handed_down_bytes: u32,
    /// What the socket has set aside for what comes next, bytes (`sk_forward_alloc`; `f` in ss).
    /// The kernel may be in debt for a moment: then it is 2^32 less that debt, as in ss.
    pub reserved_bytes: u32,
    /// Socket options, bytes (`sk_omem_alloc`; `o` in ss).
    pub option_bytes: u32,
    /// What arrived while a program held the socket, bytes (`sk_backlog`; `bl` in ss).
    pub backlog_bytes: Option<u32>,
    /// Packets dropped because there was no room, since the start (`sk_drops`; `d` in ss).
    pub drops: Option<u32>,
}

#[cfg(test)]
mod tests;
