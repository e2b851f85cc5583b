//! Acknowledgments: RFC 9293, section 3.10.7.4, fifth.

use core::time::Duration;

use portolan_wire::tcp::Flags;

use crate::tcp::{
    connection::{Connection, Context, Due, Sender, State},
    event::Ready,
    input::clock,
    retransmit::{Ack, Acked, Stage},
    segment::Segment,
};

impl Connection {
    /// Takes the acknowledgment in. Whether the rest of the segment is to be looked at.
    pub(super) fn handle_ack(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) -> bool {
        let acknowledgment = segment.acknowledgment;
        if self.state == State::SynReceived {
            self.complete_handshake(segment, context);
        }
        let sender = &self.sender;
        // RFC 5961, section 5.2: older than any window, or of what was never sent.
        let is_old = acknowledgment.before(sender.una - sender.window_max);
        if is_old || acknowledgment.after(sender.nxt) {
            context.counters.blind_refused += 1;
            self.challenge(context);
            return false;
        }
        let before = sender.una;
        let window_before = sender.window;
        self.update_window(segment, context);
        let is_duplicate = acknowledgment == before
            && segment.len() == 0
            && self.sender.outstanding() > 0
            && self.sender.window == window_before;
        let data_before = self.sender.stream.len();
        let advanced =
            if acknowledgment.after(before) { acknowledgment.distance(before) } else { 0 };
        if advanced > 0 {
            self.sender.una = acknowledgment;
        }
        self.repair(segment, is_duplicate, context);
        if advanced > 0 {
            self.drop_acknowledged(advanced, context);
        }
        if window_before == 0 && self.sender.window > 0 {
            self.resend_probe(context);
        }
        self.answer_marks(segment, context);
        if advanced > data_before {
            self.fin_acknowledged(context);
        }
        if self.state != State::Closed && self.state != State::TimeWait {
            self.arm(context);
        }
        !matches!(self.state, State::Closed | State::TimeWait)
    }

    /// The own SYN is acknowledged; the caller has looked at the number.
    fn complete_handshake(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        self.sender.una = segment.acknowledgment;
        self.sample_handshake(segment, context);
        self.establish(segment, context);
        if self.owner.listener.is_none() {
            context.counters.active_opened += 1;
            self.owner.ready |= Ready::CONNECTED | Ready::WRITABLE;
        }
    }

    /// SND.WND: from a newer segment than the last one, so that an old one cannot take room back. A
    /// segment that is sent again has an old number, but its acknowledgment can be new; Linux takes
    /// its window as well (`tcp_may_update_window`, net/ipv4/tcp_input.c).
    fn update_window(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        let sender = &self.sender;
        let acknowledgment = segment.acknowledgment;
        let is_newer = acknowledgment.after(sender.una)
            || sender.wl1.before(segment.sequence)
            || (sender.wl1 == segment.sequence && sender.wl2.at_or_before(acknowledgment));
        if acknowledgment.before(sender.una) || !is_newer {
            return;
        }
        let was_closed = sender.window == 0;
        self.take_window(segment, u32::from(segment.window) << self.sender.scale);
        // A peer that answers is there, and may take its time: RFC 9293, MUST-37. But not when the
        // program has gone: its data would take memory for as long as the peer likes (RFC 6429,
        // section 3).
        if (was_closed || self.sender.window == 0) && !self.owner.is_orphan {
            self.sender.unanswered_since = context.now;
        }
        if was_closed && self.sender.window > 0 {
            self.sender.retries = 0;
            self.sender.rtt.undo_back_off();
            self.sender.timer_base = context.now;
        }
    }

    /// What is not acknowledged when a closed window opens, as the octet of a probe, was beyond it
    /// and is not there (RFC 9293, section 3.8.6.1): it leaves again before the rest.
    fn resend_probe(&mut self, context: &Context<'_>) {
        let sender = &mut self.sender;
        if let Some(scoreboard) = &mut sender.scoreboard {
            let (srtt, min_rtt) = (sender.rtt.srtt(), sender.rtt.min());
            scoreboard.on_timeout(&mut sender.memory, srtt, min_rtt, context.now);
        }
    }

    /// Finds out what arrived and what was lost, and what that means for the congestion window.
    fn repair(&mut self, segment: &Segment<'_>, is_duplicate: bool, context: &mut Context<'_>) {
        let echo = self.echo_age(segment, context);
        let sender = &mut self.sender;
        let sack = if self.agreed.sack { segment.options.sack.as_slice() } else { &[] };
        let ack = Ack {
            una: segment.acknowledgment,
            nxt: sender.nxt,
            sack,
            echo,
            is_duplicate: is_duplicate && !self.agreed.sack,
            srtt: sender.rtt.srtt(),
            min_rtt: sender.rtt.min(),
            now: context.now,
        };
        // What is lost would have left as well.
        let has_lost = sender.scoreboard.as_ref().is_some_and(|scoreboard| scoreboard.has_lost());
        sender.is_congestion_limited |= has_lost;
        let acked = match &mut sender.scoreboard {
            Some(scoreboard) => scoreboard.acknowledge(&mut sender.memory, &ack),
            None => sender.memory.acknowledge(&ack),
        };
        if let Some(rtt) = acked.rtt {
            let segments = sender.outstanding() / u32::from(sender.peer_mss).max(1);
            sender.rtt.sample(rtt, segments.max(1), context.now);
        }
        self.react(&acked, context);
    }

