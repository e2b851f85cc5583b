//! What the host did, as programs read it (docs/formats/host.md).

use std::{net::SocketAddr, time::Duration};

use portolan_host::Host;
use portolan_load::{ServerInterval, ServerSummary};
use serde_json::{Map, Value, json};

use super::{HostArgs, device::Told, figures::Figures, text};

/// The format's version: fields may be added, and are changed only with another number.
pub const VERSION: u32 = 1;

/// The host answers.
pub fn ready(args: &HostArgs, device: &Told, host: &Host, serve: &[SocketAddr]) -> Value {
    let addresses: Vec<String> = args.address.iter().map(ToString::to_string).collect();
    json!({
        "version": VERSION,
        "type": "ready",
        "nic": device.kind,
        "interface": device.interface,
        "mac": text::mac(host.mac()),
        "mtu": host.mtu(),
        "queues": args.queues,
        "addresses": addresses,
        "serve": serve,
    })
}

/// What happened within an interval.
pub fn interval(served: &ServerInterval, figures: &Figures) -> Value {
    let mut record = host("host_interval", figures);
    insert(&mut record, "nth", json!(served.nth));
    insert(&mut record, "begin_seconds", json!(served.begin_seconds));
    insert(&mut record, "seconds", json!(served.seconds));
    insert(&mut record, "open", json!(served.open));
    insert(&mut record, "total", json!(served.total));
    record
}

/// What happened until the end.
pub fn summary(served: &ServerSummary, figures: &Figures) -> Value {
    let mut record = host("host", figures);
    insert(&mut record, "seconds", json!(served.seconds));
    insert(&mut record, "total", json!(served.total));
    insert(&mut record, "ports", json!(served.ports));
    record
}

fn host(kind: &str, figures: &Figures) -> Value {
    let micros = |time: &Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let mut record = json!({
        "version": VERSION,
        "type": kind,
        "frames_in": figures.frames_in,
        "bytes_in": figures.bytes_in,
        "frames_out": figures.frames_out,
        "bytes_out": figures.bytes_out,
        "connections": figures.connections,
        "time_waits": figures.time_waits,
        "blocks": figures.blocks,
        "cpu_us": micros(&figures.cpu_total()),
        "threads_cpu_us": figures.cpu.iter().map(micros).collect::<Vec<_>>(),
    });
    for group in ["delivered", "dropped", "unsent", "noted", "tcp", "queues"] {
        let counts = figures.group(group).map(|(name, count)| (name.to_owned(), json!(count)));
        insert(&mut record, group, Value::Object(counts.collect::<Map<_, _>>()));
    }
    record
}

fn insert(record: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = record {
        fields.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests;
