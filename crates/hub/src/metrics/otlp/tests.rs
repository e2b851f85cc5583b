use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use prost::Message;
use tokio::sync::{mpsc, oneshot};

use super::{Failure, Otlp};
use crate::metrics::{Metrics, Warn, exposition::tests::sample};

/// What the receiver answers, in turn; then always 200.
type Answers = Arc<Mutex<VecDeque<Response>>>;
type Received = mpsc::UnboundedSender<ExportMetricsServiceRequest>;

/// A receiver of OTLP on loopback.
struct Collector {
    otlp: Otlp,
    received: mpsc::UnboundedReceiver<ExportMetricsServiceRequest>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    async fn new(answers: Vec<Response>) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let answers: Answers = Arc::new(Mutex::new(answers.into()));
        let router = Router::new()
            .route("/base/v1/metrics", post(receive))
            .layer(axum::extract::DefaultBodyLimit::max(20 << 20))
            .with_state((answers, sender));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        let receiver = format!("http://{address}/base").parse().expect("a receiver");
        let interval = Duration::from_millis(1);
        let otlp = Otlp { receiver, interval, host_name: "host-7".to_owned() };
        Self { otlp, received, warnings: Arc::default() }
    }

    fn warn(&self) -> Warn {
        let warnings = Arc::clone(&self.warnings);
        Arc::new(move |text| warnings.lock().expect("warnings").push(text.to_owned()))
    }

    fn warned(&self) -> Vec<String> {
        self.warnings.lock().expect("warnings").clone()
    }
}

async fn receive(
    State((answers, received)): State<(Answers, Received)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert!(headers["host"].to_str().expect("a host").starts_with("127.0.0.1:"));
    let request = ExportMetricsServiceRequest::decode(body).expect("a request");
    let answer = answers.lock().expect("answers").pop_front();
    // The test may have seen enough.
    let _ = received.send(request);
    answer.unwrap_or_else(|| StatusCode::OK.into_response())
}

/// One of the page's lines.
fn number(metrics: &Metrics, name: &str) -> Option<u64> {
    let start = format!("{name} ");
    let page = metrics.exposition();
    page.lines().find_map(|line| line.strip_prefix(&start)).and_then(|value| value.parse().ok())
}

#[tokio::test]
async fn exports_arrive_again_and_again_and_once_more_at_the_end() {
    let mut collector = Collector::new(Vec::new()).await;
    let metrics = sample();
    assert_eq!(number(&metrics, "portolan_otlp_export_count_total"), None);
    let (stop, stopped) = oneshot::channel::<()>();
    let run = collector.otlp.clone().run(metrics.clone(), collector.warn(), async {
        drop(stopped.await);
    });
    let run = tokio::spawn(run);
    for _ in 0..3 {
        let request = collector.received.recv().await.expect("an export");
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        assert!(metrics.iter().any(|metric| metric.name == "flow.io"));
    }
    stop.send(()).expect("it runs");
    run.await.expect("it ends");
    assert!(number(&metrics, "portolan_otlp_export_count_total") >= Some(3));
    assert_eq!(number(&metrics, "portolan_otlp_export_failure_total"), Some(0));
    assert!(collector.warned().is_empty(), "{:?}", collector.warned());
}

#[tokio::test]
async fn failures_are_counted_and_said_once_and_what_follows_tells_the_same() {
    let answers = vec![
        (StatusCode::BAD_REQUEST, "no").into_response(),
        (StatusCode::INTERNAL_SERVER_ERROR, "no").into_response(),
    ];
    let mut collector = Collector::new(answers).await;
    let metrics = sample();
    let run = collector.otlp.clone().run(metrics.clone(), collector.warn(), std::future::pending());
    let run = tokio::spawn(run);
    let mut requests = Vec::new();
    for _ in 0..4 {
        requests.push(collector.received.recv().await.expect("an export"));
    }
    run.abort();
    let io = |request: &ExportMetricsServiceRequest| {
        request.resource_metrics[0].scope_metrics[0].metrics[0].clone()
    };
    assert_eq!(io(&requests[0]), io(&requests[2]));
    assert_eq!(number(&metrics, "portolan_otlp_export_failure_total"), Some(2));
    let warned = collector.warned();
    assert_eq!(warned.len(), 2, "{warned:?}");
    assert!(warned[0].contains("it answers 400 Bad Request"), "{warned:?}");
    assert!(warned[1].contains("accepts metrics again"), "{warned:?}");
}

