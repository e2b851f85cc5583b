use super::*;
use crate::{Figure, report::fixture};

const REQUEST: [Compared; 1] = [Compared { figure: "request", name: "added", by: By::Less }];

fn of(differences: &[f64]) -> Difference {
    Difference::of("added", "us", differences).unwrap()
}

#[test]
fn a_disturbance_of_one_round_does_not_move_the_mean() {
    let found = of(&[1.0, 1.0, 1.0, 1.0, 500.0]);
    assert_eq!((found.mean, found.rounds), (1.0, 5));
}

#[test]
fn few_rounds_have_a_mean_and_no_bounds() {
    assert_eq!(of(&[2.0]).mean, 2.0);
    assert_eq!(of(&[1.0, 3.0]).mean, 2.0);
    assert_eq!(of(&[1.0; 5]).bounds, None);
    assert!(of(&[1.0; 6]).bounds.is_some());
    assert_eq!(Difference::of("added", "us", &[]), None);
}

#[test]
fn equal_rounds_are_sure() {
    assert_eq!(of(&[1.5; 20]).bounds, Some((1.5, 1.5)));
}

#[test]
fn bounds_are_about_two_standard_errors_away() {
    // Even from -1 to 1: the mean of the middle three fifths of 40 varies by about 0.11.
    let even: Vec<f64> = (0..40).map(|nth| f64::from(nth) / 19.5 - 1.0).collect();
    let found = of(&even);
    let (lower, upper) = found.bounds.unwrap();
    assert!(found.mean.abs() < 1e-9, "{found:?}");
    assert!((-0.35..-0.12).contains(&lower) && (0.12..0.35).contains(&upper), "{found:?}");
    assert_eq!(of(&even), found, "twice the same");
}

#[test]
fn what_is_there_is_found_in_noise() {
    // Something of 0.5 in a disturbance of 10 that only some rounds have.
    let differences: Vec<f64> = (0..30)
        .map(|nth| if nth % 10 == 3 { 10.0 } else { 0.5 + f64::from(nth % 3) * 0.1 })
        .collect();
    let (lower, upper) = of(&differences).bounds.unwrap();
    assert!(0.4 < lower && upper < 1.5, "{lower} {upper}");
}

fn lane(name: &str, values: &[f64]) -> Lane {
    let mut lane = fixture::results().sizes.remove(0).lanes.remove(0);
    lane.contestant = name.to_owned();
    lane.baseline = "none".to_owned();
    let sample = |&value| Sample {
        figures: vec![Figure { name: "request", unit: "us", value }],
        ..Sample::default()
    };
    lane.outcome = Outcome::Measured(values.iter().map(sample).collect());
    lane
}

#[test]
fn lanes_are_compared_with_their_baseline_round_by_round() {
    let mut lanes = [lane("own", &[11.0, 103.0]), lane("none", &[10.0, 100.0])];
    compare(&mut lanes, &REQUEST);
    let found = lanes[0].differences[0];
    assert_eq!((found.name, found.unit, found.mean), ("added", "us", 2.0));
    assert_eq!(lanes[1].differences, [], "nobody is compared with himself");
}

#[test]
fn a_multiple_is_of_each_round_and_not_of_sums() {
    let mut lanes = [lane("own", &[20.0, 300.0]), lane("none", &[10.0, 100.0])];
    compare(&mut lanes, &[Compared { figure: "request", name: "ratio", by: By::Times }]);
    let found = lanes[0].differences[0];
    assert_eq!((found.name, found.unit, found.mean), ("ratio", "×", 2.5));
}

#[test]
fn without_a_measured_baseline_there_is_no_difference() {
    let mut lanes = [lane("own", &[1.0]), lane("none", &[1.0])];
    lanes[1].outcome = Outcome::Wrong("3".to_owned());
    compare(&mut lanes, &REQUEST);
    assert_eq!(lanes[0].differences, []);
    let mut alone = [lane("own", &[1.0])];
    compare(&mut alone, &REQUEST);
    assert_eq!(alone[0].differences, []);
}
