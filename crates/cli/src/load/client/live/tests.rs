use super::*;

#[test]
fn blocks_are_as_high_as_logarithms() {
    assert_eq!(blocks(&[1_000, 2_000, 4_000, 128_000]), "▁▂▃█");
    assert_eq!(blocks(&[1_000, 1_010]), "▁▁", "the same, nearly");
    assert_eq!(blocks(&[0, 5, 0]), " ▁ ");
    assert_eq!(blocks(&[]), "");
}

#[test]
fn the_line_says_what_is_reached_and_what_fails() {
    let mut interval = Interval {
        completed_per_second: 12_345.4,
        asked_per_second: Some(20_000.0),
        open: 64,
        ..Interval::default()
    };
    interval.request_ns.p50 = 1_500;
    interval.request_ns.p99 = 2_340_000;
    let text = line(&interval, 0, "▁█");
    assert_eq!(text, "12,345 of 20,000/s, 64 open, p50 1.5 us, p99 2.34 ms ▁█");
    assert!(line(&interval, 2, "").ends_with(", 2 ERRORS"));
    interval.is_warm_up = true;
    assert!(line(&interval, 0, "").starts_with("warm-up, "));
}
