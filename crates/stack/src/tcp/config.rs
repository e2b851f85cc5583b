//! What can be set.

use core::{ops::RangeInclusive, time::Duration};

use super::{congestion::Algorithm, rtt::RTO_MIN};

/// How TCP behaves. The default is what a host on the internet uses.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many connections there may be at once, half-open ones included.
    pub connections_max: usize,
    /// How many ended connections wait for late segments (TIME-WAIT). With more the oldest go.
    pub time_waits_max: usize,
    /// How many blocks of [`BLOCK_BYTES`](crate::buffer::BLOCK_BYTES) all buffers may take, at
    /// least 4. The last quarter is for what arrives.
    pub blocks_max: usize,
    /// How many bytes of a connection wait at most to be sent or acknowledged.
    pub send_buffer_bytes: u32,
    /// How many bytes a peer may send that the program has not read: the largest window offered.
    pub receive_buffer_bytes: u32,
    /// The congestion control.
    pub congestion: Algorithm,
    /// Whether small segments leave at once, although earlier data is not acknowledged: the
    /// opposite of Nagle's algorithm (RFC 9293, section 3.7.4). Can be changed by connection.
    pub nodelay: bool,
    /// How long an acknowledgment waits at most for data to go with (RFC 9293, MUST-40: less than
    /// 500 ms).
    pub delayed_ack: Duration,
    /// Whether idle connections are probed, and how. Off unless asked for (RFC 9293, MUST-25).
    pub keepalive: Option<Keepalive>,
    /// After how long without an acknowledgment of sent data the connection is given up (R2 of
    /// RFC 9293, SHLD-11: at least 100 s).
    pub user_timeout: Duration,
    /// After how long without an answer to SYN it is given up (RFC 9293, MUST-23: at least 180 s).
    pub connect_timeout: Duration,
    /// How long a connection, which the program has closed and the peer has not, is kept.
    pub fin_wait_2: Duration,
    /// How long an ended connection waits for late segments: twice the maximum segment lifetime
    /// (RFC 9293, MUST-13).
    pub time_wait: Duration,
    /// The shortest retransmission timeout (RFC 6298, section 2: at least 1 s, which no host keeps
    /// to).
    pub rto_min: Duration,
    /// Whether a full backlog is answered with SYN cookies rather than not at all.
    pub syn_cookies: bool,
    /// Whether selective acknowledgments are used (RFC 2018).
    pub sack: bool,
    /// Whether timestamps are used (RFC 7323).
    pub timestamps: bool,
    /// Whether windows are scaled (RFC 7323).
    pub window_scaling: bool,
    /// Whether congestion marks are used (RFC 3168).
    pub ecn: Ecn,
    /// The ports that outgoing connections come from.
    pub ports: RangeInclusive<u16>,
    /// The Differentiated Services codepoint of segments, 0 to 63 (RFC 9293, MUST-48). Can be
    /// changed by connection.
    pub diffserv: u8,
    /// How many routers a segment may pass: the TTL (RFC 9293, MUST-49).
    pub hop_limit: u8,
    /// Whether the device completes checksums.
    pub checksum_offload: bool,
    /// How many bytes of payload the device takes at once to split them into segments; 0 if it
    /// splits nothing.
    pub segment_bytes_max: usize,
}

impl Config {
    /// The first field that cannot be, and what it has to be.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let is_empty = self.send_buffer_bytes == 0 || self.receive_buffer_bytes == 0;
        for (is_wrong, setting, wanted) in [
            (self.blocks_max < BLOCKS_LEAST, "blocks_max", "4 or more are needed"),
            (is_empty, "send_buffer_bytes or receive_buffer_bytes", "it must not be 0"),
            (self.ports.contains(&0), "ports", "port 0 is none"),
            (self.delayed_ack >= DELAYED_ACK, "delayed_ack", "it must be less than 500 ms"),
            (self.rto_min.is_zero(), "rto_min", "it must not be 0"),
            (self.diffserv > DIFFSERV_MAX, "diffserv", "0 to 63 is possible"),
            (self.hop_limit == 0, "hop_limit", "it must not be 0"),
        ] {
            if is_wrong {
                return Err((setting, wanted));
            }
        }
        Ok(())
    }
}

/// With fewer blocks, what is for writers and what is for arrivals are both nothing.
const BLOCKS_LEAST: usize = 4;

/// RFC 9293, MUST-40.
const DELAYED_ACK: Duration = Duration::from_millis(500);

/// RFC 2474, section 3: six bits.
pub(super) const DIFFSERV_MAX: u8 = 0x3f;

/// How idle connections are probed: RFC 9293, section 3.8.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// After how long without a segment from the peer (MUST-28: two hours by default).
    pub idle: Duration,
    /// How long between two probes.
    pub interval: Duration,
    /// After how many unanswered probes the connection is given up.
    pub probes: u8,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { idle: Duration::from_secs(7_200), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// When congestion marks are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Never.
    Off,
    /// When the peer asks for it.
    Passive,
    /// Asked for as well.
    Active,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            connections_max: 1 << 20,
            time_waits_max: 1 << 18,
            blocks_max: 1 << 16,
            send_buffer_bytes: 1 << 20,
            receive_buffer_bytes: 1 << 20,
            congestion: Algorithm::Cubic,
            nodelay: false,
            delayed_ack: Duration::from_millis(40),
            keepalive: None,
            user_timeout: Duration::from_secs(900),
            connect_timeout: Duration::from_secs(180),
            fin_wait_2: Duration::from_secs(60),
            time_wait: Duration::from_secs(60),
            rto_min: RTO_MIN,
            syn_cookies: true,
            sack: true,
            timestamps: true,
            window_scaling: true,
            ecn: Ecn::Passive,
            ports: 32_768..=60_999,
            diffserv: 0,
            hop_limit: 64,
            checksum_offload: false,
            segment_bytes_max: 0,
        }
    }
}