    /// Passes on to the congestion window what an ACK or a timer has shown.
    pub(in crate::tcp) fn react(&mut self, acked: &Acked, context: &mut Context<'_>) {
        let sender = &mut self.sender;
        if acked.spurious {
            context.counters.spurious += 1;
            sender.rtt.undo_back_off();
        }
        if acked.stage == Stage::Entered {
            context.counters.recoveries += 1;
            sender.tell_reduced(&mut self.due, self.agreed.ecn);
        }
        let in_flight = sender.in_flight();
        let srtt = sender.rtt.srtt();
        sender.congestion.react(acked, in_flight, srtt, context.now, sender.is_congestion_limited);
    }

    /// Gives back what has arrived.
    fn drop_acknowledged(&mut self, advanced: u32, context: &mut Context<'_>) {
        let sender = &mut self.sender;
        self.owner.trouble = None;
        sender.retries = 0;
        sender.timer_base = context.now;
        sender.unanswered_since = context.now;
        let data = advanced.min(sender.stream.len());
        sender.stream.consume(context.pool, context.spare, data);
        if sender.is_waited_for && sender.stream.len() <= context.config.send_buffer_bytes / 2 {
            sender.is_waited_for = false;
            self.owner.ready |= Ready::WRITABLE;
        }
        let sender = &mut self.sender;
        if sender.urgent.is_some_and(|urgent| urgent.at_or_before(sender.una)) {
            sender.urgent = None;
        }
        // What was small is gone: a number far back would be ahead some day.
        if sender.small_end.before(sender.una) {
            sender.small_end = sender.una;
        }
        if sender.scoreboard.as_ref().is_some_and(|scoreboard| scoreboard.is_empty())
            && let Some(scoreboard) = sender.scoreboard.take()
        {
            context.spare.keep_scoreboard(scoreboard);
        }
    }

    /// The states in which that means something: RFC 9293, section 3.10.7.4, fifth.
    fn fin_acknowledged(&mut self, context: &mut Context<'_>) {
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.start_idle(context);
            }
            State::Closing => self.state = State::TimeWait,
            State::LastAck => self.end(context),
            _ => {}
        }
    }

    /// RFC 3168, section 6.1.2: the window is reduced once for all that was on its way.
    fn answer_marks(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        let sender = &mut self.sender;
        // Behind that number, and not at it: CWR, which ends the echo, is in the segment beyond.
        let is_new = sender.marked_until.is_none_or(|point| sender.una.after(point));
        if is_new {
            sender.marked_until = None;
        }
        if !self.agreed.ecn || !segment.has(Flags::ECE) || !is_new {
            return;
        }
        let outstanding = sender.outstanding();
        sender.congestion.on_ecn_echo(outstanding, context.now);
        sender.tell_reduced(&mut self.due, true);
    }

    /// How long ago the segment left whose timestamp comes back, if it can be one of ours.
    fn echo_age(&self, segment: &Segment<'_>, context: &Context<'_>) -> Option<Duration> {
        let timestamps = segment.options.timestamps.filter(|_| self.agreed.timestamps)?;
        let ours = clock(context.now).wrapping_add(self.agreed.timestamp_offset);
        let age_ms = ours.wrapping_sub(timestamps.echo);
        // An echo from the future, or of a time before the connection, is no measurement.
        (age_ms < ECHO_AGE_MAX_MS).then(|| Duration::from_millis(u64::from(age_ms) + 1))
    }

    pub(in crate::tcp) fn sample_by_timestamp(
        &mut self,
        segment: &Segment<'_>,
        context: &Context<'_>,
    ) {
        if let Some(age) = self.echo_age(segment, context) {
            self.sender.rtt.sample(age, 1, context.now);
        }
    }
}

impl Sender {
    /// RFC 3168, section 6.1.2: CWR says that the window was reduced, for whatever reason, and
    /// marks of what is on its way reduce it no further.
    pub(in crate::tcp) fn tell_reduced(&mut self, due: &mut Due, is_ecn: bool) {
        if is_ecn {
            self.marked_until = Some(self.nxt);
            due.window_reduced = true;
        }
    }
}

/// Twice the longest retransmission timeout.
const ECHO_AGE_MAX_MS: u32 = 240_000;
