//! The flow record as it leaves the process: one flat JSON object per edge.
//!
//! The names follow OpenTelemetry's semantic conventions (`client.address`, `server.port`,
//! `network.transport`, dots as underscores). The format is described in `docs/formats/flow.md`.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{End, Flow, Traffic, Transport, service_name};

/// The version of the record's format.
pub const RECORD_VERSION: u32 = 1;

/// The flat form of a [`Flow`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/formats/flow.md describes each field")]
pub struct Record {
    pub version: u32,
    pub client_address: IpAddr,
    pub server_address: IpAddr,
    pub server_port: u16,
    pub server_service: Option<String>,
    pub network_transport: Transport,
    pub network_type: String,
    pub client_process: Option<String>,
    pub client_pids: Vec<u32>,
    pub client_unit: Option<String>,
    pub client_container: Option<String>,
    pub client_namespace: Option<String>,
    pub client_uid: Option<u32>,
    pub server_process: Option<String>,
    pub server_pids: Vec<u32>,
    pub server_unit: Option<String>,
    pub server_container: Option<String>,
    pub server_namespace: Option<String>,
    pub server_uid: Option<u32>,
    pub connections: u64,
    pub opening: u64,
    pub time_wait: u64,
    pub side: String,
    pub direction_guessed: bool,
    #[serde(flatten)]
    pub traffic: TrafficRecord,
}

/// The flat form of a [`Traffic`], each event counted once. What is `None` is left out of the JSON:
/// everything where the method does not count traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "docs/formats/flow.md describes each field")]
pub struct TrafficRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandoned: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_to_server: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_to_client: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams_to_server: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams_to_client: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
}

impl From<&Traffic> for TrafficRecord {
    fn from(traffic: &Traffic) -> Self {
        let span_ms = traffic.span_ms;
        let once = traffic.counted_once().active;
        Self {
            traffic_ms: Some(span_ms),
            opened: Some(once.opened),
            closed: Some(once.closed),
            resets: Some(once.resets),
            refused: Some(once.refused),
            timed_out: Some(once.timed_out),
            unreachable: Some(once.unreachable),
            abandoned: Some(once.abandoned),
            bytes_to_server: Some(once.bytes_sent),
            bytes_to_client: Some(once.bytes_received),
            datagrams_to_server: Some(once.datagrams_sent),
            datagrams_to_client: Some(once.datagrams_received),
            retransmits: Some(once.retransmits),
            rtt_us: once.rtt_us(),
            duration_us: once.duration_us_sum.checked_div(once.closed),
        }
    }
}

struct Party {
    process: Option<String>,
    unit: Option<String>,
    container: Option<String>,
    namespace: Option<String>,
    uid: Option<u32>,
}

impl From<&End> for Party {
    fn from(end: &End) -> Self {
        let process = end.owner.process();
        Self {
            process: process.map(|process| process.name.clone()),
            unit: process.and_then(|process| process.unit.clone()),
            container: process.and_then(|process| process.container.clone()),
            namespace: end.namespace.as_ref().map(|namespace| namespace.name().to_owned()),
            uid: match end.owner {
                crate::Owner::Hidden { uid } => Some(uid),
                _ => None,
            },
        }
    }
}

impl From<&Flow> for Record {
    fn from(flow: &Flow) -> Self {
        let (client, server) = (Party::from(&flow.client), Party::from(&flow.server));
        Self {
            version: RECORD_VERSION,
            client_address: flow.client.address,
            server_address: flow.server.address,
            server_port: flow.server_port,
            server_service: service_name(flow.transport, flow.server_port).map(str::to_owned),
            network_transport: flow.transport,
            network_type: if flow.server.address.is_ipv4() { "ipv4" } else { "ipv6" }.to_owned(),
            client_process: client.process,
            client_pids: flow.client.pids.as_slice().to_vec(),
            client_unit: client.unit,
            client_container: client.container,
            client_namespace: client.namespace,
            client_uid: client.uid,
            server_process: server.process,
            server_pids: flow.server.pids.as_slice().to_vec(),
            server_unit: server.unit,
            server_container: server.container,
            server_namespace: server.namespace,
            server_uid: server.uid,
            connections: flow.connections(),
            opening: flow.opening(),
            time_wait: flow.time_wait(),
            side: flow.side().to_owned(),
            direction_guessed: flow.guessed,
            traffic: flow.traffic.as_deref().map(TrafficRecord::from).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
