use proptest::prelude::*;

use super::*;

/// The waits of all questions that are planned.
fn waits(plan: Plan) -> Vec<Duration> {
    (0..plan.attempts()).map(|attempt| plan.wait(attempt)).collect()
}

#[test]
fn the_waits_of_the_default_plan_double_and_are_a_second_together() {
    let waits = waits(Plan::default());
    let expected = [142_857_142, 285_714_284, 571_428_574].map(Duration::from_nanos);
    assert_eq!(waits, expected);
    assert_eq!(waits.iter().sum::<Duration>(), Duration::from_secs(1));
}

#[test]
fn without_retries_there_is_one_question_and_it_has_all_the_time() {
    let plan = Plan::new(Duration::from_millis(250), 0);
    assert_eq!((plan.attempts(), plan.wait(0)), (1, Duration::from_millis(250)));
}

#[test]
fn timeout_and_retries_are_brought_into_their_bounds() {
    let plan = Plan::new(Duration::MAX, u8::MAX);
    assert_eq!((plan.timeout(), plan.attempts()), (Duration::from_secs(3600), ATTEMPTS_MAX));
    let least = Plan::new(Duration::ZERO, 0);
    assert_eq!(
        (least.timeout(), least.attempts(), least.wait(0)),
        (Duration::ZERO, 1, least.timeout())
    );
}

proptest! {
    #[test]
    fn the_waits_are_the_timeout_and_each_is_twice_the_one_before(
        nanos in 0..=3_600_000_000_000_u64,
        retries in 0..ATTEMPTS_MAX,
    ) {
        let plan = Plan::new(Duration::from_nanos(nanos), retries);
        prop_assert_eq!(plan.attempts(), retries + 1);
        let waits = waits(plan);
        prop_assert_eq!(waits.iter().sum::<Duration>(), Duration::from_nanos(nanos));
        for (at, pair) in waits.windows(2).enumerate() {
            // What does not divide evenly is given to the last.
            let is_last = at + 2 == waits.len();
            let rest = Duration::from_nanos(if is_last { 1 << waits.len() } else { 0 });
            prop_assert!(pair[1] >= pair[0] * 2 && pair[1] <= pair[0] * 2 + rest, "{waits:?}");
        }
    }

    #[test]
    fn questions_beyond_the_plan_wait_as_long_as_the_first(
        millis in 0..=3_600_000_u64,
        retries in 1..ATTEMPTS_MAX,
        beyond: u8,
    ) {
        let plan = Plan::new(Duration::from_millis(millis), retries);
        let attempt = plan.attempts().saturating_add(beyond);
        prop_assert_eq!(plan.wait(attempt), plan.wait(0));
    }
}
