use portolan_flow::Totals;

use super::*;

#[test]
fn numbers_are_short_and_have_a_unit() {
    let shorts = [(0.0, "0"), (0.01, "<0.1"), (0.44, "0.4"), (3.0, "3"), (9.96, "10")];
    let longer = [(120.4, "120"), (999.4, "999"), (999.6, "1k"), (12_345.0, "12k"), (2e9, "2G")];
    for (value, expected) in shorts.into_iter().chain(longer) {
        assert_eq!(short(value), expected, "{value}");
    }
    assert_eq!((size(48.0), size(1_200_000.0)), ("48 B".to_owned(), "1.2 MB".to_owned()));
    assert_eq!(size(9e18), "9000000 TB");
    let times = [(43, "43 us"), (100, "0.1 ms"), (12_345, "12 ms"), (999_499, "999 ms")];
    for (us, expected) in times.into_iter().chain([(999_500, "1 s"), (2_500_000, "2.5 s")]) {
        assert_eq!(time(us), expected);
    }
}

#[test]
fn rates_are_per_second_of_the_span() {
    let active = Totals { opened: 3, bytes_sent: 500, bytes_received: 1_000, ..Totals::default() };
    let half = Traffic { span_ms: 500, active, passive: Totals::default() };
    assert_eq!(parts(&half), ["6/s new", "3 kB/s"]);
    assert_eq!(cells(&half), ["6", "3 kB", ""]);
}

#[test]
fn what_did_not_happen_is_not_said() {
    let idle = Traffic { span_ms: 1_000, ..Traffic::default() };
    assert_eq!(parts(&idle), Vec::<String>::new());
    assert_eq!(cells(&idle), ["0", "0 B", ""]);
}

#[test]
fn each_way_to_fail_has_its_word() {
    let active = Totals {
        retransmits: 1,
        refused: 2,
        timed_out: 3,
        unreachable: 4,
        abandoned: 5,
        ..Totals::default()
    };
    let sum = Traffic { span_ms: 1_000, active, passive: Totals::default() };
    let failures = ["2 refused", "3 timed out", "4 unreachable", "5 abandoned"];
    assert_eq!(super::failures(&sum), failures);
    assert_eq!(troubles(&sum)[0], "1 retransmit");
    assert_eq!(troubles(&sum)[1..], failures);
}
