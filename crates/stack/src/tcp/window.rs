//! How much a peer may send, and how long segments are: RFC 9293, sections 3.7.1 and 3.8.6.

use portolan_wire::tcp::Options;

use super::{
    Config, Flow,
    connection::{Connection, Context, Receiver, Sender},
};

impl Receiver {
    /// The window for the next segment, as its field has it. What was offered stays offered.
    pub fn offer(&mut self, context: &Context<'_>) -> u16 {
        let wanted = self.next + self.free(context);
        // Section 3.8.6.2.2: no small steps.
        let step = u32::from(SEGMENT_LEN_USUAL).min(context.config.receive_buffer_bytes / 2);
        if wanted.after(self.edge) && wanted.distance(self.edge) >= step {
            self.edge = wanted;
        }
        let field = self.edge.distance(self.next).div_ceil(1 << self.scale).min(MAX_FIELD);
        // Rounded up, so that the edge does not go back as the window is shifted (RFC 7323,
        // section 2.4).
        let offered = self.next + (field << self.scale);
        if offered.after(self.edge) {
            self.edge = offered;
        }
        u16::try_from(field).unwrap_or(u16::MAX)
    }

    /// The window for SYN, which is not shifted: RFC 7323, section 2.2.
    pub fn offer_unscaled(&mut self, context: &Context<'_>) -> u16 {
        let offered = self.edge.distance(self.next);
        let field = self.free(context).max(offered).min(MAX_FIELD);
        self.edge = self.next + field;
        u16::try_from(field).unwrap_or(u16::MAX)
    }

    /// How many more octets this end can take.
    fn free(&self, context: &Context<'_>) -> u32 {
        let most = context.config.receive_buffer_bytes.min(MAX_FIELD << self.scale);
        let free = most.saturating_sub(self.stream.len());
        // With few blocks left, no connection gets much more.
        if context.pool.is_short() { free.min(WINDOW_UNDER_PRESSURE) } else { free }
    }

    /// Whether the program has made so much room that the peer should know at once: RFC 9293,
    /// section 3.8.6.2.2, and the window has at least doubled, so that a fast reader does not
    /// answer each of its reads.
    pub fn has_much_more(&self, context: &Context<'_>) -> bool {
        let offered = self.edge.distance(self.next);
        let free = self.free(context);
        let step = u32::from(SEGMENT_LEN_USUAL).min(context.config.receive_buffer_bytes / 2);
        free >= offered.saturating_add(step) && free / 2 >= offered
    }

    /// How many octets a full segment of the peer has, by the length that was told to it.
    pub fn segment_len(&self, mtu: u16, flow: &Flow) -> u16 {
        // Timestamps may take a part of it.
        mtu.saturating_sub(headers_len(flow) + 12)
    }
}

impl Sender {
    /// The longest segment, its options included: the peer's limit and the way's (section 3.7.1).
    pub fn segment_len(&self, flow: &Flow) -> u16 {
        self.peer_mss.min(self.mtu.saturating_sub(headers_len(flow))).max(PEER_MSS_MIN)
    }
}

impl Connection {
    /// The length of segments has changed, with the way or the options.
    pub fn segment_len_changed(&mut self) {
        let mss = self.sender.segment_len(&self.flow) - self.timestamps_len();
        self.sender.congestion.set_mss(mss);
    }

    /// How much of each segment the timestamps take.
    pub fn timestamps_len(&self) -> u16 {
        if self.agreed.timestamps { 12 } else { 0 }
    }

    /// RFC 8899, section 3, and RFC 2923: segments that vanish again and again, and are longer than
    /// every way takes, may be too long for a router that does not say so. Shorter ones are tried.
    pub fn look_for_black_hole(&mut self) {
        let base = if self.flow.local.is_ipv6() { MTU_BASE_V6 } else { MTU_BASE_V4 };
        let headers = u32::from(headers_len(&self.flow) + self.timestamps_len());
        let has_long = self.sender.outstanding() + headers > u32::from(base);
        if self.sender.retries >= RETRIES_BEFORE_BASE && has_long && self.sender.mtu > base {
            self.sender.mtu = base;
            self.segment_len_changed();
        }
    }
}

/// The shift for own windows: the least that lets the field hold the whole buffer (RFC 7323,
/// section 2.3: at most 14).
pub(super) fn scale(config: &Config) -> u8 {
    (0..SCALE_MAX)
        .find(|scale| config.receive_buffer_bytes >> scale <= MAX_FIELD)
        .unwrap_or(SCALE_MAX)
}

/// The lengths of the IP and TCP headers without options.
pub(super) fn headers_len(flow: &Flow) -> u16 {
    if flow.local.is_ipv6() { 60 } else { 40 }
}

/// What a peer takes: 0 says nothing, as for Linux (`tcp_parse_options`, net/ipv4/tcp_input.c).
pub(super) fn told_mss(options: &Options, flow: &Flow) -> u16 {
    options.mss.filter(|mss| *mss > 0).unwrap_or(default_mss(flow))
}

/// What a peer takes that does not say so: RFC 9293, section 3.7.1, MUST-15.
pub(super) fn default_mss(flow: &Flow) -> u16 {
    if flow.local.is_ipv6() { 1_220 } else { 536 }
}

/// The least that is believed: with less, the headers are nearly all that is sent (CVE-2019-11479;
/// Linux has the same, `TCP_MIN_SND_MSS`).
pub(super) const PEER_MSS_MIN: u16 = 48;

/// The largest shift: RFC 7323, section 2.3.
pub(super) const SCALE_MAX: u8 = 14;
const MAX_FIELD: u32 = u16::MAX as u32;
const SEGMENT_LEN_USUAL: u16 = 1_460;
const WINDOW_UNDER_PRESSURE: u32 = 4_096;
const MTU_BASE_V4: u16 = 576;
const MTU_BASE_V6: u16 = 1_280;
const RETRIES_BEFORE_BASE: u8 = 3;
