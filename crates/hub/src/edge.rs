//! An edge of the graph, with the flows that it is made of.

use std::{cmp::Ordering, net::IpAddr, ops::RangeInclusive, sync::Arc};

use portolan_flow::{
    Counters, Flow, Owner, Pids, Record, Traffic, TrafficRecord, Transport, service_name,
};

use crate::api::{self, EdgeRecord};

/// The ports that Linux gives to clients unless it is told otherwise.
const EPHEMERAL: RangeInclusive<u16> = 32_768..=60_999;

/// What two flows that may be the same connection have in common: port, transport, address of the
/// server, of the client. A folded list of flows is in this order.
pub(crate) type Pair = (u16, Transport, IpAddr, IpAddr);

/// The [`Pair`] of a flow.
pub(crate) fn pair_of(flow: &Flow) -> Pair {
    (flow.server_port, flow.transport, flow.server.address, flow.client.address)
}

/// The order of flows within an edge: by addresses, then by who is behind them.
pub(crate) fn flow_cmp(a: &Flow, b: &Flow) -> Ordering {
    pair_of(a)
        .cmp(&pair_of(b))
        .then_with(|| a.client.party_cmp(&b.client))
        .then_with(|| a.server.party_cmp(&b.server))
}

/// How much the spans of two readings differ that are meant to be the same, one in so many.
const SPAN_JITTER: u64 = 10;

/// A flow without what belongs to one reading: counters, traffic and process ids.
pub(crate) fn without_counts(flow: &Flow) -> Flow {
    let mut flow = flow.clone();
    forget_counts(&mut flow);
    flow
}

/// Drops what belongs to one reading.
pub(crate) fn forget_counts(flow: &mut Flow) {
    flow.active = Counters::default();
    flow.passive = Counters::default();
    flow.traffic = None;
    flow.client.pids = Pids::default();
    flow.server.pids = Pids::default();
}

/// Gives `flow` the span of time that `known` was counted in, where as much was counted in about as
/// long: a rate that stays the same is no news because a reading was a millisecond late.
pub(crate) fn settle_span(flow: &mut Flow, known: &Flow) {
    let (Some(now), Some(before)) = (&mut flow.traffic, &known.traffic) else { return };
    let counts = (&now.active, &now.passive) == (&before.active, &before.passive);
    if counts && now.span_ms.abs_diff(before.span_ms) <= before.span_ms / SPAN_JITTER {
        now.span_ms = before.span_ms;
    }
}

/// Whether it is only shown, and forgotten when it ends, because anybody can cause it, because it
/// is too likely to be wrong, or because nothing has come of it: handshakes from elsewhere that
/// nobody has finished, whose addresses may be made up; handshakes that failed, of which a port
/// scan has as many as there are ports; and what is left of a connection between two ephemeral
/// ports, where the direction is a guess and an end is unknown.
///
/// Where traffic is counted, how a handshake ended will be seen: one under way tells nothing yet.
pub(crate) fn is_passing(flow: &Flow, counts_traffic: bool) -> bool {
    let is_nobody = flow.client.namespace.is_none() && flow.client.owner == Owner::Unobserved;
    let is_asked_by_nobody = flow.active.is_zero() && is_nobody;
    let has_worked = flow.traffic.as_deref().is_some_and(has_worked);
    let was_up = flow.connections() > 0 || flow.time_wait() > 0 || has_worked;
    let only_asks = flow.opening() > 0 && !was_up && (is_asked_by_nobody || counts_traffic);
    let only_fails = !was_up && flow.traffic.as_ref().is_some_and(|traffic| !traffic.is_zero());
    let is_over = flow.connections() == 0 && flow.opening() == 0 && !has_worked;
    let only_ended = flow.guessed
        && EPHEMERAL.contains(&flow.server_port)
        && is_over
        && (flow.client.is_open() || flow.server.is_open());
    only_asks || only_fails || (only_ended && flow.time_wait() > 0)
}

/// Whether there was a connection, or datagrams that were not refused.
fn has_worked(traffic: &Traffic) -> bool {
    let once = traffic.counted_once().active;
    let asked = once.bytes_sent > 0 || once.datagrams_sent > 0;
    let answered = once.bytes_received > 0 || once.datagrams_received > 0;
    once.opened > 0 || once.closed > 0 || answered || (asked && once.failed() == 0)
}

/// A flow, and when it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFlow {
    /// The flow as the last reading saw it; without counters and process ids if it is not live.
    pub flow: Flow,
    /// When it was seen first, in milliseconds since the Unix epoch.
    pub first_seen_ms: u64,
    /// When it was seen last, in milliseconds since the Unix epoch.
    pub last_seen_ms: u64,
    /// Whether the last reading saw it.
    pub live: bool,
    /// The `last_seen_ms` that the store has.
    pub(crate) saved_ms: Option<u64>,
    /// Whether it is remembered when it has ended: some reading saw more than [`is_passing`].
    pub(crate) lasts: bool,
}

