use super::*;

#[test]
fn of_nothing_there_is_no_spread() {
    assert_eq!(Spread::of([]), None);
}

#[test]
fn the_order_of_the_values_does_not_matter() {
    let expected = Some(Spread { median: 3, min: 1, max: 9 });
    assert_eq!(Spread::of([1, 3, 9]), expected);
    assert_eq!(Spread::of([9, 1, 3]), expected);
}

#[test]
fn of_an_even_number_the_middle_two_count() {
    assert_eq!(Spread::of([1, 2, 5, 100]).map(|spread| spread.median), Some(3));
    assert_eq!(Spread::of([4, 6]).map(|spread| spread.median), Some(5));
    assert_eq!(Spread::of([u64::MAX, u64::MAX - 2]).map(|s| s.median), Some(u64::MAX - 1));
}

#[test]
fn one_disturbed_run_does_not_move_the_median() {
    let calm = Spread::of([10, 11, 12]).map(|spread| spread.median);
    let disturbed = Spread::of([10, 11, 12_000]).map(|spread| spread.median);
    assert_eq!(calm, disturbed);
}

#[test]
fn a_ratio_needs_a_baseline() {
    assert_eq!(ratio(3, 2), Some(1.5));
    assert_eq!(ratio(0, 2), Some(0.0));
    assert_eq!(ratio(3, 0), None);
}

#[test]
fn real_numbers_have_a_spread_too() {
    let spread = RealSpread::of([3.5, 1.0, 2.0, 2.5]).unwrap();
    assert_eq!(spread, RealSpread { median: 2.25, min: 1.0, max: 3.5 });
    assert_eq!(RealSpread::of([7.0]).unwrap().median, 7.0);
    assert_eq!(RealSpread::of([]), None);
}
