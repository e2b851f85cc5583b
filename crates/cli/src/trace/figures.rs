//! What went over an edge, per second.

use portolan_flow::{Flow, Traffic};

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
            counted.map(|(reason, count)| format!("{} {reason}", number(count))).collect();
        parts.join(", ")
    }

    /// A rate, or that the method does not count it.
    pub fn counted(&self, rate: f64) -> String {
        if self.is_traced { number(rate) } else { "-".to_owned() }
    }
}

/// A number in at most five characters: `0`, `<0.1`, `3.4`, `120`, `3.4k`, `34k`, `340M`.
pub fn number(number: f64) -> String {
    match number {
        ..=0.0 => "0".to_owned(),
        ..0.1 => "<0.1".to_owned(),
        ..9.95 => {
            let text = format!("{number:.1}");
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        }
        ..999.5 => format!("{number:.0}"),
        _ => {
            let units = ["k", "M", "G", "T", "P"];
            let mut scaled = number / 1000.0;
            let mut unit = 0;
            while scaled >= 999.5 && unit + 1 < units.len() {
                scaled /= 1000.0;
                unit += 1;
            }
            let digits = usize::from(scaled < 9.95);
            format!("{scaled:.digits$}{}", units[unit])
        }
    }
}

/// A time in at most five characters: `85us`, `1.2ms`, `85ms`, `1.5s`.
#[expect(clippy::cast_precision_loss, reason = "a time for people")]
pub fn time(us: u64) -> String {
    match us {
        0..1000 => format!("{us}us"),
        1000..9_950 => format!("{:.1}ms", us as f64 / 1e3),
        9_950..999_500 => format!("{:.0}ms", us as f64 / 1e3),
        999_500..9_950_000 => format!("{:.1}s", us as f64 / 1e6),
        _ => format!("{:.0}s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests;
