//! The metrics: one table, which both formats write out. `docs/formats/metrics.md` describes it.

use portolan_flow::Transport;

use super::{
    Snapshot,
    labels::Label,
    ledger::{Entry, Own},
};

/// A metric, named by OpenTelemetry's rules. Those of Prometheus follow from it.
pub(super) struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    /// In UCUM.
    pub unit: &'static str,
    pub help: &'static str,
    pub points: fn(&Snapshot, Sink<'_>),
}

/// What a metric's numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only goes up.
    Counter,
    /// Is as it is now; sums of it have a meaning.
    UpDown,
    /// Is as it is now.
    Gauge,
    /// A sum and how many it is of: a histogram of one bucket.
    Histogram,
    /// Labels alone. OpenTelemetry has them in the resource.
    Info,
}

/// One number of a metric.
pub(super) struct Point<'a> {
    pub labels: &'a [Label],
    /// A label of this metric only.
    pub further: Option<(&'static str, &'a str)>,
    pub value: Value,
    pub start_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Count(u64),
    Seconds(f64),
    /// A sum in seconds, of so many.
    Spread(f64, u64),
}

/// Takes the points of a metric.
pub(super) type Sink<'a> = &'a mut dyn FnMut(Point<'_>);

const TRANSMIT: Option<(&str, &str)> = Some(("network.io.direction", "transmit"));
const RECEIVE: Option<(&str, &str)> = Some(("network.io.direction", "receive"));

/// All metrics, in the order in which they are written.
pub(super) const METRICS: [Metric; 22] = [
    Metric {
        name: "flow.io",
        kind: Kind::Counter,
        unit: "By",
        help: "Payload, each byte once: transmit is from client to server.",
        points: |snapshot, sink| {
            each(snapshot, sink, |entry, tell| {
                let [up, down] = entry.account.bytes();
                tell(TRANSMIT, Value::Count(up));
                tell(RECEIVE, Value::Count(down));
            });
        },
    },
    Metric {
        name: "flow.datagram.count",
        kind: Kind::Counter,
        unit: "{datagram}",
        help: "UDP datagrams: transmit is from client to server.",
        points: |snapshot, sink| {
            each(snapshot, sink, |entry, tell| {
                if entry.transport != Some(Transport::Tcp) {
                    let [up, down] = entry.account.datagrams();
                    tell(TRANSMIT, Value::Count(up));
                    tell(RECEIVE, Value::Count(down));
                }
            });
        },
    },
    Metric {
        name: "flow.connection.count",
        kind: Kind::Counter,
        unit: "{connection}",
        help: "Connections that came up, each once: role is which of its ends this host is.",
        points: |snapshot, sink| {
            each(snapshot, sink, |entry, tell| {
                for (role, count) in entry.account.opened() {
                    let Some(count) = count else { continue };
                    let role = entry.has_sides.then_some(("role", role));
                    tell(role, Value::Count(count));
                }
            });
        },
    },
    Metric {
        name: "flow.connection.active",
        kind: Kind::UpDown,
        unit: "{connection}",
        help: "Connections that were up at the last reading.",
        points: |snapshot, sink| {
            each(snapshot, sink, |entry, tell| tell(None, Value::Count(entry.account.active)));
        },
    },
    Metric {
        name: "flow.connection.failure",
        kind: Kind::Counter,
        unit: "{connection}",
        help: "Handshakes that came to nothing: refused, timed_out, unreachable, abandoned.",
        points: |snapshot, sink| {
            tcp(snapshot, sink, |entry, tell| {
                let is_client = entry.account.has_client();
                for (why, count) in entry.account.failed() {
                    // A series that begins with its first failure would hide that from rates.
                    if is_client || count > 0 {
                        tell(Some(("error.type", why)), Value::Count(count));
                    }
                }
            });
        },
    },
    Metric {
        name: "flow.connection.reset",
        kind: Kind::Counter,
        unit: "{connection}",
        help: "Connections that ended by a reset, or because the peer did not answer any more.",
        points: |snapshot, sink| {
            tcp(snapshot, sink, |entry, tell| tell(None, Value::Count(entry.account.resets())));
        },
    },
    Metric {
        name: "flow.connection.duration",
        kind: Kind::Histogram,
        unit: "s",
        help: "How long connections that ended were up.",
        points: |snapshot, sink| {
            tcp(snapshot, sink, |entry, tell| tell(None, spread(entry.account.duration())));
        },
    },
    Metric {
        name: "flow.tcp.rtt",
        kind: Kind::Histogram,
        unit: "s",
        help: "Smoothed round-trip times, one per connection and reading at most.",
        points: |snapshot, sink| {
            tcp(snapshot, sink, |entry, tell| tell(None, spread(entry.account.rtt())));
        },
    },
    Metric {
        name: "flow.tcp.retransmit",
        kind: Kind::Counter,
        unit: "{segment}",
        help: "TCP segments that either end sent again.",
        points: |snapshot, sink| {
            tcp(snapshot, sink, |entry, tell| {
                tell(None, Value::Count(entry.account.retransmits()));
            });
        },
    },
    Metric {
        name: "portolan.lost",
        kind: Kind::Counter,
        unit: "{event}",
        help: "What was lost, or is told with less than all there is to tell, by reason.",
        points: |snapshot, sink| {
            for (reason, &count) in &snapshot.own.losses {
                one(&snapshot.own, Some(("reason", reason)), Value::Count(count), sink);
            }
        },
    },
    Metric {
        name: "portolan.series",
        kind: Kind::Gauge,
        unit: "{series}",
        help: "Series of edges that there are.",
        points: |snapshot, sink| own(snapshot, sink, |own| own.series),
    },
    Metric {
        name: "portolan.series.max",
        kind: Kind::Gauge,
        unit: "{series}",
        help: "Series of edges that there may be.",
        points: |snapshot, sink| own(snapshot, sink, |own| own.series_max),
    },
    Metric {
        name: "portolan.series.folded",
        kind: Kind::Counter,
        unit: "{record}",
        help: "Records of edges that found no room, and are counted in the series of the others.",
        points: |snapshot, sink| own(snapshot, sink, |own| own.folded),
    },
    Metric {
        name: "portolan.series.dropped",
        kind: Kind::Counter,
        unit: "{series}",
        help: "Series that were dropped because nothing happened; they begin at 0 again.",
        points: |snapshot, sink| own(snapshot, sink, |own| own.dropped),
    },
    Metric {
        name: "portolan.map.entries",
        kind: Kind::Gauge,
        unit: "{entry}",
        help: "Entries in use in the table that the method counts in.",
        points: |snapshot, sink| {
            if let Some(map) = snapshot.own.map {
                own(snapshot, sink, |_| map.entries);
            }
        },
    },
    Metric {
        name: "portolan.map.capacity",
        kind: Kind::Gauge,
        unit: "{entry}",
        help: "Entries that this table has room for.",
        points: |snapshot, sink| {
            if let Some(map) = snapshot.own.map {
                own(snapshot, sink, |_| map.capacity);
            }
        },
    },
    Metric {
        name: "portolan.reading.count",
        kind: Kind::Counter,
        unit: "{reading}",
        help: "Readings that were taken in.",
        points: |snapshot, sink| own(snapshot, sink, |own| own.intervals),
    },
    Metric {
        name: "portolan.reading.timestamp",
        kind: Kind::Gauge,
        unit: "s",
        help: "When the last reading ended, in seconds since 1970.",
        points: |snapshot, sink| {
            let value = Value::Seconds(seconds(snapshot.own.last_ms, 1e3));
            one(&snapshot.own, None, value, sink);
        },
    },
    Metric {
        name: "portolan.otlp.export.count",
        kind: Kind::Counter,
        unit: "{export}",
        help: "Exports over OTLP that were accepted.",
        points: |snapshot, sink| {
            if let Some(exports) = snapshot.exports {
                own(snapshot, sink, |_| exports.accepted);
            }
        },
    },
    Metric {
        name: "portolan.otlp.export.failure",
        kind: Kind::Counter,
        unit: "{export}",
        help: "Attempts to export over OTLP that failed. The next one tells the same and more.",
        points: |snapshot, sink| {
            if let Some(exports) = snapshot.exports {
                own(snapshot, sink, |_| exports.failed);
            }
        },
    },
    Metric {
        name: "portolan.otlp.rejected",
        kind: Kind::Counter,
        unit: "{point}",
        help: "Numbers that a receiver refused of exports that it accepted.",
        points: |snapshot, sink| {
            if let Some(exports) = snapshot.exports {
                own(snapshot, sink, |_| exports.rejected);
            }
        },
    },
    Metric {
        name: "portolan.build",
        kind: Kind::Info,
        unit: "",
        help: "The version of Portolan.",
        points: |snapshot, sink| {
            let version = Some(("version", super::VERSION));
            one(&snapshot.own, version, Value::Count(1), sink);
        },
    },
];

/// Takes the values of one series.
type Tell<'a> = &'a mut dyn FnMut(Option<(&'static str, &str)>, Value);

fn each(snapshot: &Snapshot, sink: Sink<'_>, tell: impl Fn(&Entry, Tell<'_>)) {
    for entry in &snapshot.entries {
        let (labels, start_ms) = (&*entry.labels, entry.start_ms);
        tell(entry, &mut |further, value| sink(Point { labels, further, value, start_ms }));
    }
}

/// All but the series of UDP.
fn tcp(snapshot: &Snapshot, sink: Sink<'_>, tell: impl Fn(&Entry, Tell<'_>)) {
    each(snapshot, sink, |entry, sink| {
        if entry.transport != Some(Transport::Udp) {
            tell(entry, sink);
        }
    });
}

fn own(snapshot: &Snapshot, sink: Sink<'_>, value: impl Fn(&Own) -> u64) {
    one(&snapshot.own, None, Value::Count(value(&snapshot.own)), sink);
}

fn one(own: &Own, further: Option<(&'static str, &str)>, value: Value, sink: Sink<'_>) {
    sink(Point { labels: &[], further, value, start_ms: own.start_ms });
}

fn spread([sum_us, count]: [u64; 2]) -> Value {
    Value::Spread(seconds(sum_us, 1e6), count)
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 285 years in microseconds")]
fn seconds(count: u64, per_second: f64) -> f64 {
    count as f64 / per_second
}

#[cfg(test)]
mod tests;
