//! Which segment leaves next.

use portolan_wire::Seq;

use crate::tcp::{
    Config,
    connection::{Connection, Context, Sender, State},
};

/// A segment to be written. With no octets and no FIN it is an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub sequence: Seq,
    /// Octets of data.
    pub len: u32,
    pub fin: bool,
    pub is_again: bool,
    pub is_tail_probe: bool,
}

impl Plan {
    /// The number after the last one that the segment takes.
    pub fn end(&self) -> Seq {
        self.sequence + self.len + u32::from(self.fin)
    }
}

impl Connection {
    /// The most urgent segment.
    pub(super) fn plan(&mut self, room: usize, context: &mut Context<'_>) -> Option<Plan> {
        if self.due.window_probe {
            self.due.window_probe = false;
            if let Some(plan) = self.window_probe() {
                context.counters.window_probes += 1;
                return Some(plan);
            }
        }
        if let Some(plan) = self.plan_again(room) {
            return Some(plan);
        }
        if let Some(plan) = self.plan_new(room, context.config) {
            return Some(plan);
        }
        if self.due.tail_probe {
            self.due.tail_probe = false;
            if let Some(plan) = self.tail_probe() {
                context.counters.tail_probes += 1;
                return Some(Plan { is_tail_probe: true, ..plan });
            }
        }
        if self.due.keepalive {
            self.due.keepalive = false;
            context.counters.keepalives += 1;
            // RFC 9293, section 3.8.4: a number that the peer has, so that it must answer.
            return Some(Plan { sequence: self.sender.nxt - 1, ..self.acknowledgment() });
        }
        self.due.ack.then(|| self.acknowledgment())
    }

    pub(super) fn acknowledgment(&self) -> Plan {
        Plan {
            sequence: self.sender.nxt,
            len: 0,
            fin: false,
            is_again: false,
            is_tail_probe: false,
        }
    }

    /// The first segment that is known to be lost: if there is room for it in the congestion
    /// window, and in the peer's, which may have shrunk since.
    fn plan_again(&mut self, room: usize) -> Option<Plan> {
        let segment = self.payload_max(room);
        let sender = &mut self.sender;
        if !sender.can_resend() {
            return None;
        }
        let scoreboard = sender.scoreboard.as_deref_mut()?;
        let (left, right) = scoreboard.next_lost()?;
        let in_flight = scoreboard.in_flight();
        let len = right.distance(left).min(segment);
        let has_room = in_flight == 0 || in_flight + len <= sender.congestion.window();
        let is_allowed = has_room && left.before(sender.edge());
        is_allowed.then(|| self.plan_range(left, right, room))
    }

    /// A part of what was sent before, one segment of it.
    fn plan_range(&self, left: Seq, right: Seq, room: usize) -> Plan {
        let (_, data_end) = self.sender.data(self.state);
        let len = right.distance(left).min(data_end.distance(left));
        let len = len.min(self.payload_max(room));
        // FIN is the last number: it goes with the last data, or alone.
        let fin = self.sender.finished && left + len == data_end && right.after(data_end);
        Plan { sequence: left, len, fin, is_again: true, is_tail_probe: false }
    }

    /// Data that was not sent, if the windows and the rules against small segments let it go.
    fn plan_new(&mut self, room: usize, config: &Config) -> Option<Plan> {
        let segment = self.payload_max(room);
        let burst = self.burst_max(room, segment, config);
        let allowed = self.sender.allowance();
        let (_, data_end) = self.sender.data(self.state);
        let nxt = self.sender.nxt;
        let unsent = if nxt.before(data_end) { data_end.distance(nxt) } else { 0 };
        let len = unsent.min(allowed.min()).min(burst);
        self.sender.is_congestion_limited = unsent > allowed.congestion;
        // Whole segments, but for the end.
        let len = if len > segment && len < unsent { len - len % segment } else { len };
        let fin = len == unsent && self.sender.can_send_fin(data_end);
        if !self.may_send(len, unsent, segment, fin) {
            return None;
        }
        Some(Plan { sequence: nxt, len, fin, is_again: false, is_tail_probe: false })
    }

    /// Whether new data or FIN can leave.
    pub(in crate::tcp) fn can_send_new(&self, config: &Config) -> bool {
        let segment = self.payload_max(usize::MAX);
        let (_, data_end) = self.sender.data(self.state);
        let nxt = self.sender.nxt;
        let unsent = if nxt.before(data_end) { data_end.distance(nxt) } else { 0 };
        let burst = self.burst_max(usize::MAX, segment, config);
        let len = unsent.min(self.sender.allowance().min()).min(burst);
        let fin = len == unsent && self.sender.can_send_fin(data_end);
        self.may_send(len, unsent, segment, fin)
    }

