use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const FEEDBACK: Duration = Duration::from_millis(100);
const FAST: Pace = Pace::Adaptive { per_second_max: 1e6 };

/// A number from a seed, for what need not be a law.
fn random(seed: &mut u64) -> u64 {
    // Splitmix64.
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Asks whenever it may until `end`; looks again up to `late_max` after the time that it was told.
fn ask_until(pacer: &mut Pacer, end: Duration, late_max: Duration) -> u64 {
    let (mut now, mut asked, mut seed) = (Duration::ZERO, 0, 1);
    while now < end {
        if pacer.take(now) {
            asked += 1;
            continue;
        }
        let ready_at = pacer.ready_at();
        assert!(ready_at > now, "a caller would wait for {ready_at:?} at {now:?} for ever");
        let late = random(&mut seed) % (u64::try_from(late_max.as_nanos()).unwrap() + 1);
        now = ready_at + Duration::from_nanos(late);
    }
    asked
}

/// How often an answer comes, and how often only to a repeated question.
#[derive(Clone, Copy)]
struct Path {
    answered: f64,
    late: fn(per_second: f64) -> f64,
}

impl Path {
    const SILENT: Self = Self { answered: 0.0, late: |_| 0.0 };
    const CLEAN: Self = Self { answered: 1.0, late: |_| 0.0 };
}

/// Asks as much as it may over this path, looking every 100 microseconds; the rate every
/// millisecond.
fn travel(pacer: &mut Pacer, path: Path, from: Duration, time: Duration) -> Vec<f64> {
    let (mut now, mut rates, mut seed) = (from, Vec::new(), 7);
    let share = |seed: &mut u64| (random(seed) >> 11) as f64 / (1_u64 << 53) as f64;
    while now < from + time {
        pacer.handle_time(now, FEEDBACK);
        while pacer.take(now) {
            if share(&mut seed) < path.answered {
                pacer.handle_answer(
                    share(&mut seed) >= (path.late)(pacer.per_second()),
                    Duration::ZERO,
                );
            }
        }
        now += Duration::from_micros(100);
        if now.subsec_micros().is_multiple_of(1000) {
            rates.push(pacer.per_second());
        }
    }
    rates
}

/// The least and the most, to show.
fn worst(rates: &[f64]) -> (f64, f64) {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (least, rates.iter().copied().fold(0.0, f64::max))
}

#[test]
fn without_a_limit_everything_may_be_asked_at_once() {
    let mut pacer = Pacer::new(Pace::Unlimited, SECOND);
    assert!((0..10_000).all(|_| pacer.take(SECOND)));
    assert!(pacer.ready_at() <= SECOND);
}

#[test]
fn a_fixed_rate_is_kept_and_never_exceeded() {
    // A timer that is late, as timers are, is made up for.
    for late_micros in [0, 50, 1000] {
        for rate in [1.0, 10.0, 400.0, 499.0, 501.0, 1000.0, 33_333.3, 1e5, 2e6] {
            let time = SECOND.mul_f64((2e4_f64 / rate).clamp(0.1, 100.0));
            let mut pacer = Pacer::new(Pace::Fixed(rate), Duration::ZERO);
            let late = Duration::from_micros(late_micros);
            let asked = ask_until(&mut pacer, time, late) as f64;
            let expected = rate * time.as_secs_f64();
            assert!(asked <= expected + 1.0, "{asked} at {rate}/s, {late:?} late");
            assert!(asked >= expected * 0.99 - 1.0, "{asked} at {rate}/s, {late:?} late");
        }
    }
}

#[test]
fn after_a_pause_a_fixed_rate_does_not_catch_up() {
    let mut pacer = Pacer::new(Pace::Fixed(1000.0), Duration::ZERO);
    assert!(pacer.take(Duration::ZERO));
    let asked = (0..100).filter(|_| pacer.take(SECOND * 60)).count();
    assert!((1..=3).contains(&asked), "{asked}");
}

#[test]
fn the_rate_stays_where_it_began_while_nobody_answers() {
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    let rates = travel(&mut pacer, Path::SILENT, Duration::ZERO, SECOND * 2);
    assert!(rates.iter().all(|&rate| rate == START), "{:?}", worst(&rates));
}

#[test]
fn the_rate_grows_to_its_bound_while_answers_come() {
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    let rates = travel(&mut pacer, Path::CLEAN, Duration::ZERO, SECOND);
    assert!(rates.is_sorted() && rates.contains(&20_000.0), "{:?}", worst(&rates));
    assert_eq!(rates.last(), Some(&1e6));
}

#[test]
fn a_path_where_one_in_ten_answers_is_grown_on_and_one_in_fifty_is_not() {
    for (answered, grows) in [(0.1, true), (0.02, false)] {
        let path = Path { answered, ..Path::CLEAN };
        let mut pacer = Pacer::new(FAST, Duration::ZERO);
        let rates = travel(&mut pacer, path, Duration::ZERO, SECOND);
        assert_eq!(
            rates.last().is_some_and(|&rate| rate > 2.0 * START),
            grows,
            "{:?}",
            worst(&rates)
        );
    }
}

#[test]
fn a_rate_that_was_not_used_up_does_not_grow() {
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    for milli in 0..1000 {
        let now = Duration::from_millis(milli);
        pacer.handle_time(now, FEEDBACK);
        assert!(pacer.take(now));
        pacer.handle_answer(true, Duration::ZERO);
    }
    assert_eq!(pacer.per_second(), START);
}

#[test]
fn the_rate_is_halved_when_loss_is_more_than_is_tolerated() {
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    for (late, rate) in [(0, START), (1, START), (2, START / 2.0)] {
        (0..100).for_each(|number| pacer.handle_answer(number >= late, Duration::ZERO));
        pacer.weigh_loss(SECOND);
        assert_eq!(pacer.per_second(), rate, "{late} of 100 are late");
    }
}

#[test]
fn few_answers_are_not_weighed() {
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    (1..ANSWERS_LEAST).for_each(|_| pacer.handle_answer(false, Duration::ZERO));
    pacer.weigh_loss(SECOND);
    assert_eq!(pacer.per_second(), START);
}

#[test]
fn a_rate_that_was_halved_in_vain_is_restored_and_the_loss_tolerated() {
    // A tenth is lost whatever the rate.
    let path = Path { answered: 1.0, late: |_| 0.1 };
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    let rates = travel(&mut pacer, path, Duration::ZERO, SECOND * 3);
    let last = rates.last().copied().unwrap_or_default();
    assert!(rates.is_sorted_by(|a, b| *b >= a / 2.0) && !rates.is_sorted(), "{:?}", worst(&rates));
    assert_eq!(last, 1e6, "{:?}", worst(&rates));
    assert!(pacer.loss.tolerated > 0.1);
}

#[test]
fn the_rate_before_comes_back_when_half_of_it_carries_so_much_less() {
    for (prompt_then, expected) in [(45, START), (67, START), (68, START / 2.0), (90, START / 2.0)]
    {
        let mut pacer = Pacer::new(FAST, Duration::ZERO);
        for (second, prompt) in [(1, 90), (2, prompt_then)] {
            (0..prompt + 10).for_each(|at| pacer.handle_answer(at >= 10, Duration::ZERO));
            pacer.weigh_loss(SECOND * second);
        }
        assert_eq!(pacer.per_second(), expected, "{prompt_then} prompt answers at half the rate");
    }
}

#[test]
fn where_a_lower_rate_helps_it_stays_near_what_the_path_carries() {
    // What is beyond 200,000 a second is lost.
    let path = Path { answered: 1.0, late: |rate| (1.0 - 200_000.0 / rate).max(0.0) };
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    let rates = travel(&mut pacer, path, Duration::ZERO, SECOND * 4);
    let after = &rates[1000..];
    assert!(after.iter().all(|&rate| rate > 50_000.0 && rate < 450_000.0), "{:?}", worst(after));
}

#[test]
fn a_path_that_gives_no_more_answers_is_not_asked_ever_faster() {
    // It drops what is beyond 50,000 a second, and nobody has asked again yet.
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    let (mut now, mut highest) = (Duration::ZERO, 0.0_f64);
    let mut carried = 0.0_f64;
    while now < SECOND / 4 {
        pacer.handle_time(now, SECOND);
        carried += 5.0;
        while pacer.take(now) {
            if carried >= 1.0 {
                carried -= 1.0;
                pacer.handle_answer(true, Duration::ZERO);
            }
        }
        carried = carried.min(5.0);
        now += Duration::from_micros(100);
        highest = highest.max(pacer.per_second());
    }
    assert!((80_000.0..=160_000.0).contains(&highest), "{highest}");
    assert!(pacer.per_second() <= 80_000.0, "{}", pacer.per_second());
}

#[test]
fn the_start_goes_by_round_trips() {
    let mut pacer = Pacer::new(FAST, Duration::ZERO);
    for micros in (0..250_000).step_by(100) {
        let now = Duration::from_micros(micros);
        pacer.handle_time(now, SECOND);
        while pacer.take(now) {
            pacer.handle_answer(true, Duration::from_millis(80));
        }
    }
    // Three or four of them.
    assert!((4.0 * START..=16.0 * START).contains(&pacer.per_second()), "{}", pacer.per_second());
}

#[test]
fn loss_never_brings_the_rate_below_the_least() {
    for max in [1e6, 500.0] {
        let mut pacer = Pacer::new(Pace::Adaptive { per_second_max: max }, Duration::ZERO);
        for late in 1..=50 {
            // Each time worse than before by far less than what would be in vain.
            (0..2000).for_each(|number| pacer.handle_answer(number >= 1000 / late, Duration::ZERO));
            pacer.weigh_loss(SECOND);
            assert!(pacer.per_second() >= LEAST.min(max), "{}", pacer.per_second());
        }
    }
}

#[test]
fn an_adaptive_rate_below_the_usual_burst_is_not_exceeded_either() {
    let mut pacer = Pacer::new(Pace::Adaptive { per_second_max: 10.0 }, Duration::ZERO);
    let first = (0..1000).filter(|_| pacer.take(Duration::ZERO)).count();
    let asked = (0..1000).filter(|_| pacer.take(SECOND * 60)).count();
    assert!(first <= 10 && asked <= 10, "a second's worth after a pause, not {asked}");
}

#[test]
fn numbers_that_are_no_rates_do_no_harm() {
    let odd = [0.0, -0.0, -1.0, 0.5, 1e-300, 1e9, 1e300, f64::INFINITY, -f64::INFINITY, f64::NAN];
    for rate in odd {
        for pace in [Pace::Fixed(rate), Pace::Adaptive { per_second_max: rate }] {
            let mut pacer = Pacer::new(pace, Duration::ZERO);
            for milli in [0, 0, 1, 2, 2, 10, 1000, 3_600_000] {
                let now = Duration::from_millis(milli);
                pacer.handle_time(now, Duration::ZERO);
                for _ in 0..1000 {
                    if pacer.take(now) {
                        pacer.handle_answer(true, Duration::ZERO);
                    }
                }
                let ready_at = pacer.ready_at();
                assert!(
                    ready_at >= now || pacer.credit >= 1.0,
                    "{pace:?}: {ready_at:?} at {now:?}"
                );
                assert!(pacer.per_second() > 0.0 && pacer.credit.is_finite(), "{pacer:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn whoever_waits_as_long_as_told_may_ask(
        exponent in -1.0..7.0_f64,
        pauses in prop::collection::vec(0..2_000_000_u64, 1..50),
    ) {
        let mut pacer = Pacer::new(Pace::Fixed(10_f64.powf(exponent)), Duration::ZERO);
        let mut now = Duration::ZERO;
        for pause in pauses {
            while pacer.take(now) {}
            let ready_at = pacer.ready_at();
            prop_assert!(ready_at > now);
            now = ready_at;
            prop_assert!(pacer.take(now), "not at {now:?}, though told so: {pacer:?}");
            now += Duration::from_nanos(pause);
        }
    }
}
