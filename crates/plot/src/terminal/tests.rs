use crate::{Axis, Figure, Line, Series};

#[test]
fn a_figure_has_its_shape_its_numbers_and_its_names() {
    let mut figure =
        Figure::new("cost", Axis::new("connections"), Axis::new("time").unit("µs").logarithmic());
    figure.series.push(Series::new("flat", Line::Joined, (0..=40).map(|x| (f64::from(x), 10.0))));
    let cliff = (0..=40).map(|x| (f64::from(x), if x < 20 { 12.0 } else { 900.0 }));
    figure.series.push(Series::new("cliff", Line::Joined, cliff));
    let text = figure.text(51, 6);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10, "{text}");
    assert_eq!(lines[0], "cost: time, µs");
    assert!(lines[1].starts_with("    1,000│") && lines[1].ends_with('×'), "{text}");
    assert!(lines[6].starts_with("       10│×") && lines[6].ends_with('●'), "{text}");
    assert!(lines[8].contains("0") && lines[8].contains("connections"), "{text}");
    assert!(lines[8].ends_with("40"), "{text}");
    assert!(lines[9].contains("● flat   × cliff"), "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 51), "{text}");
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let text = Figure::new("none", Axis::new("x"), Axis::new("y")).text(1, 1);
    assert!(text.lines().count() >= 6, "{text}");
}
