//! What a connection waits for. There is one moment per connection in the wheel, the first of
//! three.

use core::time::Duration;

use super::{
    Reason, Trouble,
    connection::{Connection, Context, State},
    retransmit::Scoreboard,
};
use crate::Instant;

/// The moments that a connection waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    retransmission: Instant,
    acknowledgment: Instant,
    idle: Instant,
    kind: Kind,
}

/// What the first of them is for: RFC 8985, section 7.2 lets one timer serve for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// SYN, or data and FIN, once more: RFC 6298.
    Timeout,
    /// Segments that others have overtaken are lost: RFC 8985, section 6.3.
    Reorder,
    /// The end of the data may be lost: RFC 8985, section 7.
    TailProbe,
    /// The window is closed, or too small: RFC 9293, section 3.8.6.1.
    WindowProbe,
}

impl Default for Timers {
    fn default() -> Self {
        let never = Instant::NEVER;
        Self { retransmission: never, acknowledgment: never, idle: never, kind: Kind::Timeout }
    }
}

impl Timers {
    /// The first of the moments.
    pub fn next(&self) -> Option<Instant> {
        let first = self.retransmission.min(self.acknowledgment).min(self.idle);
        (first != Instant::NEVER).then_some(first)
    }

    /// An ACK leaves by this moment.
    pub fn acknowledge_by(&mut self, at: Instant) {
        self.acknowledgment = self.acknowledgment.min(at);
    }

    /// The ACK has left.
    pub fn acknowledged(&mut self) {
        self.acknowledgment = Instant::NEVER;
    }

    pub fn set_retransmission(&mut self, kind: Kind, at: Instant) {
        (self.kind, self.retransmission) = (kind, at);
    }

    pub fn stop_retransmission(&mut self) {
        self.retransmission = Instant::NEVER;
    }

    pub fn is_retransmission_set(&self) -> bool {
        self.retransmission != Instant::NEVER
    }

    /// When to look whether the peer is still there.
    pub fn set_idle(&mut self, at: Option<Instant>) {
        self.idle = at.unwrap_or(Instant::NEVER);
    }
}

impl Connection {
    /// Does what is due.
    pub fn handle_timeout(&mut self, context: &mut Context<'_>) {
        if self.timers.acknowledgment <= context.now {
            self.timers.acknowledged();
            self.due.ack = true;
        }
        if self.timers.idle <= context.now {
            self.timers.set_idle(None);
            self.handle_idle(context);
        }
        if self.timers.retransmission <= context.now {
            self.timers.stop_retransmission();
            self.handle_retransmission(context);
        }
    }

    fn handle_retransmission(&mut self, context: &mut Context<'_>) {
        match (self.state, self.timers.kind) {
            (State::Closed | State::TimeWait, _) => {}
            (State::SynSent | State::SynReceived, _) => self.handle_handshake_timeout(context),
            (_, Kind::Timeout) => self.handle_retransmission_timeout(context),
            (_, Kind::Reorder) => self.handle_reorder_timeout(context),
            (_, Kind::TailProbe) => self.due.tail_probe = true,
            (_, Kind::WindowProbe) => self.handle_window_timeout(context),
        }
    }

    /// RFC 6298, section 5, (5.4) to (5.6).
    fn handle_retransmission_timeout(&mut self, context: &mut Context<'_>) {
        if self.is_given_up(context) {
            return;
        }
        context.counters.timeouts += 1;
        let sender = &mut self.sender;
        if let Some(scoreboard) = &mut sender.scoreboard {
            let (srtt, min_rtt) = (sender.rtt.srtt(), sender.rtt.min());
            let lost = scoreboard.on_timeout(&mut sender.memory, srtt, min_rtt, context.now);
            let in_flight = scoreboard.in_flight();
            sender.congestion.on_timeout(lost.outstanding, in_flight, lost.is_first);
            sender.tell_reduced(&mut self.due, self.agreed.ecn && lost.is_first);
        }
        sender.rtt.back_off();
        sender.timer_base = context.now;
        self.count_retry();
        self.look_for_black_hole();
        self.arm(context);
    }

    fn handle_reorder_timeout(&mut self, context: &mut Context<'_>) {
        let sender = &mut self.sender;
        if let Some(scoreboard) = &mut sender.scoreboard {
            let (srtt, min_rtt) = (sender.rtt.srtt(), sender.rtt.min());
            let acked =
                scoreboard.handle_reorder_timeout(&mut sender.memory, srtt, min_rtt, context.now);
            self.react(&acked, context);
        }
        self.arm(context);
    }

    /// The window stays closed: RFC 9293, section 3.8.6.1. The peer may keep it so for as long as
    /// it answers (MUST-37), and is asked once at least, also where the program's patience is
    /// shorter than the first timeout.
    fn handle_window_timeout(&mut self, context: &mut Context<'_>) {
        if self.sender.retries > 0 && self.is_given_up(context) {
            return;
        }
        self.sender.rtt.back_off();
        self.sender.retries = self.sender.retries.saturating_add(1);
        self.due.window_probe = true;
    }

