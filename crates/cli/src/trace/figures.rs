//! What went over an edge, per second.

use portolan_flow::{Flow, Traffic};

use crate::print::amount::narrow;

/// Why handshakes fail, in the words that are shown.
pub const REASONS: [&str; 4] = ["refused", "timed out", "unreachable", "abandoned"];

/// What is shown of an edge; rates are per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Whether the method counts more than what is up.
    pub is_traced: bool,
    /// Connections that are up.
    pub up: u64,
    /// New connections.
    pub opened: f64,
    /// Bytes.
    pub to_server: f64,
    /// Bytes.
    pub to_client: f64,
    /// The mean round trip, in microseconds.
    pub rtt_us: Option<u64>,
    /// Segments sent again.
    pub retransmits: f64,
    /// Handshakes that failed, as [`REASONS`].
    pub failures: [f64; 4],
}

impl Figures {
    /// Of an edge.
    pub fn of(flow: &Flow) -> Self {
        Self::new(flow.connections(), flow.traffic.as_deref())
    }

    /// Of so many connections, and what went over them.
    pub fn new(up: u64, traffic: Option<&Traffic>) -> Self {
        let Some(traffic) = traffic else { return Self { up, ..Self::default() } };
        let once = traffic.counted_once().active;
        let rate = |count| traffic.per_second(count);
        Self {
            is_traced: true,
            up,
            opened: rate(once.opened),
            to_server: rate(once.bytes_sent),
            to_client: rate(once.bytes_received),
            rtt_us: once.rtt_us(),
            retransmits: rate(once.retransmits),
            failures: [once.refused, once.timed_out, once.unreachable, once.abandoned].map(rate),
        }
    }

    /// The same edge when nothing is up and nothing happens.
    pub fn idle(&self) -> Self {
        Self { is_traced: self.is_traced, ..Self::default() }
    }

    /// Handshakes that failed.
    pub fn failed(&self) -> f64 {
        self.failures.iter().sum()
    }

    /// Why: `2 refused, 1.5 timed out`; empty where none failed.
    pub fn failures(&self) -> String {
        let counted = REASONS.iter().zip(self.failures).filter(|(_, count)| *count > 0.0);
        let parts: Vec<String> =
            counted.map(|(reason, count)| format!("{} {reason}", narrow(count))).collect();
        parts.join(", ")
    }

    /// A rate, or that the method does not count it.
    pub fn counted(&self, rate: f64) -> String {
        if self.is_traced { narrow(rate) } else { "-".to_owned() }
    }
}

#[cfg(test)]
mod tests;
