use std::collections::HashSet;

use super::{Kind, METRICS, Metric};
use crate::metrics::exposition::base_name;

const DOCUMENT: &str = include_str!("../../../../../docs/formats/metrics.md");

/// The name as it stands on the page, by the rules of OpenTelemetry's exporter.
fn prometheus_name(metric: &Metric) -> String {
    let unit = match metric.unit {
        "By" => "_bytes",
        "s" => "_seconds",
        _ => "",
    };
    let suffix = match metric.kind {
        Kind::Counter => "_total",
        Kind::Info => "_info",
        Kind::UpDown | Kind::Gauge | Kind::Histogram => "",
    };
    format!("{}{unit}{suffix}", base_name(metric.name))
}

#[test]
fn every_metric_has_its_row_in_the_document() {
    for metric in &METRICS {
        let otel =
            if metric.kind == Kind::Info { "".to_owned() } else { format!("`{}`", metric.name) };
        let start = format!("| {otel} | `{}` |", prometheus_name(metric));
        let start = start.replace("|  |", "| |");
        let rows: Vec<_> = DOCUMENT.lines().filter(|line| line.starts_with(&start)).collect();
        assert_eq!(rows.len(), 1, "{start}");
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::UpDown => "up-down",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Info => "info",
        };
        let cells: Vec<_> = rows[0].split('|').map(str::trim).collect();
        assert_eq!(cells[3], kind, "{start}");
        let unit =
            if metric.unit.is_empty() { String::new() } else { format!("`{}`", metric.unit) };
        assert_eq!(cells[4], unit, "{start}");
    }
    let rows = DOCUMENT.lines().filter(|line| line.contains("| `portolan_")).count();
    assert_eq!(rows, METRICS.len(), "each row is of a metric");
}

#[test]
fn names_are_as_the_conventions_want_them() {
    let mut names = HashSet::new();
    for metric in &METRICS {
        assert!(names.insert(metric.name), "{} is there twice", metric.name);
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_');
        assert!(metric.name.bytes().all(is_plain), "{}", metric.name);
        assert!(!metric.name.contains("total"), "{}", metric.name);
        assert!(metric.help.ends_with('.') && !metric.help.contains(['\n', '\\']));
    }
}
