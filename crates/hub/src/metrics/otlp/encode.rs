//! A request of OTLP 1.x for metrics: `ExportMetricsServiceRequest` of opentelemetry-proto, by its
//! field numbers. The tests read it with the types that are generated from the definitions.

use super::protobuf::{Field, Writer, fields};
use crate::metrics::{
    Snapshot, VERSION,
    labels::Label,
    table::{Kind, METRICS, Metric, Point, Value},
};

const CUMULATIVE: u64 = 2;

/// All that is known, as a request.
pub(super) fn request(snapshot: &Snapshot, host_name: &str) -> Vec<u8> {
    let mut request = Writer::default();
    request.message(1, |resource_metrics| {
        resource_metrics.message(1, |resource| {
            attribute(resource, 1, "service.name", "portolan");
            attribute(resource, 1, "service.version", VERSION);
            attribute(resource, 1, "host.name", host_name);
        });
        resource_metrics.message(2, |scope_metrics| {
            scope_metrics.message(1, |scope| {
                scope.string(1, "portolan");
                scope.string(2, VERSION);
            });
            // What an Info says, the resource says here.
            for metric in METRICS.iter().filter(|metric| metric.kind != Kind::Info) {
                metric_of(scope_metrics, metric, snapshot);
            }
        });
    });
    request.into_bytes()
}

fn metric_of(scope_metrics: &mut Writer, metric: &Metric, snapshot: &Snapshot) {
    let mut points = Writer::default();
    let now_ms = snapshot.own.last_ms;
    (metric.points)(snapshot, &mut |point| {
        points.message(1, |written| point_of(written, metric.kind, &point, now_ms));
    });
    let points = points.into_bytes();
    if points.is_empty() {
        return;
    }
    scope_metrics.message(2, |written| {
        written.string(1, metric.name);
        written.string(2, metric.help);
        written.string(3, metric.unit);
        let data = match metric.kind {
            Kind::Gauge | Kind::Info => 5,
            Kind::Counter | Kind::UpDown => 7,
            Kind::Histogram => 9,
        };
        written.message(data, |data| {
            data.append(&points);
            if metric.kind != Kind::Gauge {
                data.varint(2, CUMULATIVE);
            }
            if metric.kind == Kind::Counter {
                data.varint(3, 1);
            }
        });
    });
}

/// A `NumberDataPoint` or a `HistogramDataPoint`: they number their fields differently.
fn point_of(written: &mut Writer, kind: Kind, point: &Point<'_>, now_ms: u64) {
    if kind != Kind::Gauge {
        written.fixed64(2, nanoseconds(point.start_ms));
    }
    written.fixed64(3, nanoseconds(now_ms.max(point.start_ms)));
    let attributes = match point.value {
        // Sums are told as signed numbers, of which every second one is never reached.
        Value::Count(count) => {
            written.fixed64(6, count.min(i64::MAX.cast_unsigned()));
            7
        }
        Value::Seconds(seconds) => {
            written.double(4, seconds);
            7
        }
        // Without bounds there is one bucket, and it need not be written.
        Value::Spread(sum, count) => {
            if count > 0 {
                written.fixed64(4, count);
            }
            written.double(5, sum);
            9
        }
    };
    for label in point.labels {
        label_of(written, attributes, label);
    }
    if let Some((name, text)) = point.further {
        attribute(written, attributes, name, text);
    }
}

fn nanoseconds(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

fn label_of(written: &mut Writer, field: u32, label: &Label) {
    match label.number {
        None => attribute(written, field, label.name, &label.text),
        Some(number) => written.message(field, |pair| {
            pair.string(1, label.name);
            pair.message(2, |value| value.varint(3, u64::from(number)));
        }),
    }
}

fn attribute(written: &mut Writer, field: u32, name: &str, text: &str) {
    written.message(field, |pair| {
        pair.string(1, name);
        pair.message(2, |value| value.string(1, text));
    });
}

/// How many numbers a receiver refused of a request that it accepted, and why: the answer,
/// `ExportMetricsServiceResponse`.
pub(super) fn rejected(answer: &[u8]) -> (u64, String) {
    let (mut rejected, mut message) = (0, String::new());
    let partial = fields(answer).find_map(|field| match field {
        (1, Field::Bytes(partial)) => Some(partial),
        _ => None,
    });
    for field in fields(partial.unwrap_or_default()) {
        match field {
            (1, Field::Number(count)) => rejected = count,
            (2, Field::Bytes(text)) => message = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    (rejected, message)
}

#[cfg(test)]
mod tests;
