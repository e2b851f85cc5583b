//! What came of it, as programs read it (docs/formats/load.md).

use std::mem;

use serde::{Deserialize, Serialize};

use crate::{
    ClientOptions, Latency, Mode, Target, TargetCounts,
    gather::Total,
    source_ports::{Advice, Strategy},
};

/// The version of all records.
pub const VERSION: u32 = 1;

/// Achieved below this part of what was asked for is not kept up.
const KEPT_UP: f64 = 0.9;

/// From this part of its time on, a thread that runs has no time left to be on time.
const BUSY: f64 = 0.9;

/// A thread that waits for a processor longer than this part of its time shares it with others.
const DELAYED: f64 = 0.2;

/// If more than one start of so many has to wait for a connection, that is what holds it up.
const WAITED_OF: u64 = 10;

/// What keeps the client from doing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// One of its threads was busy all the time: the client is the bottleneck.
    Client,
    /// Its threads wanted to run, but the processors were others' (the server's, on this host).
    Processors,
    /// All connections were in use when a start was due: the target is slow, or they are too few.
    Connections,
}

/// How source ports were chosen, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortsUsed {
    /// Who chose them.
    pub strategy: Strategy,
    /// And why.
    pub why: String,
    /// Ports, towards each target from each source address, that had connections at the end.
    pub in_use: u64,
    /// Those that had none.
    pub free: u64,
    /// How often one was found taken by somebody else.
    pub conflicts: u64,
    /// What there is to be said about them.
    pub advice: Vec<Advice>,
}

impl PortsUsed {
    /// What another worker used.
    pub(crate) fn add(&mut self, other: &Self) {
        self.in_use += other.in_use;
        self.free += other.free;
        self.conflicts += other.conflicts;
        for advice in &other.advice {
            if !self.advice.iter().any(|own| mem::discriminant(own) == mem::discriminant(advice)) {
                self.advice.push(advice.clone());
            }
        }
    }
}

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
    /// Those of the seconds, at the begin, that count for nothing but counts.
    #[serde(default)]
    pub warm_up_seconds: f64,
    /// Starts per second that were asked for, on average after the warm-up; none: as many as
    /// possible.
    pub asked_per_second: Option<f64>,
    /// Those that were completed: in mode `connect` connections that had all their requests and
    /// were closed, in mode `hold` connections that were opened, else responses.
    pub completed: u64,
    /// The same per second, after the warm-up.
    pub achieved_per_second: f64,
    /// How many starts were planned; none: only time ended it.
    pub planned: Option<u64>,
    /// How many there were.
    pub started: u64,
    /// Somebody asked for the end before it came.
    pub is_interrupted: bool,
    /// In mode `hold`: connections that were open once all were, and those that proved at the end
    /// that they still are.
    #[serde(default)]
    pub held: u64,
    /// See `held`.
    #[serde(default)]
    pub verified: u64,
    /// Processes and threads of each.
    #[serde(default)]
    pub processes: usize,
    /// See `processes`.
    #[serde(default)]
    pub threads: usize,
    /// What kept it from doing more, if the client itself did.
    #[serde(default)]
    pub limited_by: Option<Limit>,
    /// Starts at a rate that had to wait until a connection was free.
    #[serde(default)]
    pub waited: u64,
    /// The part of the time that the busiest thread ran, and that the unluckiest waited to.
    #[serde(default)]
    pub busiest_thread: f64,
    /// See `busiest_thread`.
    #[serde(default)]
    pub most_delayed_thread: f64,
    /// Source ports that were found taken, and passed over.
    pub source_ports_skipped: u64,
    /// How source ports were chosen; none in mode `udp`.
    #[serde(default)]
    pub source_ports: Option<PortsUsed>,
    /// CPU time of the client's threads, microseconds; what the kernel does for it on loopback, to
    /// deliver to the server's socket too, is mostly in it.
    pub cpu_us: u64,
    /// For how long they could have run, but other threads did; microseconds.
    #[serde(default)]
    pub cpu_wait_us: u64,
    /// The most memory that was resident in its processes, KiB.
    #[serde(default)]
    pub peak_kib: u64,
    /// From `connect(2)` until the connection is established.
    pub connect_ns: Latency,
    /// From when a request was sent until the first byte of its response was there.
    #[serde(default)]
    pub first_byte_ns: Latency,
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
    #[allow(clippy::cast_precision_loss, reason = "rates")]
    pub(crate) fn new(
        options: &ClientOptions,
        processes: usize,
        is_interrupted: bool,
        sum: Total,
    ) -> Self {
        let schedule = options.schedule();
        let warm_up = options.warm_up.min(sum.took);
        let seconds = sum.took.as_secs_f64();
        let measured_seconds = (sum.took - warm_up).as_secs_f64();
        let per_second = |of: f64| if measured_seconds > 0.0 { of / measured_seconds } else { 0.0 };
        let ramped = schedule.due(warm_up, sum.took).map(per_second);
        let measured = sum.completed - sum.completed_in_warm_up;
        let mut total = TargetCounts::default();
        for counts in &sum.targets {
            total += *counts;
        }
        let target = |(nth, counts): (usize, TargetCounts)| Target {
            address: options.targets[nth],
            url: options.http.get(nth).map(|request| request.url.clone()),
            counts,
        };
        let mut summary = Self {
            version: VERSION,
            kind: "client".to_owned(),
            mode: options.mode,
            seconds,
            warm_up_seconds: warm_up.as_secs_f64(),
            asked_per_second: if options.ramp.is_zero() { options.rate } else { ramped },
            completed: sum.completed,
            achieved_per_second: per_second(measured as f64),
            planned: schedule.planned(),
            started: sum.started,
            is_interrupted,
            held: sum.held,
            verified: sum.verified,
            processes,
            threads: options.threads,
            limited_by: None,
            waited: sum.waited,
            busiest_thread: sum.busy,
            most_delayed_thread: sum.delayed,
            source_ports_skipped: sum.ports_skipped,
            source_ports: sum.source_ports,
            cpu_us: sum.cpu_us,
            cpu_wait_us: sum.cpu_wait_us,
            peak_kib: sum.peak_kib,
            connect_ns: sum.measured.connect.latency(),
            first_byte_ns: sum.measured.first_byte.latency(),
            request_ns: sum.measured.request.latency(),
            service_ns: sum.measured.service.latency(),
            lateness_ns: sum.measured.lateness.latency(),
            total,
            targets: sum.targets.into_iter().enumerate().map(target).collect(),
        };
        summary.limited_by = summary.limit();
        summary
    }

    /// Whether it did what was asked for: it kept up, without an error, and each connection that
    /// was to be held proved to be alive.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let is_alive = self.mode != Mode::Hold || self.planned == Some(self.verified);
        self.has_kept_up() && is_alive && self.total.errors() == 0
    }

    fn limit(&self) -> Option<Limit> {
        let is_open_loop = self.asked_per_second.is_some();
        // How fast connections are opened that are then kept says nothing if nobody asked.
        let has_reached = if is_open_loop { self.has_kept_up() } else { self.mode == Mode::Hold };
        if has_reached {
            return None;
        }
        if self.busiest_thread >= BUSY {
            return Some(Limit::Client);
        }
        if self.most_delayed_thread >= DELAYED {
            return Some(Limit::Processors);
        }
        (is_open_loop && self.waited > self.started / WAITED_OF).then_some(Limit::Connections)
    }

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
