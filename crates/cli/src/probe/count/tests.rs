use super::*;

#[test]
fn up_to_a_millisecond_each_microsecond_counts() {
    for time in 0..=EXACT {
        assert_eq!(micros(place(time)), time);
    }
}

#[test]
fn places_are_in_order_and_close_to_the_time() {
    let powers = (0..60).flat_map(|bit| [(1 << bit) - 1, 1 << bit, 3 << bit]);
    for time in (0..20_000).chain(powers) {
        let found = micros(place(time));
        assert!(found <= time && time - found <= time / STEPS, "{time} is told as {found}");
    }
    assert!((0..20_000).map(place).is_sorted());
    // The longest there is takes a few thousand places.
    assert!(place(u64::MAX) < 6000);
}

#[test]
fn quantiles_are_those_of_the_sorted_times() {
    let mut times = Times::default();
    for time in (1..=100).rev() {
        times.add(time);
    }
    let found = [0.0, 0.01, 0.5, 0.99, 1.0].map(|share| times.quantile(share));
    assert_eq!(found, [1, 1, 50, 99, 100]);
}

#[test]
fn of_one_time_every_quantile_is_that_time() {
    let mut times = Times::default();
    times.add(7);
    assert_eq!([0.5, 0.99, 1.0].map(|share| times.quantile(share)), [7, 7, 7]);
    assert_eq!(Times::default().quantile(0.5), 0, "there may be none");
}

#[test]
fn only_what_was_found_is_told() {
    let verdicts = Verdicts { open: 2, filtered: 1, ..Verdicts::default() };
    assert_eq!(found(&verdicts), "2 open, 1 filtered");
    let verdicts = Verdicts { closed: 1, unreachable: 3, error: 4, ..Verdicts::default() };
    assert_eq!(found(&verdicts), "1 closed, 3 unreachable, 4 not asked");
}
