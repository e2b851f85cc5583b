//! How much may be in flight: RFC 5681, with NewReno's or CUBIC's growth.
//!
//! All windows are in bytes and all arithmetic is in integers. The value is at most 64 bytes, for
//! an idle connection keeps it.

mod capacity;
mod cubic;
mod newreno;
mod prr;
mod slow_start;

use core::time::Duration;

use capacity::{Capacity, Found};
use prr::Prr;
use slow_start::SlowStart;

use super::retransmit::{Acked, Stage};
use crate::Instant;

/// How the window grows in congestion avoidance, and by how much a loss reduces it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681: a segment per round trip, and halved.
    NewReno,
    /// RFC 9438: a cubic function of time, and reduced to 7/10.
    #[default]
    Cubic,
}

/// The congestion window of a connection.
///
/// After each ACK that the scoreboard has taken in, one call of [`react`](Self::react) does what
/// its [`Acked`] asks for. The single steps are public as well:
///
/// - outside recovery: [`on_acked`](Self::on_acked),
/// - fast recovery: [`on_loss`](Self::on_loss), then for this ACK and each that follows
///   [`on_recovery_ack`](Self::on_recovery_ack), for each byte sent [`on_sent`](Self::on_sent), at
///   its end [`on_recovered`](Self::on_recovered),
/// - [`on_timeout`](Self::on_timeout), [`on_ecn_echo`](Self::on_ecn_echo),
///   [`on_idle`](Self::on_idle), [`on_syn_loss`](Self::on_syn_loss), [`undo`](Self::undo).
///
/// The sender may send while what is in flight ([`Scoreboard::in_flight`]) is less than
/// [`window`](Self::window), in recovery too.
///
/// [`Scoreboard::in_flight`]: super::retransmit::Scoreboard::in_flight
#[derive(Clone, Debug)]
pub struct Congestion {
    algorithm: Algorithm,
    phase: Phase,
    mss: u16,
    window: u32,
    threshold: u32,
    /// Bytes acknowledged that have not yet made the window grow.
    credit: u32,
    capacity: Capacity,
}

/// What holds until something else happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was acknowledged: the window is the initial one.
    Fresh,
    Open,
    /// Fast recovery: Proportional Rate Reduction governs the window.
    Recovery,
    /// Slow start after a timeout.
    AfterTimeout,
}

impl Congestion {
    /// The initial window for segments of up to `mss` bytes of data: RFC 6928, section 2.
    #[must_use]
    pub fn new(algorithm: Algorithm, mss: u16) -> Self {
        let mss = mss.max(1);
        Self {
            algorithm,
            phase: Phase::Fresh,
            mss,
            window: initial_window(mss),
            // RFC 5681, section 3.1: arbitrarily high.
            threshold: u32::MAX,
            credit: 0,
            capacity: Capacity::Sought(SlowStart::new()),
        }
    }

    /// How many bytes may be in flight (cwnd).
    #[must_use]
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Where slow start ends, in bytes (ssthresh); `u32::MAX` before anything was lost.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Whether the window is below the threshold.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Whether fast recovery goes on.
    #[must_use]
    pub fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// The path takes segments of this size now. The window stays, in bytes; an initial one that
    /// nothing has changed is computed anew.
    pub fn set_mss(&mut self, mss: u16) {
        self.mss = mss.max(1);
        if self.phase == Phase::Fresh {
            self.window = self.window.min(initial_window(self.mss));
        }
        self.window = self.window.max(self.mss.into());
    }

    /// Does what an ACK asks for: the one call per [`Acked`], also of those that
    /// [`Scoreboard::handle_reorder_timeout`] returns. `in_flight` is that of the scoreboard after
    /// the ACK; `limited`: it was the window, not the program or the receiver, that kept us from
    /// sending more before this ACK; true as well while something lost waits to be sent again.
    ///
    /// [`Scoreboard::handle_reorder_timeout`]: crate::tcp::retransmit::Scoreboard
    pub fn react(
        &mut self,
        acked: &Acked,
        in_flight: u32,
        srtt: Option<Duration>,
        now: Instant,
        limited: bool,
    ) {
        if acked.spurious {
            self.undo();
        }
        match acked.stage {
            Stage::Open | Stage::Timeout => {
                self.on_acked(acked.bytes, srtt, now, limited);
                self.observe(acked, limited);
            }
            Stage::Entered => {
                self.on_loss(acked.outstanding, now);
                self.on_recovery_ack(acked.delivered, in_flight, false);
            }
            Stage::Fast => {
                let is_safe = acked.bytes > 0 && acked.newly_lost == 0;
                self.on_recovery_ack(acked.delivered, in_flight, is_safe);
            }
            Stage::Ended => self.on_recovered(),
        }
        if acked.probe_repaired && !self.in_recovery() {
            self.on_ecn_echo(acked.outstanding, now);
        }
    }

