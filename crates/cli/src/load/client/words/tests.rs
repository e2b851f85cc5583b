use super::*;

fn summary() -> Summary {
    let vector = include_str!("../../../../../load/tests/client-v1.json");
    serde_json::from_str(vector).unwrap()
}

fn text(summary: &Summary) -> String {
    client(summary, &Measured::default())
}

#[test]
fn people_see_what_was_reached_and_what_failed() {
    let text = text(&summary());
    let first = "98 connections in 0.099 s: 990/s of 1000 asked (after 0.01 s of warm-up)\n";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains("  connect errors: 1 refused, 1 timed out\n"), "{text}");
    assert!(text.contains("connect ") && text.contains("first byte "), "{text}");
    assert!(text.contains("http://[::1]:9001/\n"), "{text}");
}

#[test]
fn people_see_what_is_the_bottleneck() {
    let slow = Summary { achieved_per_second: 899.0, ..summary() };
    assert!(text(&slow).contains("NOT KEPT UP"));
    let limited = |by| text(&Summary { limited_by: Some(by), waited: 7, ..slow.clone() });
    assert!(limited(Limit::Client).contains("the client is the bottleneck"));
    assert!(limited(Limit::Processors).contains("the processors are the bottleneck"));
    assert!(limited(Limit::Connections).contains("7 starts had to wait"));
}

#[test]
fn people_see_whether_all_were_held() {
    let held = Summary { mode: Mode::Hold, held: 100, verified: 99, ..summary() };
    assert!(text(&held).contains("100 held at once, 99 of 100 proved"), "{}", text(&held));
    assert!(text(&held).contains("NOT ALL"));
}

#[test]
fn times_are_a_picture() {
    let mut measured = Measured::default();
    for us in [3, 3, 3, 30, 3_000] {
        measured.request.record(Duration::from_micros(us));
    }
    let mode = Mode::Request;
    let text = client(&Summary { mode, ..summary() }, &measured);
    let bars: Vec<&str> = text.lines().filter(|line| line.starts_with("  <")).collect();
    assert_eq!(bars.len(), 10, "{text}");
    assert!(bars[0].starts_with("  <   5.0 us ████████████████████████████████████████"), "{text}");
    assert!(bars[0].ends_with("60.000 %") && bars[1].ends_with(" 0.000 %"), "{text}");
    assert!(bars[9].starts_with("  <  5.00 ms █████████████▍") && bars[9].ends_with("20.000 %"));
}

#[test]
fn times_have_a_unit_that_fits() {
    assert_eq!(
        [900, 1_500, 2_340_000, 5_000_000_000].map(time),
        ["0.9 us", "1.5 us", "2.34 ms", "5.00 s"]
    );
}
