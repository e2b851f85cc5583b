use super::*;
use crate::{Figure, Outcome, report::fixture};

const fn column(value: Value, has_ends: bool) -> Column {
    Column { value, heading: "above", has_ends }
}

#[test]
fn a_figure_is_its_median_with_the_ends_where_that_is_asked() {
    let results = fixture::with_differences();
    let lane = &results.sizes[0].lanes[0];
    assert_eq!(cell(column(Value::Figure("packets_per_check"), false), lane), "3");
    let ends = column(Value::Figure("packets_per_check"), true);
    assert_eq!(cell(ends, lane), "3 [2.50 to 3.50]");
    assert_eq!(cell(column(Value::Figure("nothing"), true), lane), "");
}

#[test]
fn a_difference_has_its_bounds_and_may_be_below_zero() {
    let results = fixture::with_differences();
    let [sure, unsure] = [0, 1].map(|at| &results.sizes[0].lanes[at]);
    let added = column(Value::Difference("added_us"), true);
    assert_eq!(cell(added, sure), "0.25 [-0.50 to 1.00]");
    assert_eq!(cell(added, unsure), "-0.12");
    assert_eq!(cell(column(Value::Difference("added_us"), false), sure), "0.25");
}

#[test]
fn a_column_that_nobody_has_is_left_out() {
    let results = fixture::with_differences();
    let lanes: Vec<&Lane> = results.sizes[0].lanes.iter().collect();
    let columns =
        [column(Value::Figure("nothing"), true), column(Value::Difference("added_us"), true)];
    assert_eq!(of_lanes(&columns, &lanes).len(), 1);
}

#[test]
fn marks_say_of_how_many_runs() {
    let mut results = fixture::with_figures();
    let lane = &mut results.sizes[0].lanes[0];
    assert_eq!(marks(lane), [""; 0]);
    let Outcome::Measured(samples) = &mut lane.outcome else { panic!("measured") };
    samples[1].marks = vec!["not kept up: 1 of 9 per second".to_owned(), "lost: x 1".to_owned()];
    samples[0].figures.push(Figure::count("more", "x", 1));
    assert_eq!(
        marks(lane),
        ["own <fast>: 1 of 3 runs, the first: not kept up: 1 of 9 per second; lost: x 1"]
    );
}