    /// `bytes` were cumulatively acknowledged, outside of fast recovery. Nothing grows unless the
    /// sender was `limited` by the window (RFC 9438, section 5.8; RFC 7661, section 1).
    pub fn on_acked(&mut self, bytes: u32, srtt: Option<Duration>, now: Instant, limited: bool) {
        if bytes == 0 || self.in_recovery() {
            return;
        }
        if self.phase == Phase::Fresh {
            self.phase = Phase::Open;
        }
        if !limited {
            self.pause();
            return;
        }
        let mut bytes = bytes;
        if self.in_slow_start() {
            bytes = self.grow_in_slow_start(bytes);
        }
        if self.in_slow_start() {
            return;
        }
        if self.phase == Phase::AfterTimeout {
            self.phase = Phase::Open;
        }
        let grown = match self.algorithm {
            Algorithm::NewReno => newreno::avoid(self.window, self.mss, &mut self.credit, bytes),
            Algorithm::Cubic => self.avoid_by_cubic(bytes, srtt, now),
        };
        self.window = grown.min(WINDOW_MAX);
    }

    /// The window did not limit the sender, or there was nothing to send for a round trip or more:
    /// such time is not the curve's (RFC 9438, section 5.8), nor do its round trips count.
    pub fn pause(&mut self) {
        match &mut self.capacity {
            Capacity::Sought(slow_start) => slow_start.reset(),
            Capacity::Found(found) => found.cubic.pause(),
        }
    }

    /// RFC 5681, section 3.1, by bytes (RFC 3465). Returns the bytes that the threshold left over.
    fn grow_in_slow_start(&mut self, bytes: u32) -> u32 {
        // RFC 3465, section 2.3: after a timeout one ACK may cover what had left the network long
        // ago. Else RFC 9406, section 4.3: L = 8 lets receivers acknowledge bursts.
        let segments = if self.phase == Phase::AfterTimeout { 1 } else { SLOW_START_SEGMENTS_MAX };
        let most = segments * u32::from(self.mss);
        let room = self.threshold - self.window;
        let counted = bytes.min(most);
        let growth = match &self.capacity {
            Capacity::Sought(slow_start) => slow_start.growth(counted),
            Capacity::Found(_) => counted.min(room),
        };
        self.window = self.window.saturating_add(growth).min(WINDOW_MAX);
        if growth == room { counted - growth } else { 0 }
    }

    fn avoid_by_cubic(&mut self, bytes: u32, srtt: Option<Duration>, now: Instant) -> u32 {
        let Capacity::Found(found) = &mut self.capacity else { return self.window };
        let path = cubic::Path {
            window: self.window,
            mss: self.mss,
            window_before: found.before.window,
            srtt: srtt.unwrap_or_default(),
            now,
        };
        found.cubic.avoid(&path, &mut self.credit, bytes)
    }

    /// Segments were lost, and fast recovery begins. `outstanding`: bytes sent and neither
    /// acknowledged nor SACKed before the ACK that showed it ([`Acked::outstanding`]). The caller
    /// goes on with [`on_recovery_ack`](Self::on_recovery_ack) for that same ACK.
    pub fn on_loss(&mut self, outstanding: u32, _now: Instant) {
        // The last ACK of one recovery may begin another.
        self.on_recovered();
        let found = self.reduce(outstanding);
        self.phase = Phase::Recovery;
        let prr = Prr::new(outstanding);
        self.capacity = Capacity::Found(Found { prr, ..found });
    }

    /// An ACK in fast recovery: `delivered` bytes were newly acknowledged or SACKed, `in_flight`
    /// bytes are still under way. `is_safe`: it advanced SND.UNA and showed no further loss.
    pub fn on_recovery_ack(&mut self, delivered: u32, in_flight: u32, is_safe: bool) {
        if let Capacity::Found(Found { prr, .. }) = &mut self.capacity
            && self.phase == Phase::Recovery
        {
            let may_send = prr.on_ack(delivered, in_flight, self.threshold, self.mss, is_safe);
            self.window = in_flight.saturating_add(may_send).clamp(self.mss.into(), WINDOW_MAX);
        }
    }

