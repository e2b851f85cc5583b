use core::time::Duration;
use std::{collections::BTreeMap, vec::Vec};

use proptest::prelude::*;

use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_hours(24);

/// What happens to a wheel.
#[derive(Clone, Debug)]
enum Step {
    Set(u32, Duration),
    Cancel(u32),
    /// Time goes on; of the keys that are due, those below the number are set again, so much later.
    Advance(Duration, u32, Duration),
}

fn durations() -> impl Strategy<Value = Duration> {
    let micros = prop_oneof![
        Just(0),
        0..2_000_u64,
        (0..200_u64).prop_map(|millis| millis * 1_000),
        0..10_000_000_u64,
        0..7_200_000_000_u64,
        0..20 * 86_400_000_000_u64,
        (0..60_u32).prop_map(|bits| 1 << bits),
    ];
    micros.prop_map(Duration::from_micros)
}

fn steps() -> impl Strategy<Value = Step> {
    let key = 0..40_u32;
    prop_oneof![
        4 => (key.clone(), durations()).prop_map(|(key, after)| Step::Set(key, after)),
        1 => key.prop_map(Step::Cancel),
        2 => (durations(), 0..40_u32, durations())
            .prop_map(|(by, keys, after)| Step::Advance(by, keys, after + MILLISECOND)),
    ]
}

fn rounded_up(at: Instant) -> Instant {
    Instant::from_micros(at.as_micros().div_ceil(1_000).saturating_mul(1_000))
}

fn check(wheel: &Wheel, model: &BTreeMap<u32, Instant>) {
    assert_eq!(wheel.len(), model.len());
    assert_eq!(wheel.is_empty(), model.is_empty());
    for key in 0..41 {
        assert_eq!(wheel.deadline(key), model.get(&key).copied(), "key {key}");
    }
    match (wheel.next(), model.values().min()) {
        (Some(next), Some(earliest)) => assert!(next <= *earliest, "{next:?} > {earliest:?}"),
        (next, earliest) => assert_eq!(next, earliest.copied()),
    }
}

proptest! {
    #[test]
    fn does_what_a_sorted_map_does(
        begin in prop_oneof![Just(0), any::<u32>().prop_map(u64::from), 0..1_u64 << 62],
        steps in prop::collection::vec(steps(), 1..80),
    ) {
        let mut now = Instant::from_micros(begin);
        let mut wheel = Wheel::new(now);
        let mut model = BTreeMap::new();
        for step in steps {
            match step {
                Step::Set(key, after) => {
                    wheel.set(key, now + after);
                    model.insert(key, rounded_up(now + after));
                }
                Step::Cancel(key) => {
                    wheel.cancel(key);
                    model.remove(&key);
                }
                Step::Advance(by, again_below, after) => {
                    now += by;
                    while let Some(key) = wheel.pop(now) {
                        let deadline = model.remove(&key).expect("only keys that are set are due");
                        prop_assert!(deadline <= now);
                        if key < again_below {
                            wheel.set(key, now + after);
                            model.insert(key, rounded_up(now + after));
                        }
                        check(&wheel, &model);
                    }
                    prop_assert!(model.values().all(|deadline| *deadline > now));
                    prop_assert!(wheel.next().is_none_or(|next| next > now));
                }
            }
            check(&wheel, &model);
        }
    }
}

#[test]
fn is_due_at_its_time_and_less_than_a_millisecond_later() {
    let mut wheel = Wheel::new(Instant::ZERO);
    wheel.set(3, Instant::from_micros(1_001));
    assert_eq!(wheel.next(), Some(Instant::from_micros(2_000)));
    assert_eq!(wheel.pop(Instant::from_micros(1_999)), None);
    assert_eq!(wheel.pop(Instant::from_micros(2_000)), Some(3));
    wheel.set(3, Instant::from_micros(3_000));
    assert_eq!(wheel.pop(Instant::from_micros(2_999)), None);
    assert_eq!(wheel.pop(Instant::from_micros(3_000)), Some(3));
    assert_eq!(wheel.next(), None);
}

#[test]
fn a_moment_that_has_passed_is_due_at_once() {
    let now = Instant::ZERO + 3 * DAY;
    let mut wheel = Wheel::new(now);
    assert_eq!(wheel.pop(now), None);
    wheel.set(0, now - DAY);
    assert!(wheel.next().is_some_and(|next| next <= now));
    assert_eq!(wheel.pop(now), Some(0));
    // A clock that goes back changes nothing.
    wheel.set(0, now + MILLISECOND);
    assert_eq!(wheel.pop(now - DAY), None);
    assert_eq!(wheel.pop(now + MILLISECOND), Some(0));
}

#[test]
fn the_last_moment_that_there_is_can_be_set() {
    let end = Instant::from_micros(u64::MAX);
    let mut wheel = Wheel::new(Instant::ZERO);
    wheel.set(0, end);
    wheel.set(1, end - Duration::from_secs(1));
    assert_eq!(wheel.pop(end), Some(1));
    assert_eq!(wheel.pop(end), None);
    assert_eq!(wheel.deadline(0), Some(end));
}

#[test]
fn a_set_key_is_due_once_when_it_was_set_twice() {
    let mut wheel = Wheel::new(Instant::ZERO);
    wheel.set(5, Instant::ZERO + DAY);
    wheel.set(5, Instant::ZERO + MILLISECOND);
    assert_eq!(wheel.len(), 1);
    let late = Instant::ZERO + 2 * DAY;
    assert_eq!(wheel.pop(late), Some(5));
    assert_eq!(wheel.pop(late), None);
}

