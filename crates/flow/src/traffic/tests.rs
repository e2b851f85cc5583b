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
