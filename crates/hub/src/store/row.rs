//! What makes a row: its key, and the columns that spell it.
//!
//! The columns of a party are `address, namespace, owner, uid, process, unit, container`. Nothing
//! is NULL, because NULLs differ from each other in a key: an empty text stands for what is not
//! known, and -1 for no user.

use std::{error::Error, net::IpAddr, sync::Arc};

use portolan_flow::{Counters, End, Flow, Listener, Namespace, Owner, Pids, Process, Transport};
use rusqlite::{Row, types::Type, types::Value};

/// A thing that a store keeps once, however often it was seen.
pub(super) trait Keyed: Clone + Ord {
    /// What it is known by, without counters, process ids and doubts; and whether there is doubt
    /// about its direction.
    fn key(&self) -> (Self, bool);

    /// The thing itself again.
    fn with_guessed(self, guessed: bool) -> Self;
}

impl Keyed for Flow {
    fn key(&self) -> (Self, bool) {
        (Self { guessed: false, ..crate::edge::without_counts(self) }, self.guessed)
    }

    fn with_guessed(self, guessed: bool) -> Self {
        Self { guessed, ..self }
    }
}

impl Keyed for Listener {
    fn key(&self) -> (Self, bool) {
        let mut listener = self.clone();
        listener.end.pids = Pids::default();
        (listener, false)
    }

    fn with_guessed(self, _guessed: bool) -> Self {
        self
    }
}

/// The columns of an edge's key, in the order of the table.
pub(super) fn flow_values(flow: &Flow) -> Vec<Value> {
    let mut values = vec![text(flow.transport.name()), i64::from(flow.server_port).into()];
    values.extend(party_values(&flow.client));
    values.extend(party_values(&flow.server));
    values
}

/// The columns of a listener's key, in the order of the table.
pub(super) fn listener_values(listener: &Listener) -> Vec<Value> {
    let mut values = vec![text(listener.transport.name()), i64::from(listener.port).into()];
    values.extend(party_values(&listener.end));
    values
}

fn party_values(end: &End) -> [Value; 7] {
    let process = end.owner.process();
    let optional = |value: Option<&String>| text(value.map_or("", String::as_str));
    let (owner, uid) = match end.owner {
        Owner::Unobserved => ("unobserved", -1),
        Owner::Hidden { uid } => ("user", i64::from(uid)),
        Owner::Process(_) => ("process", -1),
    };
    [
        text(&end.address.to_string()),
        text(end.namespace.as_ref().map_or("", Namespace::name)),
        text(owner),
        uid.into(),
        optional(process.map(|process| &process.name)),
        optional(process.and_then(|process| process.unit.as_ref())),
        optional(process.and_then(|process| process.container.as_ref())),
    ]
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

/// Reads what [`flow_values`] wrote, from the first column on.
pub(super) fn read_flow(row: &Row<'_>) -> rusqlite::Result<Flow> {
    Ok(Flow {
        transport: read_transport(row)?,
        server_port: row.get(1)?,
        client: read_party(row, 2)?,
        server: read_party(row, 9)?,
        active: Counters::default(),
        passive: Counters::default(),
        traffic: None,
        guessed: false,
    })
}

/// Reads what [`listener_values`] wrote, from the first column on.
pub(super) fn read_listener(row: &Row<'_>) -> rusqlite::Result<Listener> {
    Ok(Listener { transport: read_transport(row)?, port: row.get(1)?, end: read_party(row, 2)? })
}

fn read_transport(row: &Row<'_>) -> rusqlite::Result<Transport> {
    let name: String = row.get(0)?;
    match name.as_str() {
        "tcp" => Ok(Transport::Tcp),
        "udp" => Ok(Transport::Udp),
        _ => Err(unreadable(0, format!("transport {name:?}").into())),
    }
}

fn read_party(row: &Row<'_>, from: usize) -> rusqlite::Result<End> {
    let optional = |at: usize| -> rusqlite::Result<Option<String>> {
        let value: String = row.get(from + at)?;
        Ok((!value.is_empty()).then_some(value))
    };
    let address: String = row.get(from)?;
    let address: IpAddr = address.parse().map_err(|error| unreadable(from, Box::new(error)))?;
    let kind: String = row.get(from + 2)?;
    let owner = match kind.as_str() {
        "unobserved" => Owner::Unobserved,
        "user" => Owner::Hidden { uid: row.get(from + 3)? },
        "process" => Owner::Process(Arc::new(Process {
            name: row.get(from + 4)?,
            unit: optional(5)?,
            container: optional(6)?,
        })),
        _ => return Err(unreadable(from + 2, format!("owner {kind:?}").into())),
    };
    let namespace = optional(1)?.as_deref().map(Namespace::new);
    Ok(End { address, namespace, owner, pids: Pids::default() })
}

fn unreadable(column: usize, why: Box<dyn Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why)
}
