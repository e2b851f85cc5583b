use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::metrics::v1::{
        ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
    },
    common::v1::{KeyValue, any_value::Value},
    metrics::v1::{AggregationTemporality, Metric, metric::Data, number_data_point},
};
use prost::Message;

use super::{rejected, request};
use crate::metrics::{Metrics, exposition::tests::sample};

fn decoded(metrics: &Metrics) -> ExportMetricsServiceRequest {
    let bytes = request(&metrics.snapshot(), "host-7");
    let request = ExportMetricsServiceRequest::decode(&*bytes).expect("a request");
    assert_eq!(request.encoded_len(), bytes.len(), "nothing in it is unknown");
    request
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |pair: &KeyValue| {
        let value = pair.value.as_ref().and_then(|value| value.value.as_ref());
        let text = match value.expect("a value") {
            Value::StringValue(text) => text.clone(),
            Value::IntValue(number) => format!("int {number}"),
            other => panic!("{other:?}"),
        };
        (pair.key.clone(), text)
    };
    attributes.iter().map(text).collect()
}

fn metric<'a>(request: &'a ExportMetricsServiceRequest, name: &str) -> &'a Metric {
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_resource_says_who_counted() {
    let request = decoded(&sample());
    let resource = request.resource_metrics[0].resource.as_ref().expect("a resource");
    let texts = texts(&resource.attributes);
    assert_eq!(texts["service.name"], "portolan");
    assert_eq!(texts["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(texts["host.name"], "host-7");
    assert_eq!((request.resource_metrics.len(), texts.len()), (1, 3));
}

#[test]
fn counters_are_cumulative_sums_with_a_start() {
    let request = decoded(&sample());
    let io = metric(&request, "flow.io");
    assert_eq!(io.unit, "By");
    let Some(Data::Sum(sum)) = &io.data else { panic!("{io:?}") };
    assert!(sum.is_monotonic);
    assert_eq!(sum.aggregation_temporality(), AggregationTemporality::Cumulative);
    let point = &sum.data_points[0];
    assert_eq!(point.value, Some(number_data_point::Value::AsInt(300)));
    assert_eq!(point.start_time_unix_nano, 1_000_000_000_000);
    assert_eq!(point.time_unix_nano, 1_001_500_000_000);
    let texts = texts(&point.attributes);
    let of = |name: &str| texts[name].as_str();
    assert_eq!((of("client.address"), of("server.address")), ("10.0.0.1", "0.0.0.0/0"));
    assert_eq!((of("server.port"), of("client.process")), ("int 443", "curl"));
    assert_eq!(of("network.io.direction"), "transmit");
    assert_eq!(texts.len(), 6, "{texts:?}");
}

#[test]
fn gauges_have_no_start_and_up_down_sums_are_not_monotonic() {
    let request = decoded(&sample());
    let Some(Data::Gauge(gauge)) = &metric(&request, "portolan.series.max").data else { panic!() };
    assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsInt(4)));
    assert_eq!(gauge.data_points[0].start_time_unix_nano, 0);
    let Some(Data::Sum(sum)) = &metric(&request, "flow.connection.active").data else { panic!() };
    assert!(!sum.is_monotonic);
    let time = metric(&request, "portolan.reading.timestamp");
    let Some(Data::Gauge(gauge)) = &time.data else { panic!() };
    assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsDouble(1_001.5)));
}

#[test]
fn sums_and_counts_are_histograms_without_bounds() {
    let request = decoded(&sample());
    let rtt = metric(&request, "flow.tcp.rtt");
    assert_eq!(rtt.unit, "s");
    let Some(Data::Histogram(histogram)) = &rtt.data else { panic!("{rtt:?}") };
    assert_eq!(histogram.aggregation_temporality(), AggregationTemporality::Cumulative);
    let point = &histogram.data_points[0];
    assert_eq!((point.count, point.sum), (3, Some(0.000_75)));
    assert_eq!(point.start_time_unix_nano, 1_000_000_000_000);
    assert!(point.bucket_counts.is_empty() && point.explicit_bounds.is_empty());
    assert_eq!(texts(&point.attributes)["client.process"], "curl");
}

#[test]
fn a_metric_without_numbers_is_left_out() {
    let request = decoded(&Metrics::new(crate::metrics::Settings::default(), 1_000));
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    assert!(metrics.iter().all(|metric| metric.name.starts_with("portolan.")));
    assert!(metrics.iter().all(|metric| metric.name != "portolan.build"));
}

#[test]
fn the_answer_says_what_was_refused() {
    let partial = |rejected_data_points, message: &str| {
        let error_message = message.to_owned();
        let partial = ExportMetricsPartialSuccess { rejected_data_points, error_message };
        ExportMetricsServiceResponse { partial_success: Some(partial) }.encode_to_vec()
    };
    assert_eq!(rejected(&partial(7, "too many")), (7, "too many".to_owned()));
    assert_eq!(rejected(&partial(0, "")), (0, String::new()));
    assert_eq!(rejected(b""), (0, String::new()));
    assert_eq!(rejected(b"<html>no</html>"), (0, String::new()));
}
