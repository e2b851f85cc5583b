use portolan_flow::Totals;

use super::*;
use crate::trace::sample::{flow, opened};

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