#[tokio::test]
async fn numbers_that_are_refused_are_counted_and_said() {
    let answer = [&[0x0a, 8, 8, 3, 0x12, 4][..], b"no\x1b!"].concat();
    let collector = Collector::new(vec![answer.into_response()]).await;
    let metrics = sample();
    metrics.count(|exports| &exports.exporters, 1);
    let exported = collector.otlp.export(&metrics, super::TIMEOUT, &collector.warn()).await;
    assert_eq!(exported, Ok(()));
    assert_eq!(number(&metrics, "portolan_otlp_rejected_total"), Some(3));
    let warned = collector.warned();
    assert!(warned[0].ends_with(r"rejected 3 of the numbers: no\u{1b}!"), "{warned:?}");
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_a_failure_that_passes() {
    let collector = Collector::new(Vec::new()).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("an address");
    let receiver = format!("http://{address}").parse().expect("a receiver");
    let otlp = Otlp { receiver, ..collector.otlp.clone() };
    // It accepts, and says nothing.
    let most = Duration::from_millis(50);
    let failure = otlp.export(&sample(), most, &collector.warn()).await.expect_err("no answer");
    assert!(failure.passes && failure.why.starts_with("no answer within"), "{failure:?}");
    // Bound, so that nobody else gets the port, and not listening.
    let bound = tokio::net::TcpSocket::new_v4().expect("a socket");
    bound.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let address = bound.local_addr().expect("an address");
    let receiver = format!("http://{address}").parse().expect("a receiver");
    let otlp = Otlp { receiver, ..otlp };
    let failure =
        otlp.export(&sample(), super::TIMEOUT, &collector.warn()).await.expect_err("refused");
    assert!(failure.passes && failure.why.starts_with("cannot connect: "), "{failure:?}");
}

#[tokio::test]
async fn what_is_no_otlp_is_a_failure_that_lasts() {
    let retry = (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", " 7 ")]).into_response();
    let moved = (StatusCode::FOUND, [("location", "http://192.0.2.1/")]).into_response();
    let collector = Collector::new(vec![retry, moved]).await;
    let mut otlp = collector.otlp.clone();
    let seven = Some(Duration::from_secs(7));
    let send = async |otlp: &Otlp| {
        otlp.export(&sample(), super::TIMEOUT, &collector.warn()).await.expect_err("a failure")
    };
    let failure = send(&otlp).await;
    assert_eq!((failure.passes, failure.retry_after), (true, seven));
    assert!(!send(&otlp).await.passes, "it is not followed elsewhere");
    let elsewhere = otlp.receiver.to_string().replace("/base", "");
    otlp.receiver = elsewhere.parse().expect("a receiver");
    let failure = send(&otlp).await;
    assert!(failure.why.contains("is OTLP received over HTTP there?"), "{failure:?}");
}

#[test]
fn waits_grow_to_a_minute_and_no_longer_than_asked() {
    let receiver = "http://127.0.0.1:4318".parse().expect("a receiver");
    let interval = Duration::from_secs(10);
    let otlp = Otlp { receiver, interval, host_name: String::new() };
    let passing = Failure::passing(String::new());
    let seconds = Duration::from_secs;
    for (failures, full) in [(1, 1), (2, 2), (3, 4), (7, 60), (32, 60), (40, 60), (u32::MAX, 60)] {
        let wait = otlp.wait_after(&passing, failures);
        assert!(wait >= seconds(full) / 2 && wait <= seconds(full), "{failures}: {wait:?}");
    }
    assert_eq!(otlp.wait_after(&Failure::lasting(String::new()), 5), interval);
    let asked =
        |asked| Failure { retry_after: Some(seconds(asked)), ..Failure::passing(String::new()) };
    assert_eq!(otlp.wait_after(&asked(0), 1), seconds(1));
    assert_eq!(otlp.wait_after(&asked(30), 1), seconds(30));
    assert_eq!(otlp.wait_after(&asked(u64::MAX), 1), seconds(300));
}