    /// RFC 9293, section 3.8.6.2.1 (silly windows) and 3.7.4 (Nagle).
    fn may_send(&self, len: u32, unsent: u32, segment: u32, fin: bool) -> bool {
        let sender = &self.sender;
        if fin {
            return true;
        }
        if len == 0 || sender.scoreboard.as_deref().is_some_and(|board| board.is_full()) {
            return false;
        }
        // (1) A full segment.
        if len >= segment {
            return true;
        }
        // (2) and (3) All there is, or half of the largest window; and nothing small is on its way,
        // unless the program does not want to wait for that.
        let is_alone = self.owner.nodelay || sender.small_end.at_or_before(sender.una);
        (len == unsent || len >= sender.window_max / 2) && is_alone
    }

    /// One octet into a window that is closed; as much as fits into one that is too small.
    fn window_probe(&self) -> Option<Plan> {
        let sender = &self.sender;
        let (start, data_end) = sender.data(self.state);
        if sender.outstanding() > 0 {
            let len = sender.outstanding().min(sender.window.max(1));
            return Some(self.plan_range(sender.una, sender.una + len, usize::MAX));
        }
        let unsent = data_end.distance(start);
        let len = unsent.min(sender.window.max(1)).min(self.payload_max(usize::MAX));
        let fin = sender.is_fin_due() && (unsent == 0 || (len == unsent && sender.window > len));
        Some(Plan { sequence: sender.nxt, len, fin, is_again: false, is_tail_probe: false })
            .filter(|plan| plan.len > 0 || plan.fin)
    }

    /// RFC 8985, section 7.3: new data if there is any, else the last segment again.
    fn tail_probe(&self) -> Option<Plan> {
        let sender = &self.sender;
        let segment = self.payload_max(usize::MAX);
        let (_, data_end) = sender.data(self.state);
        let unsent = if sender.nxt.before(data_end) { data_end.distance(sender.nxt) } else { 0 };
        let len = unsent.min(sender.allowance().window).min(segment);
        let is_full = sender.scoreboard.as_deref().is_none_or(|board| board.is_full());
        if len > 0 && !is_full {
            return Some(Plan {
                sequence: sender.nxt,
                len,
                fin: false,
                is_again: false,
                is_tail_probe: false,
            });
        }
        let (left, right) = sender.scoreboard.as_deref()?.probe_segment()?;
        let left = if right.distance(left) > segment { right - segment } else { left };
        Some(self.plan_range(left, right, usize::MAX))
    }

    /// How many octets of data one segment takes.
    pub(in crate::tcp) fn payload_max(&self, room: usize) -> u32 {
        let header = self.header_len();
        let room = room.saturating_sub(header).try_into().unwrap_or(u32::MAX);
        u32::from(self.sender.segment_len(&self.flow))
            .saturating_sub(self.options_len())
            .clamp(1, u32::max(room, 1))
    }

    /// How many octets leave at once: the device may split them.
    fn burst_max(&self, room: usize, segment: u32, config: &Config) -> u32 {
        if config.segment_bytes_max == 0 {
            return segment;
        }
        let room = room.min(BURST_MAX).saturating_sub(self.header_len());
        let most = u32::try_from(room.min(config.segment_bytes_max)).unwrap_or(u32::MAX);
        (most - most % segment).max(segment)
    }
}

/// How many octets the windows still allow.
pub(super) struct Allowance {
    pub window: u32,
    pub congestion: u32,
}

impl Allowance {
    fn min(&self) -> u32 {
        self.window.min(self.congestion)
    }
}

impl Sender {
    /// The numbers of the data that is kept: from the first to behind the last one.
    pub(in crate::tcp) fn data(&self, state: State) -> (Seq, Seq) {
        let start = self.stream_start(state);
        (start, start + self.stream.len())
    }

    /// Whether FIN is wanted and was not sent.
    fn is_fin_due(&self) -> bool {
        self.finished && !self.fin_sent
    }

    /// Whether FIN, which takes a number, can go with the last data or behind it.
    fn can_send_fin(&self, data_end: Seq) -> bool {
        self.is_fin_due() && data_end.before(self.edge())
    }

    /// Whether there is data, or FIN, that was not sent.
    pub(in crate::tcp) fn has_unsent(&self, state: State) -> bool {
        let (_, data_end) = self.data(state);
        self.nxt.before(data_end) || self.is_fin_due()
    }

    fn allowance(&self) -> Allowance {
        let edge = self.edge();
        let window = if self.nxt.before(edge) { edge.distance(self.nxt) } else { 0 };
        let congestion = self.congestion.window().saturating_sub(self.in_flight());
        Allowance { window, congestion }
    }

    /// Octets on their way, as far as known.
    pub(in crate::tcp) fn in_flight(&self) -> u32 {
        self.scoreboard.as_deref().map_or(0, |board| board.in_flight())
    }

    /// Whether something is lost, and there may be room for it.
    pub(super) fn can_resend(&self) -> bool {
        let Some(scoreboard) = self.scoreboard.as_deref() else { return false };
        let in_flight = scoreboard.in_flight();
        scoreboard.has_lost()
            && self.una.before(self.edge())
            && (in_flight == 0 || in_flight < self.congestion.window())
    }
}

/// The largest IP packet, and some less for its header.
const BURST_MAX: usize = 65_535 - 60;
