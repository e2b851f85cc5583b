//! The JSON of the HTTP API, all of it. `docs/formats/hub-api.md` says what the fields mean.
//!
//! Times end in `_ms` and are milliseconds since the Unix epoch. Names and addresses come from
//! outside: whoever draws them treats them as text.

use std::{net::IpAddr, sync::Arc};

use portolan_flow::{Record, TrafficRecord, Transport};
use serde::{Deserialize, Serialize};

/// The version of the API's documents.
pub const API_VERSION: u32 = 1;

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A container, by the first 12 digits of its id.
    Container,
    /// A systemd service.
    Unit,
    /// A process, by name.
    Process,
    /// A process that may not be seen, by its user.
    User,
    /// A host elsewhere, or an end on this host of which nothing else is known.
    Address,
}

impl Kind {
    /// The lower-case name, as in the JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Unit => "unit",
            Self::Process => "process",
            Self::User => "user",
            Self::Address => "address",
        }
    }
}

/// A port that a node listens on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/hub-api.md describes each field")]
pub struct Listening {
    pub transport: Transport,
    pub address: IpAddr,
    pub port: u16,
    pub service: Option<String>,
}

/// A service: what edges join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/hub-api.md describes each field")]
pub struct Node {
    pub id: Arc<str>,
    pub kind: Kind,
    pub name: String,
    pub processes: Vec<String>,
    pub pids: Vec<u32>,
    pub unit: Option<String>,
    pub container: Option<String>,
    pub namespace: Option<String>,
    pub user: Option<String>,
    pub addresses: Vec<IpAddr>,
    pub listening: Vec<Listening>,
    pub first_seen_ms: u64,
    pub last_seen_ms: u64,
    pub live: bool,
}

/// A flow record with the time that it was known for; what `portolan map --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeRecord {
    /// The record, whose fields stand beside the two times.
    #[serde(flatten)]
    pub record: Record,
    /// When it was seen first, in milliseconds since the Unix epoch.
    pub first_seen_ms: u64,
    /// When it was seen last, in milliseconds since the Unix epoch.
    pub last_seen_ms: u64,
}

/// `client` uses the service that `server` offers on `server_port`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/hub-api.md describes each field")]
pub struct Edge {
    pub id: Arc<str>,
    pub client: Arc<str>,
    pub server: Arc<str>,
    pub server_port: u16,
    pub server_service: Option<String>,
    pub network_transport: Transport,
    pub connections: u64,
    pub opening: u64,
    pub time_wait: u64,
    pub direction_guessed: bool,
    pub first_seen_ms: u64,
    pub last_seen_ms: u64,
    pub live: bool,
    pub failing: bool,
    #[serde(flatten)]
    pub traffic: TrafficRecord,
    pub flows: Vec<EdgeRecord>,
}

/// The answer to `GET /api/v1/graph`, and the event `graph`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/hub-api.md describes each field")]
pub struct GraphReply {
    pub version: u32,
    pub revision: u64,
    pub now_ms: u64,
    pub interval_ms: u64,
    pub host: String,
    pub method: String,
    pub warnings: Vec<String>,
    pub nodes: Vec<Arc<Node>>,
    pub edges: Vec<Edge>,
}

/// The event `delta`: what differs from the revision before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/hub-api.md describes each field")]
pub struct DeltaReply {
    pub version: u32,
    pub revision: u64,
    pub now_ms: u64,
    pub warnings: Vec<String>,
    pub nodes: Vec<Arc<Node>>,
    pub edges: Vec<Edge>,
    pub removed_nodes: Vec<Arc<str>>,
    pub removed_edges: Vec<Arc<str>>,
}

/// The answer to `GET /api/v1/dependents` and `GET /api/v1/dependencies`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/hub-api.md describes each field")]
pub struct WalkReply {
    pub version: u32,
    pub roots: Vec<Arc<str>>,
    pub steps: Vec<StepReply>,
}

/// One step of a [`WalkReply`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/hub-api.md describes each field")]
pub struct StepReply {
    pub depth: u32,
    pub edge: Arc<str>,
    pub from: Arc<str>,
    pub node: Arc<str>,
    pub again: bool,
}

/// What every error answer carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReply {
    /// What failed, why, and what to do.
    pub error: String,
}
