//! What is known of how much the path carries, before and after it is known.

use super::{
    Algorithm, Congestion, WINDOW_MAX, cubic,
    cubic::Cubic,
    newreno,
    prr::Prr,
    slow_start::{Observed, SlowStart},
};
use crate::tcp::retransmit::Acked;

/// What is known of how much the path carries. What is needed before it is known takes the room of
/// what is needed afterwards.
#[derive(Clone, Debug)]
pub(super) enum Capacity {
    /// The first slow start.
    Sought(SlowStart),
    Found(Found),
}

/// What is kept from the end of the first slow start on.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub cubic: Cubic,
    pub prr: Prr,
    pub before: Before,
}

/// What was before the last reduction.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Zero: there was none.
    pub window: u32,
    /// Zero: it cannot be undone (any more).
    pub threshold: u32,
    pub w_max: u32,
}

impl Congestion {
    /// The first slow start measures round trips, and ends before something is lost: RFC 9406.
    pub(super) fn observe(&mut self, acked: &Acked, limited: bool) {
        let Capacity::Sought(slow_start) = &mut self.capacity else { return };
        if acked.bytes == 0 || !limited {
            return;
        }
        let (bytes, unacknowledged) = (acked.bytes, acked.unacknowledged);
        if slow_start.on_ack(&Observed { bytes, unacknowledged, rtt: acked.rtt }) {
            self.threshold = self.window;
            // RFC 9438, section 4.10: cwnd_prior and W_max are the window.
            let before = Before { window: self.window, ..Before::default() };
            self.capacity = Capacity::Found(Found { before, ..Found::default() });
        }
    }

    /// A copy of what is known: nothing during the first slow start.
    pub(super) fn found(&self) -> Found {
        match &self.capacity {
            Capacity::Found(found) => found.clone(),
            Capacity::Sought(_) => Found::default(),
        }
    }

    /// Sets the threshold after a loss. Returns what is known then, and what was before.
    pub(super) fn reduce(&mut self, outstanding: u32) -> Found {
        let mut found = self.found();
        let (window, threshold) = (self.window, self.threshold);
        found.before = Before { window, threshold, w_max: found.cubic.w_max() };
        let reduced = match self.algorithm {
            Algorithm::NewReno => newreno::reduce(outstanding),
            Algorithm::Cubic => {
                found.cubic.reduce(window);
                cubic::multiply_by_beta(outstanding)
            }
        };
        // RFC 5681, section 3.1, equation 4; RFC 9438, section 4.6.
        self.threshold = reduced.min(WINDOW_MAX).max(2 * u32::from(self.mss));
        self.credit = 0;
        found
    }
}
