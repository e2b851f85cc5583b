//! A run as data: hosts, wire, programs.

use portolan_stack::Instant;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    host::Setup,
    link::{Change, Settings},
};

mod generate;

pub use generate::generated;

/// All that decides a run. Two runs of one scenario are the same, event for event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Decides every chance of the run.
    pub seed: u64,
    /// What the clock says at the beginning, in microseconds.
    pub start_us: u64,
    /// The clock begins so that the first sequence number of this host is so many bytes before the
    /// wrap: `(host, bytes)`.
    pub wrap: Option<(usize, u32)>,
    /// Whether the hosts talk IPv6.
    pub ipv6: bool,
    /// The two hosts.
    pub hosts: [Setup; 2],
    /// The wire from host 0 to host 1, and the one back.
    pub links: [Settings; 2],
    /// What changes on the wire.
    pub changes: Vec<Timed>,
    /// From when on nothing is lost, damaged, doubled or overtaken any more, in microseconds since
    /// the beginning. What is to be transferred must be so in bounded time after that.
    pub calm_us: u64,
    /// Who listens.
    pub services: Vec<Service>,
    /// Who connects.
    pub connections: Vec<Connection>,
    /// Who sends datagrams of UDP.
    pub datagrams: Vec<Datagrams>,
    /// Whether frames can be left in a file of the run.
    #[serde(skip)]
    pub captures: bool,
}

impl Scenario {
    /// The scenario as JSON, without what is as usual.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for usual in [
            serde_json::to_value(Self::default()),
            serde_json::to_value(Setup::default()),
            serde_json::to_value(Settings::default()),
            serde_json::to_value(Script::default()),
        ] {
            forget(&mut value, &usual.unwrap_or_default());
        }
        format!("{value:#}\n")
    }

    /// The clock at the beginning.
    #[must_use]
    pub fn start(&self) -> Instant {
        Instant::from_micros(self.start_us)
    }
}

/// Takes out of each object, however deep, what is in the usual one of the same fields.
fn forget(value: &mut Value, usual: &Value) {
    match (&mut *value, usual) {
        (Value::Object(fields), Value::Object(known)) => {
            if fields.keys().all(|name| known.contains_key(name)) {
                fields.retain(|name, field| known.get(name) != Some(field));
            }
            fields.values_mut().for_each(|field| forget(field, usual));
        }
        (Value::Array(items), _) => items.iter_mut().for_each(|item| forget(item, usual)),
        _ => {}
    }
}

/// A change of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// When, in microseconds since the beginning.
    pub at_us: u64,
    /// On the wire from this host.
    pub link: usize,
    /// What.
    pub change: Change,
}

/// A listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The host.
    pub host: usize,
    /// The port.
    pub port: u16,
    /// How many connections wait for the program at most.
    pub backlog: usize,
    /// How long the program takes to accept one, in microseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub accept_every_us: u64,
}

/// Datagrams of UDP from one host to the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// When the first one leaves, in microseconds since the beginning.
    pub at_us: u64,
    /// The host that sends them.
    pub from: usize,
    /// How many.
    pub count: u32,
    /// The time between two.
    pub every_us: u64,
    /// How long each one is, in bytes.
    pub bytes: usize,
    /// Whether somebody reads them.
    pub is_bound: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A connection that is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// When it is opened, in microseconds since the beginning.
    pub at_us: u64,
    /// The host that opens it.
    pub from: usize,
    /// The port that it is opened to.
    pub port: u16,
    /// The other host opens it as well, so much later: RFC 9293, figure 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simultaneous_us: Option<u64>,
    /// It comes from the port of this connection, a number in the list, as soon as that is over at
    /// the end that opened it: the other end may still be in TIME-WAIT (RFC 6191). It is not opened
    /// where that one was not over in good order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<usize>,
    /// What the program does that opens it.
    pub active: Script,
    /// What the program does that accepts it.
    pub passive: Script,
}

/// What a program does with its end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// How many bytes it sends.
    pub bytes: u64,
    /// How many with one write at most; 0 for any number.
    pub write: u64,
    /// The time between two writes; 0 for as soon as there is room.
    pub write_every_us: u64,
    /// How many it reads at once at most; 0 for any number.
    pub read: u64,
    /// The time between two reads; 0 for as soon as there is something.
    pub read_every_us: u64,
    /// It stops reading for a time, after so many bytes: `(bytes, microseconds)`.
    pub stall: Option<(u64, u64)>,
    /// It takes data where it lies in the frame.
    pub in_place: bool,
    /// It writes nothing for so long.
    pub waits_us: u64,
    /// It writes nothing before the other end has said that it has no more: half of the connection
    /// is used for long.
    pub replies: bool,
    /// The connection is given up after so many seconds without an acknowledgment; 0: as usual.
    pub user_timeout_s: u32,
    /// How it ends.
    pub end: End,
}

/// How a program ends its side of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It says that it has no more, reads until the other end says so, and closes.
    #[default]
    Finish,
    /// It reads until the other end says that it has no more, then finishes as well.
    AfterPeer,
    /// It closes when it has written all, whatever the other end still sends.
    Close,
    /// It closes so many microseconds after it began, whatever is missing.
    CloseAfterUs(u64),
    /// It resets the connection so many microseconds after it began.
    AbortAfterUs(u64),
}

impl End {
    /// Whether all that both ends send arrives if both end so.
    #[must_use]
    pub const fn is_orderly(self) -> bool {
        matches!(self, Self::Finish | Self::AfterPeer)
    }
}

#[cfg(test)]
mod tests;
