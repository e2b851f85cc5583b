//! What the kernel counts between two readings of the socket tables.

use std::{collections::VecDeque, time::Duration};

use portolan_flow::{Counters, End, Flow, Namespace, Totals, fold};
use portolan_trace::{Error, Losses, Reading, Tracer};

use crate::{metrics::Feed, trace::watch};

/// Rates are means over so long: who has a connection every few seconds is on the map all the time.
const WINDOW: Duration = Duration::from_secs(5);

/// A running trace, and what it told lately.
#[derive(Debug)]
pub struct Traced {
    tracer: Tracer,
    /// The programs count in all namespaces.
    own_namespace_only: bool,
    readings: VecDeque<(Duration, Vec<Flow>)>,
    /// Since the start.
    losses: Losses,
    overflow: Totals,
}

impl Traced {
    /// Attaches to the kernel.
    pub fn open(own_namespace_only: bool) -> Result<Self, Error> {
        Ok(Self {
            tracer: Tracer::open(watch::options())?,
            own_namespace_only,
            readings: VecDeque::new(),
            losses: Losses::default(),
            overflow: Totals::default(),
        })
    }

    /// For people.
    pub fn describe(&self) -> String {
        self.tracer.describe()
    }

    /// What went over each edge in the last seconds, as halves. How many connections are up is
    /// left to the socket tables, which know it of the same moment as all else. `feed` gets what
    /// happened since the last reading alone, with what the kernel says is up.
    pub fn read(&mut self, feed: Option<&Feed>) -> Result<Vec<Flow>, Error> {
        let Reading { mut flows, overflow, losses, span, .. } = self.tracer.read()?;
        if self.own_namespace_only {
            let is_own = |end: &End| end.namespace.as_ref().is_some_and(Namespace::is_host);
            flows.retain(|flow| is_own(&flow.client) || is_own(&flow.server));
        }
        if let Some(feed) = feed {
            feed.add(&fold(flows.clone()), &overflow, &losses.by_reason());
        }
        self.losses.add(losses);
        self.overflow.add(&overflow);
        for flow in &mut flows {
            (flow.active, flow.passive) = (Counters::default(), Counters::default());
        }
        flows.retain(|flow| flow.traffic.as_ref().is_some_and(|it| !is_nothing(it)));
        self.readings.push_back((span, flows));
        let mut window = self.readings.iter().map(|(span, _)| *span).sum::<Duration>();
        while self.readings.len() > 1 && window - self.readings[0].0 >= WINDOW {
            window -= self.readings[0].0;
            self.readings.pop_front();
        }
        let span_ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
        let all = self.readings.iter().flat_map(|(_, flows)| flows).cloned();
        Ok(all.map(|flow| spanning(flow, span_ms)).collect())
    }

    /// What is missing since the start, for people; in round numbers, so that it is not news each
    /// time.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.overflow.is_zero() {
            let closed = round(self.overflow.closed);
            warnings.push(format!(
                "more edges than there is room for: {closed} or more connections are on none"
            ));
        }
        let lost = self.losses.by_reason().into_iter().filter(|(_, count)| *count > 0);
        let lost: Vec<String> =
            lost.map(|(reason, count)| format!("{reason} {}", round(count))).collect();
        if !lost.is_empty() {
            warnings.push(format!(
                "traced incompletely since the start, by reason at least: {}",
                lost.join(", ")
            ));
        }
        if let Some(error) = self.tracer.without_udp() {
            warnings.push(format!("UDP is not counted: {error}"));
        }
        warnings
    }
}

/// The next power of two below.
fn round(count: u64) -> u64 {
    count.checked_ilog2().map_or(0, |bits| 1 << bits)
}

fn is_nothing(traffic: &portolan_flow::Traffic) -> bool {
    // A round-trip time alone is news of nothing.
    let quiet = |totals: Totals| Totals { rtt_us_sum: 0, rtt_samples: 0, ..totals }.is_zero();
    quiet(traffic.active) && quiet(traffic.passive)
}

fn spanning(mut flow: Flow, span_ms: u64) -> Flow {
    if let Some(traffic) = &mut flow.traffic {
        traffic.span_ms = span_ms;
    }
    flow
}
