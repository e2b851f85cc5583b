use std::time::Duration;

use super::*;

#[test]
fn the_page_has_the_pictures_and_the_numbers() {
    let vector = include_str!("../../../../../load/tests/client-v1.json");
    let summary: Summary = serde_json::from_str(vector).unwrap();
    let mut measured = Measured::default();
    for us in 1..500 {
        measured.request.record(Duration::from_micros(us));
    }
    let mut interval = Interval { seconds: 1.0, completed: 98, ..Interval::default() };
    interval.is_warm_up = true;
    interval.request_ns = measured.request.latency();
    let second = Interval { begin_seconds: 1.0, is_warm_up: false, ..interval.clone() };
    let page = page(&summary, &measured, &[interval, second]).html();
    assert!(page.contains("Load: connect 127.0.0.1:9000 and 1 more"), "{page}");
    assert!(page.matches("<svg").count() >= 4);
    for part in ["98 connections", "refused", "warm-up is over", "Intervals", "p99.9"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_tail_ends_with_the_longest() {
    let mut times = Times::default();
    for us in 1..=100 {
        times.record(Duration::from_micros(us));
    }
    let tail = tail(&times);
    assert!((tail[0].1 - 1.0).abs() < 0.01, "{tail:?}");
    let (one_of, last) = *tail.last().unwrap();
    assert!((one_of - 100.0).abs() < 1e-9 && (last - 100.0).abs() < 0.1, "{tail:?}");
}
