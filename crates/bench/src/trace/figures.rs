//! The figures of a run. Pure.

use portolan_load::{Latency, ServerSummary, Summary};

use super::{said::Said, spent::Between};
use crate::Figure;

/// Whoever reaches less of what was asked for is not what was to be measured.
const KEPT_UP: f64 = 0.9;

/// What came of the load.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) client: Summary,
    pub(super) server: ServerSummary,
}

impl Loaded {
    /// Whether nine tenths of the rate were reached; if not, what has to be said.
    pub(super) fn mark(&self) -> Option<String> {
        let asked = self.client.asked_per_second?;
        let achieved = self.client.achieved_per_second;
        (achieved < asked * KEPT_UP)
            .then(|| format!("not kept up: {achieved:.0} of {asked:.0} per second"))
    }

    /// What the client asked for and got.
    pub(super) fn rate(&self) -> Figure {
        figure("achieved_per_second", "1/s", self.client.achieved_per_second.round())
    }

    /// How long it took, seen by the client. In a closed loop that is the request; at a rate the
    /// request begins when it was planned, and how exactly the client keeps its plan is not looked
    /// for: it is the time to connect, where a connection has one request, and that of the service.
    /// The first median is then the sum of two.
    pub(super) fn times(&self, is_loop: bool, connects: bool) -> Vec<Figure> {
        let Summary { connect_ns, service_ns, request_ns, .. } = &self.client;
        let sum = |of: fn(&Latency) -> f64| match (is_loop, connects) {
            (true, _) => of(request_ns),
            (false, true) => of(connect_ns) + of(service_ns),
            (false, false) => of(service_ns),
        };
        let median = |latency: &Latency| whole(latency.p50) / 1e3;
        let mean = |latency: &Latency| latency.mean / 1e3;
        vec![
            figure("response_us_median", "us", sum(median)),
            figure("response_us_mean", "us", sum(mean)),
            figure("request_us_median", "us", median(request_ns)),
            figure("request_us_mean", "us", mean(request_ns)),
        ]
    }

    /// From one begin to the next, of `at_once` that go on side by side.
    pub(super) fn cycle(&self, at_once: u64) -> Figure {
        let each = self.client.seconds * whole(at_once) / whole(self.client.completed.max(1));
        figure("cycle_us", "us", each * 1e6)
    }

    /// CPU time of both ends for each operation; what the kernel does for them, programs of a
    /// tracer included, is in it.
    pub(super) fn cost(&self) -> Figure {
        let both = whole(self.client.cpu_us) + whole(self.server.cpu_us);
        figure("load_ns_per_operation", "ns", both * 1e3 / whole(self.client.completed.max(1)))
    }
}

/// What the tracer cost while the load came at this rate.
pub(super) fn spent(between: Between, per_second: f64) -> Vec<Figure> {
    let span = whole(between.span_ns.max(1));
    let percent = |ns: u64| whole(ns) / span * 100.0;
    let operations = (per_second * span / 1e9).max(1.0);
    let total_ns = between.process_ns + between.kernel_ns;
    let mut figures = vec![
        figure("process_percent", "%", percent(between.process_ns)),
        figure("kernel_percent", "%", percent(between.kernel_ns)),
        figure("total_percent", "%", percent(total_ns)),
        // Both ends of every connection are on this host, and both are traced.
        figure("per_end_percent", "%", percent(total_ns) / 2.0),
        figure("ns_per_operation", "ns", whole(total_ns) / operations),
    ];
    if between.runs > 0 {
        let runs = whole(between.runs);
        figures.push(figure("ns_per_event", "ns", whole(between.kernel_ns) / runs));
        figures.push(figure("events_per_operation", "events", runs / operations));
    }
    figures
}

/// What the tracer said.
pub(super) fn told(said: &Said) -> [Figure; 2] {
    [Figure::count("edges", "edges", said.edges), Figure::count("lost", "events", said.lost())]
}

fn figure(name: &'static str, unit: &'static str, value: f64) -> Figure {
    Figure { name, unit, value }
}

#[expect(clippy::cast_precision_loss, reason = "counts and times far below 2^53")]
fn whole(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