    /// Whether nothing was acknowledged for so long that the connection is given up: R2 of
    /// RFC 9293, section 3.8.3.
    fn is_given_up(&mut self, context: &mut Context<'_>) -> bool {
        let limit = match self.owner.user_timeout_s {
            0 if self.state.is_synchronized() => context.config.user_timeout,
            0 => context.config.connect_timeout,
            seconds => Duration::from_secs(seconds.into()),
        };
        let is_over = context.now.since(self.sender.unanswered_since) >= limit;
        if is_over {
            let peer_knows = self.state.is_synchronized();
            self.fail(Reason::TimedOut, context);
            // MUST-20 only asks to give up; the peer, should it be there, need not wait.
            self.due.reset = peer_knows;
        }
        is_over
    }

    /// SYN, or SYN and ACK, once more.
    fn handle_handshake_timeout(&mut self, context: &mut Context<'_>) {
        let is_passive = self.owner.listener.is_some();
        if is_passive && self.sender.retries >= SYN_ACK_RETRIES {
            return self.fail(Reason::TimedOut, context);
        }
        if self.is_given_up(context) {
            return;
        }
        self.sender.rtt.back_off();
        self.count_retry();
        self.due.syn = true;
    }

    /// Counts what leaves once more; R1 of RFC 9293, section 3.8.3, (b) and SHLD-9.
    fn count_retry(&mut self) {
        self.sender.retries = self.sender.retries.saturating_add(1);
        if self.sender.retries == R1_RETRIES {
            self.trouble(Trouble::Silent);
        }
    }

    /// Sets the retransmission timer for what is on its way or waits.
    pub(super) fn arm(&mut self, context: &Context<'_>) {
        if matches!(self.state, State::SynSent | State::SynReceived | State::Closed) {
            return;
        }
        let Some((kind, at)) = self.next_retransmission(context) else {
            return self.timers.stop_retransmission();
        };
        self.timers.set_retransmission(kind, at);
    }

    fn next_retransmission(&self, context: &Context<'_>) -> Option<(Kind, Instant)> {
        let sender = &self.sender;
        let timeout = sender.timer_base + sender.rtt.rto();
        let scoreboard = sender.scoreboard.as_deref().filter(|board| !board.is_empty());
        let Some(scoreboard) = scoreboard else {
            // Nothing is on its way; what waits does so for the window.
            let waits = sender.has_unsent(self.state) && !self.can_send_new(context.config);
            return waits.then_some((Kind::WindowProbe, timeout));
        };
        if sender.window == 0 {
            return Some((Kind::WindowProbe, timeout));
        }
        let reorder = scoreboard.reorder_deadline().map(|at| (Kind::Reorder, at));
        let probe = || Some((Kind::TailProbe, self.tail_probe_at(scoreboard)?));
        let sooner = reorder.or_else(probe);
        sooner.filter(|(_, at)| *at < timeout).or(Some((Kind::Timeout, timeout)))
    }

    /// RFC 8985, section 7.2.
    fn tail_probe_at(&self, scoreboard: &Scoreboard) -> Option<Instant> {
        let sender = &self.sender;
        let (srtt, rto) = (sender.rtt.srtt(), sender.rtt.rto());
        let timeout = scoreboard.probe_timeout(&sender.memory, srtt, rto, DELAYED_ACK_MAX)?;
        Some(sender.last_sent.max(sender.timer_base) + timeout)
    }

    /// Looks whether the peer is still there (RFC 9293, section 3.8.4), or whether nobody waits
    /// for it any more.
    fn handle_idle(&mut self, context: &mut Context<'_>) {
        if self.state == State::FinWait2 && self.owner.is_orphan {
            return self.end(context);
        }
        let Some(keepalive) = context.config.keepalive.filter(|_| self.owner.keepalive) else {
            return;
        };
        let quiet = context.now.since(self.receiver.heard_at);
        // MUST-26: only where nothing was heard, and nothing else is on its way.
        if self.sender.outstanding() > 0 || quiet < keepalive.idle {
            return self.start_idle(context);
        }
        if self.owner.keepalives_sent >= keepalive.probes {
            self.fail(Reason::TimedOut, context);
            self.due.reset = true;
            return;
        }
        self.owner.keepalives_sent += 1;
        self.due.keepalive = true;
        self.timers.set_idle(Some(context.now + keepalive.interval));
    }

    /// Waits for the moment of [`handle_idle`](Self::handle_idle).
    pub(super) fn start_idle(&mut self, context: &Context<'_>) {
        if self.state == State::FinWait2 && self.owner.is_orphan {
            return self.timers.set_idle(Some(context.now + context.config.fin_wait_2));
        }
        let keepalive = context.config.keepalive.filter(|_| self.owner.keepalive);
        let at = keepalive.map(|keepalive| self.receiver.heard_at + keepalive.idle);
        // Never at once again: heard_at may lie far back while data is on its way.
        self.timers.set_idle(at.map(|at| at.max(context.now + IDLE_LEAST)));
    }
}

/// How often a listener answers a SYN again: after 1, 3, 7, 15 and 31 seconds, as Linux
/// (`tcp_synack_retries`).
const SYN_ACK_RETRIES: u8 = 5;
/// How long peers delay an acknowledgment: RFC 8985, section 7.2, TLP.max_ack_delay.
const DELAYED_ACK_MAX: Duration = Duration::from_millis(200);
/// R1: RFC 9293, SHLD-10.
const R1_RETRIES: u8 = 3;
const IDLE_LEAST: Duration = Duration::from_secs(1);
