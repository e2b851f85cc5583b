use super::*;

#[test]
fn adding_adds_every_count() {
    let mut one = Totals::default();
    for (at, count) in one.counts_mut().into_iter().enumerate() {
        *count = at as u64 + 1;
    }
    let mut sum = one;
    sum.add(&one);
    assert_eq!(sum.counts(), one.counts().map(|count| 2 * count));
    assert_eq!(sum.failed(), 2 * (4 + 5 + 6 + 7));
}

#[test]
fn a_sum_without_samples_has_no_mean() {
    assert_eq!(Totals::default().rtt_us(), None);
    assert_eq!(Totals { rtt_us_sum: 30, rtt_samples: 2, ..Totals::default() }.rtt_us(), Some(15));
}

#[test]
fn what_both_ends_saw_counts_once() {
    let active = Totals { opened: 3, bytes_sent: 10, bytes_received: 70, ..Totals::default() };
    let passive = Totals { opened: 2, bytes_sent: 80, bytes_received: 9, ..Totals::default() };
    let traffic = Traffic { span_ms: 500, active, passive };
    assert_eq!(traffic.opened(), 3);
    assert_eq!((traffic.bytes_to_server(), traffic.bytes_to_client()), (10, 80));
    assert!((traffic.per_second(traffic.opened()) - 6.0).abs() < 1e-9);
}

#[test]
fn sums_of_edges_that_were_seen_from_either_end_lose_nothing() {
    let here = Totals { opened: 3, closed: 2, bytes_sent: 10, ..Totals::default() };
    let one = Traffic { span_ms: 500, active: here, ..Traffic::default() };
    let there = Totals { opened: 2, bytes_received: 9, retransmits: 1, ..Totals::default() };
    let other = Traffic { span_ms: 400, passive: there, ..Traffic::default() };
    let mut sum = one.counted_once();
    sum.add(&other.counted_once());
    assert_eq!((sum.span_ms, sum.opened(), sum.bytes_to_server()), (500, 5, 19));
    assert_eq!((sum.active.closed, sum.retransmits()), (2, 1));
}

#[test]
fn what_is_counted_once_says_the_same() {
    let active = Totals { opened: 3, closed: 1, duration_us_sum: 9, ..Totals::default() };
    let passive = Totals { closed: 2, duration_us_sum: 8, rtt_us_sum: 30, ..Totals::default() };
    let passive = Totals { rtt_samples: 2, bytes_sent: 7, datagrams_sent: 5, ..passive };
    let both = Traffic { span_ms: 1_000, active, passive };
    let once = both.counted_once();
    assert_eq!(once.counted_once(), once);
    assert_eq!((once.opened(), once.bytes_to_client(), once.rtt_us()), (3, 7, Some(15)));
    assert_eq!(once.active.datagrams_received, 5);
    // A mean's two parts are those of one end.
    assert_eq!((once.active.closed, once.active.duration_us_sum), (2, 8));
    assert!(!both.is_zero() && Traffic { span_ms: 1, ..Traffic::default() }.is_zero());
}
