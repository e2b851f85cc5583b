use portolan_flow::Totals;

use super::*;

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
