use proptest::prelude::*;

use super::*;

fn series(times: impl IntoIterator<Item = u32>) -> Series {
    Series { times_ns: times.into_iter().collect() }
}

#[test]
fn parts_are_the_whole() {
    let series = series(1..=100);
    let parts: Vec<Part> = series.parts(40).collect();
    assert_eq!(parts[0], Part { from: 0, count: 40, total_ns: 820, median_ns: 21 });
    assert_eq!(parts.iter().map(|part| part.count).collect::<Vec<_>>(), [40, 40, 20]);
    assert_eq!(parts.iter().map(|part| part.total_ns).sum::<u64>(), 5_050);
    assert_eq!(series.total(), Duration::from_nanos(5_050));
}

#[test]
fn the_ends_are_a_sixteenth_each() {
    let (first, last) = series(0..1_600).ends().unwrap();
    assert_eq!((first.from, first.count, first.total_ns), (0, 100, 4_950));
    assert_eq!((last.from, last.count, last.total_ns), (1_500, 100, 154_950));
    assert_eq!(series(0..15).ends(), None);
}

#[test]
fn the_cliff_is_where_it_is_whatever_single_calls_take() {
    // Some of the fast calls are as slow as the slow ones, as on a busy machine.
    let times = (0..40_000_u32).map(|nth| match nth {
        _ if nth % 11 == 0 => 2_000_000,
        0..20_000 => 12_000 + nth % 1_000,
        _ => 1_500_000 + nth % 1_000,
    });
    let cliff = series(times).cliff().unwrap();
    assert_eq!(cliff.after, 20_000);
    assert!((12_000..13_100).contains(&cliff.before_ns), "{cliff:?}");
    assert!((1_499_999..1_501_100).contains(&cliff.then_ns), "{cliff:?}");
}

#[test]
fn what_is_flat_or_falls_or_is_nothing_has_no_cliff() {
    assert_eq!(series((0..10_000).map(|nth| 10_000 + nth % 3_000)).cliff(), None);
    assert_eq!(
        series((0..10_000).map(|nth| if nth < 500 { 90_000 } else { 10_000 })).cliff(),
        None
    );
    assert_eq!(series([]).cliff(), None);
    assert_eq!(series([1, 2, 3]).cliff(), None);
    assert_eq!(series([0; 100]).cliff(), None);
}

proptest! {
    #[test]
    fn a_cliff_is_found_anywhere(
        at in 400_u32..9_600, low in 1_000_u32..50_000, factor in 5_u32..200,
    ) {
        let times = (0..10_000_u32).map(|nth| {
            let level = if nth < at { low } else { low * factor };
            level + level / 100 * (nth * 7_919 % 10)
        });
        let cliff = series(times).cliff().unwrap();
        // A part has 50 calls.
        prop_assert!(cliff.after.abs_diff(at.into()) <= 50, "{cliff:?}");
    }
}
