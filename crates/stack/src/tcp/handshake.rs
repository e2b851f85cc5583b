//! How a connection begins, and what its ends agree on.

use portolan_wire::{
    Seq,
    tcp::{Flags, Options},
};

use super::{
    Config, Flow, config,
    congestion::Congestion,
    connection::{Agreed, Connection, Context, Due, Owner, Receiver, Sender, State},
    event::ListenerId,
    input::clock,
    lent::Lent,
    retransmit::Memory,
    rtt::Rtt,
    segment::Segment,
    timers::Timers,
    window::{PEER_MSS_MIN, SCALE_MAX, default_mss, scale, told_mss},
};
use crate::Instant;

/// Where a connection begins, and how.
pub(super) struct Beginning {
    pub flow: Flow,
    /// The number of the own SYN.
    pub iss: Seq,
    pub timestamp_offset: u32,
    /// The largest packet that the way takes.
    pub mtu: u16,
}

impl Connection {
    /// A connection that is opened from here: SYN is due.
    pub fn active(beginning: &Beginning, config: &Config, now: Instant) -> Self {
        let mut connection = Self::new(beginning, config, now);
        connection.owner.has_it = true;
        connection.due.syn = true;
        connection
    }

    /// A connection that is opened from outside, by this SYN: the answer is due.
    pub fn passive(
        beginning: &Beginning,
        listener: ListenerId,
        syn: &Segment<'_>,
        config: &Config,
        now: Instant,
    ) -> Self {
        let mut connection = Self::new(beginning, config, now);
        connection.owner.listener = Some(listener);
        connection.agree(syn, config, now);
        connection.state = State::SynReceived;
        connection.due.syn = true;
        connection
    }

    fn new(beginning: &Beginning, config: &Config, now: Instant) -> Self {
        let Beginning { flow, iss, timestamp_offset, mtu } = *beginning;
        let peer_mss = default_mss(&flow);
        Self {
            flow,
            state: State::SynSent,
            sender: Sender {
                una: iss,
                nxt: iss,
                window: 0,
                window_max: 0,
                wl1: Seq(0),
                wl2: Seq(0),
                scale: 0,
                retries: 0,
                is_syn_ambiguous: false,
                marked_until: None,
                finished: false,
                fin_sent: false,
                is_waited_for: false,
                is_congestion_limited: false,
                peer_mss,
                mtu,
                urgent: None,
                small_end: iss,
                timer_base: now,
                unanswered_since: now,
                last_sent: now,
                rtt: Rtt::with_minimum(config.rto_min),
                congestion: Congestion::new(config.congestion, peer_mss),
                memory: Memory::new(iss + 1),
                scoreboard: None,
                stream: Lent::default(),
            },
            receiver: Receiver {
                next: Seq(0),
                edge: Seq(0),
                last_ack: Seq(0),
                scale: 0,
                unacknowledged: 0,
                quick: QUICK,
                fin: None,
                urgent: None,
                ts_recent: 0,
                ts_recent_ms: 0,
                heard_at: now,
                is_holder: false,
                reassembly: None,
                stream: Lent::default(),
            },
            agreed: Agreed { timestamp_offset, ..Agreed::default() },
            timers: Timers::default(),
            due: Due::default(),
            challenges: Default::default(),
            owner: Owner {
                nodelay: config.nodelay,
                keepalive: config.keepalive.is_some(),
                diffserv: config.diffserv,
                ..Owner::default()
            },
        }
    }

    /// Takes from the peer's SYN what it understands.
    pub(super) fn agree(&mut self, syn: &Segment<'_>, config: &Config, now: Instant) {
        self.receiver.next = syn.sequence + 1;
        self.receiver.last_ack = self.receiver.next;
        let edge = config.receive_buffer_bytes.min(u16::MAX.into());
        self.receiver.edge = self.receiver.next + edge;
        self.agree_on_options(&syn.options, config, now);
        self.agreed.ecn = agrees_on_ecn(syn.flags, config.ecn);
        // Section 3.10.7.2: SND.WND is set with the first ACK; that of SYN is not shifted.
        self.take_window(syn, u32::from(syn.window));
    }

    fn agree_on_options(&mut self, options: &Options, config: &Config, now: Instant) {
        // RFC 9293, MUST-15: what is not said is the default.
        let mss = told_mss(options, &self.flow);
        self.sender.peer_mss = mss.max(PEER_MSS_MIN);
        self.agreed.sack = config.sack && options.sack_permitted;
        self.agreed.timestamps = config.timestamps && options.timestamps.is_some();
        if let Some(timestamps) = options.timestamps {
            self.receiver.ts_recent = timestamps.value;
            self.receiver.ts_recent_ms = clock(now);
        }
        let their_scale = options.window_scale.filter(|_| config.window_scaling);
        self.agreed.scaling = their_scale.is_some();
        // RFC 7323, section 2.3: more than 14 is taken for 14.
        self.sender.scale = their_scale.unwrap_or(0).min(SCALE_MAX);
        self.receiver.scale = if self.agreed.scaling { scale(config) } else { 0 };
        // Nothing has left but SYN: the initial window is that of the segments to come.
        let mss = self.sender.segment_len(&self.flow) - self.timestamps_len();
        self.sender.congestion = Congestion::new(config.congestion, mss);
    }

    /// Notes the window of a segment whose numbers are newer than those of the last one.
    pub(super) fn take_window(&mut self, segment: &Segment<'_>, window: u32) {
        self.sender.window = window;
        self.sender.window_max = self.sender.window_max.max(window);
        self.sender.wl1 = segment.sequence;
        self.sender.wl2 = segment.acknowledgment;
    }

    /// The own SYN is acknowledged.
    pub(super) fn establish(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        self.state = State::Established;
        self.sender.retries = 0;
        self.owner.trouble = None;
        self.sender.small_end = self.sender.una;
        // The window of SYN is not shifted, all others are.
        let shift = if segment.has(Flags::SYN) { 0 } else { self.sender.scale };
        self.take_window(segment, u32::from(segment.window) << shift);
        self.timers.stop_retransmission();
        self.start_idle(context);
        self.arm(context);
    }

    /// The first round trip: RFC 6298, section 2, unless SYN was sent twice (section 3).
    pub(super) fn sample_handshake(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        if self.sender.last_sent == Instant::NEVER {
            return;
        }
        if !self.sender.is_syn_ambiguous {
            self.sender.rtt.sample(context.now.since(self.sender.last_sent), 1, context.now);
        } else {
            self.sample_by_timestamp(segment, context);
        }
        if self.sender.retries > 0 {
            // RFC 6298, section 5, (5.7); RFC 6928, section 2: a lost SYN is a sign of congestion.
            self.sender.rtt.after_syn_loss();
            self.sender.congestion.on_syn_loss();
        }
    }
}

/// RFC 3168, section 6.1.1: SYN asks, and SYN with ACK answers what this end has asked.
fn agrees_on_ecn(flags: Flags, ecn: config::Ecn) -> bool {
    if flags.contains(Flags::ACK) {
        ecn == config::Ecn::Active && flags.contains(Flags::ECE) && !flags.contains(Flags::CWR)
    } else {
        ecn != config::Ecn::Off && flags.contains(Flags::ECE | Flags::CWR)
    }
}

/// How many segments are acknowledged at once at first, while the peer's window grows with each
/// acknowledgment.
const QUICK: u8 = 16;
