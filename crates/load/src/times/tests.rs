use proptest::prelude::*;

use super::*;

fn times(of: &[u64]) -> Times {
    let mut times = Times::default();
    for &ns in of {
        times.record(Duration::from_nanos(ns));
    }
    times
}

#[test]
fn what_is_longer_is_counted() {
    let times = times(&[1_000, 2_000_000, 250_000_000, 260_000_000]);
    assert_eq!(times.longer_than(Duration::from_millis(200)), 2);
    assert_eq!(times.longer_than(Duration::ZERO), 4);
    assert_eq!(times.longer_than(Duration::from_secs(1)), 0);
}

#[test]
fn more_than_an_hour_is_an_hour() {
    let times = times(&[u64::MAX, 1]);
    assert_eq!((times.count(), times.longer_than(Duration::from_secs(3599))), (2, 1));
}

proptest! {
    /// Whatever way it is divided and sent, it is the same histogram.
    #[test]
    fn a_merge_is_exact(
        all in prop::collection::vec(0_u64..4_000_000_000_000, 0..200), cut in 0_usize..200,
    ) {
        let (one, other) = all.split_at(cut.min(all.len()));
        let (mut one, other) = (times(one), times(other));
        let line = serde_json::to_string(&other.sparse()).unwrap();
        let mut sent = one.clone();
        sent.add_sparse(&serde_json::from_str(&line).unwrap());
        one.add(&other);
        prop_assert_eq!(&one, &times(&all));
        prop_assert_eq!(&sent, &one);
        prop_assert_eq!(sent.latency(), one.latency());
    }
}
