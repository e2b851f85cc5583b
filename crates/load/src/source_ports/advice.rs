//! What the times of connect(2) say about the search for ports.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::Strategy;

/// So many calls are looked at together: a median of fewer is moved by a busy machine.
const WINDOW: usize = 128;

/// From this multiple of the fastest median on, calls are slow.
const SLOW_FACTOR: u32 = 8;

/// Below this, they are not, whatever the factor.
const SLOW_MIN: Duration = Duration::from_micros(100);

/// From these parts of the ports in use on, in percent: slow calls are the search's fault; the
/// search for a port is about to be slow; ports are about to run out.
const SEARCH_PERCENT: u64 = 40;
const NEAR_PERCENT: u64 = 45;
const CROWDED_PERCENT: u64 = 90;

/// What is to be said about source ports, once each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "advice", rename_all = "snake_case")]
pub enum Advice {
    /// The kernel chooses, and is about to have used half of its range to one destination.
    CliffNear {
        /// Ports in use towards it.
        in_use: u64,
        /// Ports that there are.
        ports: u64,
    },
    /// Connecting has become slow while many ports were in use: the kernel searches.
    Cliff {
        /// Ports in use towards the destination.
        in_use: u64,
        /// Ports that there are.
        ports: u64,
        /// Median time of the fastest calls, nanoseconds.
        before_ns: u64,
        /// Median time of the last calls, nanoseconds.
        now_ns: u64,
    },
    /// There will be no ports soon, towards one destination.
    Crowded {
        /// Ports in use towards it.
        in_use: u64,
        /// Ports that there are.
        ports: u64,
    },
}

impl fmt::Display for Advice {
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: &u64| *ns as f64 / 1e3;
        match self {
            Self::CliffNear { in_use, ports } => write!(
                out,
                "{in_use} of {ports} source ports to one destination are in use: from half on, the \
                 kernel searches all even ports at each connect; use --ports explicit or range, \
                 more --source addresses, or more targets"
            ),
            Self::Cliff { in_use, ports, before_ns, now_ns } => write!(
                out,
                "connect(2) took {:.0} us and now takes {:.0} us, with {in_use} of {ports} source \
                 ports to one destination in use: the kernel searches for a port; use --ports \
                 explicit or range, more --source addresses, or more targets",
                us(before_ns),
                us(now_ns)
            ),
            Self::Crowded { in_use, ports } => write!(
                out,
                "{in_use} of {ports} source ports to one destination are in use, soon there is \
                 none: use wider --source-ports, more --source addresses, or more targets"
            ),
        }
    }
}

/// Looks at each connection, and has something to say when it is time.
#[derive(Clone, Debug)]
pub struct Watch {
    strategy: Strategy,
    times_ns: Box<[u64; WINDOW]>,
    count: usize,
    fastest_ns: u64,
    said: [bool; 3],
}

impl Watch {
    /// Of connections whose ports are chosen like this.
    #[must_use]
    pub fn new(strategy: Strategy) -> Self {
        let times_ns = Box::new([0; WINDOW]);
        Self { strategy, times_ns, count: 0, fastest_ns: u64::MAX, said: [false; 3] }
    }

    /// `connect(2)` returned after this time, when so many of all `ports` were in use towards its
    /// destination. Each kind of advice is given once.
    pub fn record(&mut self, took: Duration, in_use: u64, ports: u64) -> Option<Advice> {
        let above = |percent: u64| in_use * 100 >= ports * percent && ports > 0;
        self.times_ns[self.count] = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.count += 1;
        if self.count == WINDOW {
            self.count = 0;
            self.times_ns.sort_unstable();
            let now_ns = self.times_ns[WINDOW / 2];
            let before_ns = self.fastest_ns;
            self.fastest_ns = before_ns.min(now_ns);
            let is_slow = before_ns.saturating_mul(SLOW_FACTOR.into()) < now_ns
                && u128::from(now_ns) >= SLOW_MIN.as_nanos();
            if is_slow && above(SEARCH_PERCENT) && self.says(0) {
                return Some(Advice::Cliff { in_use, ports, before_ns, now_ns });
            }
        }
        if self.strategy == Strategy::Kernel && above(NEAR_PERCENT) && self.says(1) {
            return Some(Advice::CliffNear { in_use, ports });
        }
        (above(CROWDED_PERCENT) && self.says(2)).then_some(Advice::Crowded { in_use, ports })
    }

    /// Whether it is said now, and not for the second time.
    fn says(&mut self, kind: usize) -> bool {
        !std::mem::replace(&mut self.said[kind], true)
    }
}

#[cfg(test)]
mod tests;
