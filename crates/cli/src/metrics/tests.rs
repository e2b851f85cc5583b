use std::net::TcpListener;

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Only {
    #[command(flatten)]
    metrics: MetricsArgs,
}

fn check(flags: &str) -> anyhow::Result<Option<Wanted>> {
    let words = std::iter::once("trace").chain(flags.split_whitespace());
    Only::try_parse_from(words)?.metrics.check()
}

fn wanted(flags: &str) -> Wanted {
    check(flags).expect(flags).unwrap_or_else(|| panic!("{flags} asks for metrics"))
}

fn error(flags: &str) -> String {
    match check(flags).and_then(|wanted| wanted.map(Wanted::bind).transpose()) {
        Ok(bound) => panic!("{flags} was taken as {bound:?}"),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn nobody_is_told_unless_asked_for() {
    assert!(check("").expect("valid").is_none());
}

#[test]
fn without_further_flags_they_are_as_documented() {
    let wanted = wanted("--metrics 127.0.0.1:9464 --otlp http://localhost:4318");
    assert_eq!(wanted.listen, Some(SocketAddr::from(([127, 0, 0, 1], 9464))));
    let Settings { series_max, idle, units, containers, .. } = wanted.settings;
    assert_eq!((series_max, idle), (2_000, Duration::from_hours(1)));
    assert_eq!((units, containers), (false, false));
    let otlp = wanted.otlp.expect("a receiver");
    assert_eq!(otlp.receiver.to_string(), "http://localhost:4318/v1/metrics");
    assert_eq!(otlp.interval, Duration::from_secs(10));
}

#[test]
fn each_flag_has_its_effect() {
    let many = wanted(
        "--metrics [::1]:0 --metrics-series-max 7 --metrics-idle 5m \
         --metrics-labels unit,container --metrics-fold 10.0.0.0/8=/24 --metrics-fold ::/0=/32",
    );
    let Settings { series_max, idle, units, containers, .. } = many.settings;
    assert_eq!((series_max, idle), (7, Duration::from_mins(5)));
    assert_eq!((units, containers), (true, true));
    assert!(many.otlp.is_none());
    let otlp = wanted("--otlp http://[::1]:4318 --otlp-interval 500ms").otlp;
    assert_eq!(otlp.expect("a receiver").interval, Duration::from_millis(500));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (flags, message) in [
        ("--metrics 9464", "--metrics 9464 is not ADDRESS:PORT"),
        ("--metrics 0.0.0.0:0", "only loopback may read it"),
        ("--otlp https://127.0.0.1:4318", "no TLS"),
        ("--otlp 127.0.0.1:4318", "write http://HOST:PORT"),
        ("--metrics-idle 1h", "--metrics <ADDRESS:PORT>|--otlp <URL>"),
        ("--metrics-labels unit", "--metrics <ADDRESS:PORT>|--otlp <URL>"),
        ("--metrics 127.0.0.1:0 --otlp-interval 5s", "--otlp <URL>"),
        ("--metrics 127.0.0.1:0 --metrics-labels pod", "possible values: unit, container"),
        ("--metrics 127.0.0.1:0 --metrics-fold 10.0.0.0/8=24", "neither /PREFIX nor keep"),
        ("--metrics 127.0.0.1:0 --metrics-series-max 0", "not in 1..=1000000"),
        ("--metrics 127.0.0.1:0 --metrics-idle 0s", "longer than 0s"),
        ("--otlp http://127.0.0.1:1 --otlp-interval 1ms", "between 100ms and 1h"),
    ] {
        let error = error(flags);
        assert!(error.contains(message), "{flags}: {error}");
    }
}

#[test]
fn a_port_in_use_is_an_error_at_the_start() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address");
    let error = error(&format!("--metrics {address}"));
    assert!(error.contains(&format!("cannot serve metrics on {address}")), "{error}");
    assert!(error.contains("another program uses the port"), "{error}");
}

#[test]
fn who_looks_at_readings_is_told_what_the_metrics_lack() {
    let start = |is_counted| {
        let bound = wanted("--metrics 127.0.0.1:0").bind().expect("a port");
        bound.start(is_counted, Shown::WithReadings).expect("a thread")
    };
    let snapshot = start(false);
    let warnings = snapshot.feed().warnings();
    assert!(warnings[0].contains("only flow.connection.active"), "{warnings:?}");
    snapshot.stop();
    let counted = start(true);
    let feed = counted.feed();
    assert_eq!(feed.warnings(), Vec::<String>::new());
    *lock(&feed.notice) = Some("metrics were not sent".to_owned());
    assert_eq!(feed.warnings(), ["metrics were not sent"]);
    assert!(counted.place().expect("it is served").starts_with("metrics on http://127.0.0.1:"));
    counted.stop();
}
