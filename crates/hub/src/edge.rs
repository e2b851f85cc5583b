//! An edge of the graph, with the flows that it is made of.

use std::{cmp::Ordering, net::IpAddr, ops::RangeInclusive, sync::Arc};

use portolan_flow::{Counters, Flow, Owner, Pids, Record, Transport, service_name};

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

/// A flow without what belongs to one reading: counters and process ids.
pub(crate) fn without_counts(flow: &Flow) -> Flow {
    let mut flow = flow.clone();
    forget_counts(&mut flow);
    flow
}

/// Drops what belongs to one reading.
pub(crate) fn forget_counts(flow: &mut Flow) {
    flow.active = Counters::default();
    flow.passive = Counters::default();
    flow.client.pids = Pids::default();
    flow.server.pids = Pids::default();
}

/// Whether it is only shown, and forgotten when it ends, because anybody can cause it or it is too
/// likely to be wrong: handshakes from elsewhere that nobody has finished, whose addresses may be
/// made up; and what is left of a connection between two ephemeral ports, where the direction is
/// a guess and an end is unknown.
pub(crate) fn is_passing(flow: &Flow) -> bool {
    let is_nobody = flow.client.namespace.is_none() && flow.client.owner == Owner::Unobserved;
    let only_asks =
        flow.active.is_zero() && flow.connections() == 0 && flow.time_wait() == 0 && is_nobody;
    let is_over = flow.connections() == 0 && flow.opening() == 0;
    let only_ended = flow.guessed
        && EPHEMERAL.contains(&flow.server_port)
        && is_over
        && (flow.client.is_open() || flow.server.is_open());
    (only_asks && flow.opening() > 0) || (only_ended && flow.time_wait() > 0)
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
            flows: self.records(since_ms).collect(),
        }
    }
}
