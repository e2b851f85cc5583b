//! The text format of OpenMetrics 1.0, as Prometheus reads it.

use std::{
    fmt::{self, Write},
    sync::Arc,
};

use prometheus_client::{
    collector::Collector,
    encoding::{
        DescriptorEncoder, EncodeLabelSet, LabelSetEncoder, MetricEncoder, NoLabelSet, text,
    },
    metrics::MetricType,
    registry::{Registry, Unit},
};

use super::{
    Snapshot,
    labels::Label,
    table::{Kind, METRICS, Metric, Point, Value},
};

/// The media type of what [`write`] returns.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes out all that is known.
pub(super) fn write(snapshot: Arc<Snapshot>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page(snapshot)));
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut page, &registry);
    page
}

/// A snapshot, for the encoder to walk over: nothing is copied but into the page.
#[derive(Debug)]
struct Page(Arc<Snapshot>);

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for metric in &METRICS {
            let (name, unit) = (base_name(metric.name), unit(metric));
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::UpDown | Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
                Kind::Info => MetricType::Info,
            };
            let mut encoder = encoder.encode_descriptor(&name, metric.help, unit.as_ref(), kind)?;
            let mut written = Ok(());
            (metric.points)(&self.0, &mut |point| {
                if written.is_ok() {
                    written = point_of(&mut encoder, metric.kind, &point);
                }
            });
            written?;
        }
        Ok(())
    }
}

/// The name that Prometheus knows it by, without unit and type.
pub(super) fn base_name(name: &str) -> String {
    let prefix = if name.starts_with("portolan.") { "" } else { "portolan_" };
    format!("{prefix}{}", name.replace('.', "_"))
}

/// Units in braces are for people and not part of the name.
fn unit(metric: &Metric) -> Option<Unit> {
    match metric.unit {
        "By" => Some(Unit::Bytes),
        "s" => Some(Unit::Seconds),
        _ => None,
    }
}

fn point_of(encoder: &mut MetricEncoder<'_>, kind: Kind, point: &Point<'_>) -> fmt::Result {
    let labels = LabelsOf { labels: point.labels, further: point.further };
    if kind == Kind::Info {
        return encoder.encode_info(&labels);
    }
    let is_empty = labels.labels.is_empty() && labels.further.is_none();
    if is_empty {
        // An empty set would be written as a pair of braces.
        return value_of(encoder, kind, point.value);
    }
    value_of(&mut encoder.encode_family(&labels)?, kind, point.value)
}

fn value_of(encoder: &mut MetricEncoder<'_>, kind: Kind, value: Value) -> fmt::Result {
    match (kind, value) {
        (Kind::Counter, Value::Count(count)) => {
            encoder.encode_counter::<NoLabelSet, u64, u64>(&count, None)
        }
        (Kind::Counter, Value::Seconds(seconds)) => {
            encoder.encode_counter::<NoLabelSet, f64, u64>(&seconds, None)
        }
        (_, Value::Count(count)) => encoder.encode_gauge(&count),
        (_, Value::Seconds(seconds)) => encoder.encode_gauge(&seconds),
        (_, Value::Spread(sum, count)) => {
            encoder.encode_histogram::<NoLabelSet>(sum, count, &[(f64::INFINITY, count)], None)
        }
    }
}

#[derive(Clone, Copy)]
struct LabelsOf<'a> {
    labels: &'a [Label],
    further: Option<(&'static str, &'a str)>,
}

impl EncodeLabelSet for LabelsOf<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        for label in self.labels {
            label_of(encoder, label.name, &label.text)?;
        }
        self.further.map_or(Ok(()), |(name, text)| label_of(encoder, name, text))
    }
}

fn label_of(encoder: &mut LabelSetEncoder<'_>, name: &str, text: &str) -> fmt::Result {
    let mut label = encoder.encode_label();
    let mut key = label.encode_label_key()?;
    for (at, part) in name.split('.').enumerate() {
        if at > 0 {
            key.write_char('_')?;
        }
        key.write_str(part)?;
    }
    let mut value = key.encode_label_value()?;
    value.write_str(text)?;
    value.finish()
}

#[cfg(test)]
pub(super) mod tests;
