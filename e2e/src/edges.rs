//! What `portolan map --json` prints.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use crate::place::Place;

/// What identifies an edge, and its connections.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// `client_process`.
    pub client_process: Option<String>,
    /// `client_address`.
    pub client_address: String,
    /// `client_namespace`.
    pub client_namespace: Option<String>,
    /// `server_process`.
    pub server_process: Option<String>,
    /// `server_address`.
    pub server_address: String,
    /// `server_port`.
    pub server_port: u16,
    /// `server_namespace`.
    pub server_namespace: Option<String>,
    /// `network_transport`.
    pub network_transport: String,
    /// `connections`.
    pub connections: u64,
}

impl Edge {
    /// An edge over TCP, from one place to another.
    #[must_use]
    pub fn new(
        (client, client_address, from): (&str, &str, &Place),
        (server, server_address, server_port, to): (&str, &str, u16, &Place),
        connections: u64,
    ) -> Self {
        Self {
            client_process: Some(client.to_owned()),
            client_address: client_address.to_owned(),
            client_namespace: Some(from.namespace.clone()),
            server_process: Some(server.to_owned()),
            server_address: server_address.to_owned(),
            server_port,
            server_namespace: Some(to.namespace.clone()),
            network_transport: "tcp".to_owned(),
            connections,
        }
    }

    /// The edge of a record.
    ///
    /// # Panics
    /// When a field is missing or of another type.
    #[must_use]
    pub fn of(record: &Value) -> Self {
        let number = |name: &str| record[name].as_u64().unwrap_or_else(|| missing(record, name));
        let required = |name| text(record, name).unwrap_or_else(|| missing(record, name));
        Self {
            client_process: text(record, "client_process"),
            client_address: required("client_address"),
            client_namespace: text(record, "client_namespace"),
            server_process: text(record, "server_process"),
            server_address: required("server_address"),
            server_port: u16::try_from(number("server_port")).unwrap_or_default(),
            server_namespace: text(record, "server_namespace"),
            network_transport: required("network_transport"),
            connections: number("connections"),
        }
    }

    /// The same without what changes from reading to reading.
    #[must_use]
    pub fn known(mut self) -> Self {
        self.connections = 0;
        self
    }
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_null = |text: &Option<String>| text.clone().unwrap_or_else(|| "null".to_owned());
        write!(
            f,
            "{} {} ({}) -> {} {}:{} ({}) {} x{}",
            or_null(&self.client_process),
            self.client_address,
            or_null(&self.client_namespace),
            or_null(&self.server_process),
            self.server_address,
            self.server_port,
            or_null(&self.server_namespace),
            self.network_transport,
            self.connections
        )
    }
}

/// The records among the lines of an output, all of which have to be JSON.
///
/// # Panics
/// When a line is not.
#[must_use]
pub fn records(output: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    output.lines().map(parse).collect()
}

/// The records of which one end is in one of the places: others are other people's.
#[must_use]
pub fn records_in(output: &str, places: &[&Place]) -> Vec<Value> {
    let is_ours = |namespace: &Value| places.iter().any(|place| namespace == &place.namespace);
    let mut records = records(output);
    records.retain(|one| is_ours(&one["client_namespace"]) || is_ours(&one["server_namespace"]));
    records
}

/// The edges of records.
#[must_use]
pub fn edges(records: &[Value]) -> BTreeSet<Edge> {
    records.iter().map(Edge::of).collect()
}

fn text(record: &Value, name: &str) -> Option<String> {
    match record.get(name) {
        Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        _ => missing(record, name),
    }
}

fn missing<T>(record: &Value, name: &str) -> T {
    panic!("{name} is missing or has the wrong type in {record}")
}
