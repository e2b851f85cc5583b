use portolan_flow::Totals;

use super::*;
use crate::trace::sample::{flow, opened};

#[test]
fn numbers_are_short() {
    for (value, expected) in [
        (0.0, "0"),
        (0.02, "<0.1"),
        (0.1, "0.1"),
        (3.0, "3"),
        (3.44, "3.4"),
        (9.94, "9.9"),
        (9.96, "10"),
        (120.4, "120"),
        (999.4, "999"),
        (999.6, "1.0k"),
        (3400.0, "3.4k"),
        (34_000.0, "34k"),
        (999_600.0, "1.0M"),
        (340e6, "340M"),
        (2.5e9, "2.5G"),
        (7e18, "7000P"),
        (-1.0, "0"),
    ] {
        assert_eq!(number(value), expected, "{value}");
    }
    for (us, expected) in [
        (0, "0us"),
        (999, "999us"),
        (1_000, "1.0ms"),
        (9_949, "9.9ms"),
        (9_950, "10ms"),
        (999_499, "999ms"),
        (999_500, "1.0s"),
        (9_950_000, "10s"),
        (120_000_000, "120s"),
    ] {
        assert_eq!(time(us), expected, "{us}");
    }
}

#[test]
fn rates_are_of_what_both_ends_saw_together() {
    let mut flow = flow("psql", "postgres", 5432, opened(4));
    let traffic = flow.traffic.as_mut().expect("traced");
    traffic.span_ms = 2000;
    // The other end's view of the same.
    traffic.passive =
        Totals { opened: 4, bytes_sent: 8000, bytes_received: 400, ..Totals::default() };
    let figures = Figures::of(&flow);
    assert_eq!((figures.opened, figures.to_server, figures.to_client), (2.0, 200.0, 4000.0));
    assert_eq!((figures.up, figures.rtt_us), (2, Some(85)));
    assert_eq!(figures.failures(), "");
}

#[test]
fn failures_have_reasons() {
    let totals = Totals { refused: 3, timed_out: 1, ..Totals::default() };
    let figures = Figures::of(&flow("psql", "postgres", 5432, totals));
    assert_eq!(figures.failures(), "3 refused, 1 timed out");
    assert_eq!(figures.failed(), 4.0);
}

#[test]
fn what_is_not_counted_is_no_zero() {
    let mut flow = flow("psql", "postgres", 5432, opened(1));
    flow.traffic = None;
    let figures = Figures::of(&flow);
    assert_eq!(figures.counted(figures.opened), "-");
    assert_eq!(figures.up, 2);
}
