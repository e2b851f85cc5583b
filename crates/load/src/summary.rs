//! What came of it, as programs read it (docs/formats/load.md).

use serde::{Deserialize, Serialize};

use crate::{Latency, Mode, Port, PortCounts, Target, TargetCounts};

/// The version of both summaries.
pub const VERSION: u32 = 1;

/// Achieved below this part of what was asked for is not kept up.
const KEPT_UP: f64 = 0.9;

/// What the client did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`VERSION`].
    pub version: u32,
    /// `client`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it was to do.
    pub mode: Mode,
    /// From the first start until the last one or, if that was later, the last that was completed.
    pub seconds: f64,
    /// Starts per second that were asked for; none: as many as possible.
    pub asked_per_second: Option<f64>,
    /// Those that were completed: in mode `connect` connections that had all their requests and
    /// were closed, else responses.
    pub completed: u64,
    /// The same per second.
    pub achieved_per_second: f64,
    /// How many starts were planned; none: only time ended it.
    pub planned: Option<u64>,
    /// How many there were.
    pub started: u64,
    /// Somebody asked for the end before it came.
    pub is_interrupted: bool,
    /// Source ports that were found taken, and passed over.
    pub source_ports_skipped: u64,
    /// CPU time of the client's threads, microseconds; what the kernel does for it on loopback, to
    /// deliver to the server's socket too, is mostly in it.
    pub cpu_us: u64,
    /// From `connect(2)` until the connection is established.
    pub connect_ns: Latency,
    /// From when a request was meant to begin until its response was there: what a user feels. The
    /// first request of mode `connect` begins with the connection.
    pub request_ns: Latency,
    /// From when a request was sent until its response was there: what the server did.
    pub service_ns: Latency,
    /// From when a start was meant to be until it was: if this is long, the client is the
    /// bottleneck, or has too few connections.
    pub lateness_ns: Latency,
    /// Of all targets together.
    pub total: TargetCounts,
    /// Of each, in the order they were given.
    pub targets: Vec<Target>,
}

impl Summary {
    /// Whether nine tenths of the asked rate, and of the planned starts, were reached.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a ratio")]
    pub fn has_kept_up(&self) -> bool {
        let enough = |asked: f64, reached: f64| reached >= asked * KEPT_UP;
        let rate =
            self.asked_per_second.is_none_or(|asked| enough(asked, self.achieved_per_second));
        let count = self.planned.is_none_or(|planned| enough(planned as f64, self.started as f64));
        rate && (count || self.is_interrupted)
    }
}

/// What the server did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSummary {
    /// [`VERSION`].
    pub version: u32,
    /// `server`.
    #[serde(rename = "type")]
    pub kind: String,
    /// From when it listened until it was asked to end.
    pub seconds: f64,
    /// CPU time of the server's threads, microseconds.
    pub cpu_us: u64,
    /// Of all ports together.
    pub total: PortCounts,
    /// Of each, in the order they were given.
    pub ports: Vec<Port>,
}