#[test]
#[should_panic(expected = "keys are indices below 2147483648")]
fn a_key_that_is_no_index_is_refused() {
    Wheel::new(Instant::ZERO).set(KEYS_MAX, Instant::ZERO);
}

/// No call does more than a bounded piece of work, not even after a leap to where a lot is due.
#[test]
fn many_equal_deadlines_come_in_pieces() {
    const KEYS: u32 = 50_000;
    let mut wheel = Wheel::new(Instant::ZERO);
    let at = Instant::ZERO + Duration::from_hours(2);
    for key in 0..KEYS {
        wheel.set(key, at);
    }
    let now = at + DAY;
    let mut due = std::vec![false; KEYS as usize];
    let mut pauses = 0;
    while !wheel.is_empty() {
        let before = wheel.steps;
        let key = wheel.pop(now);
        assert!(wheel.steps - before <= 2 * u64::from(MOVES_MAX) + 1);
        match key {
            Some(key) => assert!(!core::mem::replace(&mut due[key as usize], true)),
            None => pauses += 1,
        }
        assert!(wheel.next().is_none_or(|next| next <= now), "there is more to do");
    }
    assert!(due.iter().all(|due| *due));
    assert!((1..=KEYS / MOVES_MAX * (LEVELS as u32 - 1)).contains(&pauses), "{pauses} pauses");
}

/// While keys move to finer levels, they can be set and cancelled.
#[test]
fn keys_change_while_others_move() {
    const KEYS: u32 = 5_000;
    let mut wheel = Wheel::new(Instant::ZERO);
    let at = Instant::ZERO + Duration::from_hours(2);
    (0..KEYS).for_each(|key| wheel.set(key, at));
    assert_eq!(wheel.pop(at), None);
    assert!(wheel.moving.is_some());
    (0..KEYS).step_by(2).for_each(|key| wheel.cancel(key));
    (0..KEYS).step_by(4).for_each(|key| wheel.set(key, at + MILLISECOND));
    let mut due = Vec::new();
    while wheel.next().is_some_and(|next| next <= at) {
        due.extend(wheel.pop(at));
    }
    due.sort_unstable();
    assert_eq!(due, (0..KEYS).filter(|key| key % 2 == 1).collect::<Vec<_>>());
    assert_eq!(wheel.len(), KEYS as usize / 4);
}

/// While keys move to finer levels, those that did not move yet may be the earliest.
#[test]
fn the_next_moment_is_right_while_keys_move() {
    let mut wheel = Wheel::new(Instant::ZERO);
    let earliest = Instant::ZERO + 65 * MILLISECOND;
    wheel.set(0, earliest);
    (1..=2_000).for_each(|key| wheel.set(key, earliest + 50 * MILLISECOND));
    assert_eq!(wheel.pop(earliest), None);
    assert!(wheel.next().is_some_and(|next| next <= earliest));
    assert_eq!(wheel.pop(earliest), Some(0));
}

/// The steps that 2,000 connections with traffic cost, among so many that are idle.
fn steps_of_the_busy(idle: u32) -> u64 {
    let mut now = Instant::ZERO;
    let mut wheel = Wheel::new(now);
    for key in 0..idle {
        wheel.set(2_000 + key, now + DAY + Duration::from_millis(u64::from(key) * 7));
    }
    let before = wheel.steps;
    for round in 0..100 {
        for key in 0..2_000 {
            if key % 3 == round % 3 {
                wheel.set(key, now + Duration::from_millis(200 + u64::from(key % 50)));
            } else if key % 7 == round % 7 {
                wheel.cancel(key);
            }
        }
        now += Duration::from_millis(40);
        while wheel.pop(now).is_some() {}
    }
    wheel.steps - before
}

#[test]
fn the_cost_does_not_depend_on_idle_timers() {
    let alone = steps_of_the_busy(0);
    assert_eq!(alone, steps_of_the_busy(100));
    assert_eq!(alone, steps_of_the_busy(200_000));
}

#[test]
fn the_cost_of_a_deadline_is_bounded_by_the_levels() {
    // From one microsecond to years: each is set, waits while time creeps, and is due.
    let mut wheel = Wheel::new(Instant::ZERO);
    let keys = 50;
    for key in 0..keys {
        wheel.set(key, Instant::from_micros(1 << key));
    }
    let mut now = Instant::ZERO;
    let mut calls = 0;
    while let Some(next) = wheel.next() {
        assert!(next > now || calls == 0);
        now = now.max(next);
        while wheel.pop(now).is_some() {}
        calls += 1;
    }
    assert!(wheel.steps <= u64::from(keys) * 2 * LEVELS as u64, "{} steps", wheel.steps);
    assert!(calls <= keys * LEVELS as u32, "{calls} calls");
}

#[test]
fn allocates_nothing_after_growth() {
    let mut wheel = Wheel::new(Instant::ZERO);
    wheel.reserve(1_000);
    let allocated = allocation_counter::measure(|| {
        let mut now = Instant::ZERO;
        for round in 0..20_u64 {
            for key in 0..1_000 {
                wheel.set(key, now + Duration::from_millis(u64::from(key) * round));
            }
            now += Duration::from_millis(3_000);
            while wheel.pop(now).is_some() {}
        }
    });
    assert_eq!(allocated.count_total, 0);
}
