use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// All starts of a worker that is never late.
fn starts(mut schedule: Schedule) -> Vec<Duration> {
    let mut all = Vec::new();
    let mut now = Duration::ZERO;
    while let Some(at) = schedule.next(now) {
        now = now.max(at);
        all.push(at);
        schedule.advance();
    }
    all
}

#[test]
fn a_rate_fixes_the_moments() {
    let all = starts(Schedule::new(Some(4.0), None, Some(SECOND)));
    assert_eq!(all, [0, 250, 500, 750].map(Duration::from_millis));
}

#[test]
fn who_is_late_still_counts_from_when_it_was_meant() {
    let mut schedule = Schedule::new(Some(4.0), Some(100), Some(SECOND));
    let late = Duration::from_millis(900);
    assert_eq!(schedule.next(late), Some(Duration::ZERO));
    schedule.advance();
    assert_eq!(schedule.next(late), Some(Duration::from_millis(250)));
    assert_eq!(schedule.next(SECOND), None, "time is over");
    assert_eq!(schedule.planned(), Some(4));
}

#[test]
fn without_a_rate_it_is_always_time() {
    let mut schedule = Schedule::new(None, Some(2), None);
    assert_eq!(schedule.next(SECOND), Some(SECOND));
    schedule.advance();
    schedule.advance();
    assert_eq!(schedule.next(SECOND), None);
    assert_eq!(Schedule::new(None, None, Some(SECOND)).planned(), None);
}

#[test]
fn a_ramp_grows_from_nothing_to_the_rate() {
    let schedule = Schedule::new(Some(100.0), None, Some(4 * SECOND)).ramp(2 * SECOND);
    assert_eq!(schedule.planned(), Some(300), "half of the rate on average, then all of it");
    let all = starts(schedule.clone());
    let within = |from, until| all.iter().filter(|&&at| from <= at && at < until).count();
    assert_eq!(within(Duration::ZERO, SECOND), 25);
    assert_eq!(within(SECOND, 2 * SECOND), 75);
    assert_eq!(within(2 * SECOND, 3 * SECOND), 100);
    assert_eq!(schedule.due(Duration::ZERO, SECOND), Some(25.0));
    assert_eq!(schedule.due(2 * SECOND, 9 * SECOND), Some(200.0), "not after its end");
}

proptest! {
    /// The moments are those at which the area under the rate reaches whole numbers.
    #[test]
    fn moments_and_areas_agree(rate in 1.0..1e5, ramp_ms in 0_u64..5_000, count in 1_u64..200) {
        let ramp = Duration::from_millis(ramp_ms);
        let schedule = Schedule::new(Some(rate), Some(count), None).ramp(ramp);
        let all = starts(schedule.clone());
        prop_assert!(all.is_sorted());
        for (at, nth) in all.into_iter().zip(0_u32..) {
            let due = schedule.due(Duration::ZERO, at).unwrap();
            prop_assert!((due - f64::from(nth)).abs() < 1e-3, "{} {}", due, nth);
        }
    }

    #[test]
    fn shares_are_the_whole(rate in 1.0..1e6, count in 0_u64..500, of in 1_u64..9) {
        let whole = Schedule::new(Some(rate), Some(count), None);
        let mut shared: Vec<_> =
            (0..of).flat_map(|nth| starts(whole.clone().share(nth, of))).collect();
        shared.sort();
        prop_assert_eq!(shared, starts(whole));
    }
}