    /// `bytes` of data left, new or again; what Proportional Rate Reduction counts.
    pub fn on_sent(&mut self, bytes: u32) {
        if let Capacity::Found(Found { prr, .. }) = &mut self.capacity
            && self.phase == Phase::Recovery
        {
            prr.on_sent(bytes);
        }
    }

    /// All that was outstanding when recovery began is acknowledged: RFC 9937, section 6.
    pub fn on_recovered(&mut self) {
        if self.in_recovery() {
            self.phase = Phase::Open;
            self.window = self.threshold.max(self.mss.into());
        }
    }

    /// The retransmission timer expired. `outstanding`: bytes sent and neither acknowledged nor
    /// SACKed, before the scoreboard took the timeout in; `in_flight`: what it still counts as
    /// under way afterwards (RFC 8985, section 6.3); `first`: not a timeout of the same data again.
    pub fn on_timeout(&mut self, outstanding: u32, in_flight: u32, first: bool) {
        // RFC 5681, section 3.1, equation 4, and the text around it: held for further ones.
        let mut found = if first { self.reduce(outstanding) } else { self.found() };
        // RFC 9438, section 4.8: the next congestion avoidance begins with K = 0.
        found.cubic.on_timeout();
        self.capacity = Capacity::Found(found);
        self.phase = Phase::AfterTimeout;
        // The loss window of RFC 5681, behind what is thought to be under way.
        self.window = in_flight.saturating_add(self.mss.into()).min(WINDOW_MAX);
    }

    /// The receiver echoed a mark of congestion (RFC 3168, section 6.1.2), or a tail loss probe
    /// repaired a loss (RFC 8985, section 7.4.2): reduces the window without recovery. Once per
    /// window is the caller's matter.
    pub fn on_ecn_echo(&mut self, outstanding: u32, _now: Instant) {
        if !self.in_recovery() {
            let mut found = self.reduce(outstanding);
            found.before.threshold = 0;
            self.capacity = Capacity::Found(found);
            self.window = self.window.min(self.threshold).max(self.mss.into());
            self.phase = Phase::Open;
        }
    }

    /// Sending begins after a pause: RFC 5681, section 4.1. Call before the first segment leaves.
    pub fn on_idle(&mut self, idle: Duration, rto: Duration) {
        let restart = initial_window(self.mss);
        if idle > rto && self.window > restart && !self.in_recovery() {
            // RFC 2861, section 3.1: what was reached is remembered as the threshold.
            let remembered = self.window - self.window / 4;
            self.threshold = self.threshold.max(remembered);
            self.window = restart;
            self.credit = 0;
        }
    }

    /// The SYN or SYN-ACK had to be repeated: data begins with one segment (RFC 5681, section 3.1;
    /// RFC 6928, section 2).
    pub fn on_syn_loss(&mut self) {
        if self.phase == Phase::Fresh {
            self.window = self.mss.into();
        }
    }

    /// The last recovery or timeout was needless: what it reduced is as before (RFC 4015; RFC 9438,
    /// section 4.9). Does nothing if that was undone already, or was asked for by ECN.
    pub fn undo(&mut self) {
        if self.in_recovery() {
            self.on_recovered();
        }
        let mut found = self.found();
        if found.before.threshold == 0 {
            return;
        }
        self.window = self.window.max(found.before.window);
        self.threshold = found.before.threshold;
        self.capacity = if self.threshold == u32::MAX {
            Capacity::Sought(SlowStart::new())
        } else {
            found.cubic.undo(found.before.w_max);
            found.before.threshold = 0;
            Capacity::Found(found)
        };
        self.phase = Phase::Open;
        self.credit = 0;
    }
}

/// RFC 6928, section 2: min(10 * MSS, max(2 * MSS, 14600)).
#[must_use]
pub fn initial_window(mss: u16) -> u32 {
    let mss = u32::from(mss);
    (10 * mss).min((2 * mss).max(14_600))
}

/// What the window field can express: RFC 7323, section 2.3.
const WINDOW_MAX: u32 = 1 << 30;
const SLOW_START_SEGMENTS_MAX: u32 = 8;

const _: () = assert!(size_of::<Congestion>() <= 64);

#[cfg(test)]
mod tests;
