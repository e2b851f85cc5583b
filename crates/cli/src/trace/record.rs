//! What happened as lines of JSON (docs/formats/trace.md).

use std::io::{self, Write};

use portolan_flow::{RECORD_VERSION, Record, Totals, Traffic, TrafficRecord};
use portolan_trace::{Attach, UdpAttach};
use serde::{Serialize, Serializer};

use super::{summary::Interval, watch::Watch};
use crate::print::json;

/// The method, as each summary names it.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub method: &'static str,
    pub attach: Option<Attach>,
    pub udp_attach: Option<UdpAttach>,
}

impl Method {
    /// The one at work.
    pub fn of(watch: &dyn Watch) -> Self {
        Self { method: watch.method(), attach: watch.attach(), udp_attach: watch.udp_attach() }
    }
}

#[derive(Serialize)]
struct Edge {
    r#type: &'static str,
    time_ms: u64,
    interval_ms: u64,
    #[serde(flatten)]
    record: Record,
    #[serde(flatten)]
    ends: Option<Ends>,
}

/// What each end counted: sums over intervals are made of these.
#[derive(Serialize)]
struct Ends {
    #[serde(serialize_with = "counts")]
    active: Totals,
    #[serde(serialize_with = "counts")]
    passive: Totals,
}

impl Ends {
    fn of(traffic: &Traffic) -> Self {
        Self { active: traffic.active, passive: traffic.passive }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    r#type: &'static str,
    version: u32,
    time_ms: u64,
    interval_ms: u64,
    method: &'static str,
    attach: Option<&'static str>,
    udp_attach: Option<&'static str>,
    edges: usize,
    edges_listed: usize,
    listeners: usize,
    connections: u64,
    totals: TrafficRecord,
    #[serde(flatten)]
    ends: Option<Ends>,
    #[serde(serialize_with = "counts")]
    overflow: Totals,
    #[serde(serialize_with = "by_reason")]
    losses: &'a [(&'static str, u64)],
}

/// The names of [`Totals::counts`], in its order.
const COUNTS: [&str; 15] = [
    "opened",
    "closed",
    "resets",
    "refused",
    "timed_out",
    "unreachable",
    "abandoned",
    "bytes_sent",
    "bytes_received",
    "datagrams_sent",
    "datagrams_received",
    "retransmits",
    "rtt_us_sum",
    "rtt_samples",
    "duration_us_sum",
];

fn counts<S: Serializer>(totals: &Totals, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(COUNTS.into_iter().zip(totals.counts()))
}

fn by_reason<S: Serializer>(
    losses: &[(&'static str, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(losses.iter().copied())
}

/// Writes a line per edge that is shown, and one for the interval.
pub fn write(interval: &Interval, method: Method, out: &mut impl Write) -> io::Result<()> {
    let summary = &interval.summary;
    let (time_ms, interval_ms) = (summary.time_ms, summary.interval_ms);
    for flow in &interval.flows {
        let (record, ends) = (Record::from(flow), flow.traffic.as_deref().map(Ends::of));
        json::line(&Edge { r#type: "edge", time_ms, interval_ms, record, ends }, out)?;
    }
    let summary = Summary {
        r#type: "summary",
        version: RECORD_VERSION,
        time_ms,
        interval_ms,
        method: method.method,
        attach: method.attach.map(Attach::name),
        udp_attach: method.udp_attach.map(UdpAttach::name),
        edges: summary.edges,
        edges_listed: interval.flows.len(),
        listeners: summary.listeners,
        connections: summary.up,
        totals: summary.traffic.as_ref().map(TrafficRecord::from).unwrap_or_default(),
        ends: summary.traffic.as_ref().map(|_| Ends::of(&summary.ends)),
        overflow: summary.overflow,
        losses: &summary.losses,
    };
    json::line(&summary, out)
}

#[cfg(test)]
mod tests;
