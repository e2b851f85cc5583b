use proptest::prelude::*;

use super::*;

#[test]
fn scales_have_zero_and_all_values_in_easy_steps() {
    let scale = Scale::of([3.0, 47.0].into_iter());
    assert_eq!((scale.low, scale.high, scale.step), (0.0, 50.0, 10.0));
    assert_eq!(scale.marks().count(), 6);
    let below = Scale::of([-0.3, 0.1].into_iter());
    assert!(below.low <= -0.3 && below.high >= 0.1, "{below:?}");
    assert!(below.at(0.0).is_some_and(|place| place > 0.0 && place < 1.0));
    assert!(Scale::of([0.0].into_iter()).at(0.0).is_some());
}

#[test]
fn powers_of_ten_hold_all_values() {
    let scale = Scale::logarithmic([12.0, 1_740.0].into_iter());
    assert_eq!((scale.low, scale.high, scale.step), (10.0, 10_000.0, 10.0));
    let marks: Vec<String> = scale.marks().map(|mark| scale.label(mark)).collect();
    assert_eq!(marks, ["10", "100", "1,000", "10,000"]);
    let place = scale.at(100.0).unwrap();
    assert!((place - 1.0 / 3.0).abs() < 1e-9, "{place}");
    assert_eq!(scale.at(0.0), None, "zero is nowhere");
    assert_eq!(scale.at(-1.0), None);
}

#[test]
fn nothing_at_all_still_has_a_scale() {
    let none = Scale::logarithmic([0.0, f64::NAN].into_iter());
    assert_eq!((none.low, none.high), (1.0, 10.0));
    let none = Scale::of(std::iter::empty());
    assert_eq!(none.at(0.0), Some(0.0));
}

#[test]
fn numbers_on_a_scale_have_the_digits_of_its_steps() {
    assert_eq!(plain(35_000.0, 5_000.0), "35,000");
    assert_eq!(plain(-2.0, 1.0), "-2");
    assert_eq!(plain(0.5, 0.5), "0.5");
    assert_eq!(plain(1e-17, 0.05), "0.00");
    assert_eq!(plain(0.002, 0.001), "0.002");
}

proptest! {
    #[test]
    fn every_value_is_on_its_scale(values in prop::collection::vec(1e-6_f64..1e12, 1..20)) {
        for scale in [Scale::of(values.iter().copied()), Scale::logarithmic(values.iter().copied())]
        {
            for value in &values {
                let place = scale.at(*value).unwrap();
                prop_assert!((-1e-9..=1.0 + 1e-9).contains(&place), "{value} {scale:?}");
            }
            prop_assert!((2..=13).contains(&scale.marks().count()), "{scale:?}");
        }
    }
}