impl KnownFlow {
    /// The flat record with its times, for `--json` and the API.
    #[must_use]
    pub fn record(&self) -> EdgeRecord {
        EdgeRecord {
            record: Record::from(&self.flow),
            first_seen_ms: self.first_seen_ms,
            last_seen_ms: self.last_seen_ms,
        }
    }
}

/// One node uses a service of another. Has at least one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// `CLIENT>SERVER:PORT/TRANSPORT`.
    pub id: Arc<str>,
    /// The client's node id.
    pub client: Arc<str>,
    /// The server's node id.
    pub server: Arc<str>,
    /// The listening port, in host byte order.
    pub server_port: u16,
    /// The transport protocol.
    pub transport: Transport,
    /// One per pair of addresses and processes, in order.
    pub flows: Vec<KnownFlow>,
}

impl Edge {
    /// The id of the edge between two nodes.
    #[must_use]
    pub fn id_of(client: &str, server: &str, port: u16, transport: Transport) -> String {
        format!("{client}>{server}:{port}/{transport}")
    }

    /// Whether the last reading saw it.
    #[must_use]
    pub fn live(&self) -> bool {
        self.flows.iter().any(|known| known.live)
    }

    /// When it was seen first, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn first_seen_ms(&self) -> u64 {
        self.flows.iter().map(|known| known.first_seen_ms).min().unwrap_or_default()
    }

    /// When it was seen last, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn last_seen_ms(&self) -> u64 {
        self.flows.iter().map(|known| known.last_seen_ms).max().unwrap_or_default()
    }

    /// Whether it is live, or was seen at or after `since_ms`.
    #[must_use]
    pub fn seen_since(&self, since_ms: u64) -> bool {
        self.flows.iter().any(|known| known.live || known.last_seen_ms >= since_ms)
    }

    /// Connections up in the last reading.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.flows.iter().map(|known| known.flow.connections()).sum()
    }

    /// Handshakes under way in the last reading.
    #[must_use]
    pub fn opening(&self) -> u64 {
        self.flows.iter().map(|known| known.flow.opening()).sum()
    }

    /// Connections in TIME-WAIT in the last reading.
    #[must_use]
    pub fn time_wait(&self) -> u64 {
        self.flows.iter().map(|known| known.flow.time_wait()).sum()
    }

    /// Whether the last reading counted what went over it.
    #[must_use]
    pub fn counts_traffic(&self) -> bool {
        self.flows.iter().any(|known| known.flow.traffic.is_some())
    }

    /// What went over it before the last reading, everything counted once, as the client's end;
    /// `None` where nobody counts.
    #[must_use]
    pub fn traffic(&self) -> Option<Traffic> {
        let mut all = self.flows.iter().filter_map(|known| known.flow.traffic.as_ref());
        let mut sum = all.next()?.counted_once();
        all.for_each(|traffic| sum.add(&traffic.counted_once()));
        Some(sum)
    }

    /// Whether it does not work: it is live, but nothing is connected or came up, and handshakes
    /// failed.
    #[must_use]
    pub fn failing(&self) -> bool {
        let only_fails = |traffic: Traffic| traffic.opened() == 0 && traffic.failed() > 0;
        self.connections() == 0 && self.live() && self.traffic().is_some_and(only_fails)
    }

    /// Whether no flow of it proves the direction.
    #[must_use]
    pub fn direction_guessed(&self) -> bool {
        self.flows.iter().all(|known| known.flow.guessed)
    }

    /// The flat records of the flows that are live or were seen at or after `since_ms`.
    pub fn records(&self, since_ms: u64) -> impl Iterator<Item = EdgeRecord> {
        self.flows
            .iter()
            .filter(move |known| known.live || known.last_seen_ms >= since_ms)
            .map(KnownFlow::record)
    }

    /// The edge as the API shows it, without the flows that ended before `since_ms`.
    #[must_use]
    pub fn reply(&self, since_ms: u64) -> api::Edge {
        api::Edge {
            id: Arc::clone(&self.id),
            client: Arc::clone(&self.client),
            server: Arc::clone(&self.server),
            server_port: self.server_port,
            server_service: service_name(self.transport, self.server_port).map(str::to_owned),
            network_transport: self.transport,
            connections: self.connections(),
            opening: self.opening(),
            time_wait: self.time_wait(),
            direction_guessed: self.direction_guessed(),
            first_seen_ms: self.first_seen_ms(),
            last_seen_ms: self.last_seen_ms(),
            live: self.live(),
            failing: self.failing(),
            traffic: self.traffic().as_ref().map(TrafficRecord::from).unwrap_or_default(),
            flows: self.records(since_ms).collect(),
        }
    }
}
