use super::*;
use crate::report::fixture;

const PLOT: Plot =
    Plot { title: "added, µs", task: "pretend", value: Value::Difference("added_us") };
const FIGURE: Plot =
    Plot { title: "packets", task: "pretend", value: Value::Figure("packets_per_check") };

fn svg(results: &Results, plots: &[Plot]) -> String {
    let mut out = Vec::new();
    write(results, plots, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn points_have_their_ends() {
    let results = fixture::with_differences();
    let found = lines(&results, &PLOT);
    assert_eq!(found.len(), results.sizes[0].lanes.len());
    assert_eq!(found[0].points, [Point { size: 1_000, value: 0.25, lower: -0.5, upper: 1.0 }],);
    assert_eq!(found[1].points[0].lower, -0.12, "without bounds only the value");
    let packets = lines(&results, &FIGURE);
    assert_eq!(packets[0].points[0], Point { size: 1_000, value: 3.0, lower: 2.5, upper: 3.5 });
}

#[test]
fn one_size_is_rows_and_several_are_lines() {
    let mut results = fixture::with_differences();
    let rows = svg(&results, &[PLOT]);
    assert!(rows.contains("0.25 [-0.50 to 1.00]") && !rows.contains("<polyline"), "{rows}");
    let mut larger = results.sizes[0].clone();
    larger.size = 5_000;
    results.sizes.push(larger);
    let text = svg(&results, &[PLOT, FIGURE]);
    assert!(text.contains("<polyline") && text.contains("packets"), "{text}");
    assert!(text.contains("own &lt;fast&gt;"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
}

#[test]
fn a_plot_of_nothing_is_left_out() {
    let nothing = Plot { title: "empty", task: "pretend", value: Value::Figure("nothing") };
    assert!(!svg(&fixture::with_differences(), &[nothing]).contains("empty"));
}
