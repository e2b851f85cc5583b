use super::{thin::thin, *};

fn figure() -> Figure {
    let mut figure = Figure::new("cost of <one>", Axis::new("count"), Axis::new("time").unit("µs"));
    figure.series.push(Series::new("first", Line::Joined, [(0.0, 1.0), (50.0, 2.0)]));
    figure.series.push(Series::new("none", Line::Joined, Vec::<Point>::new()));
    figure
}

#[test]
fn a_figure_has_what_was_said() {
    let mut figure = figure();
    figure.notes.push((25.0, "here & there".to_owned()));
    let svg = figure.svg();
    for part in ["cost of &lt;one&gt;", "time, µs", ">count<", ">first<", "here &amp; there"] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    assert!(!svg.contains(">none<"), "a series without points has no key");
    assert_eq!(svg.matches("<polyline").count(), 1);
    assert!(svg.contains("prefers-color-scheme:dark"));
}

#[test]
fn what_has_no_place_is_left_out() {
    let mut figure = figure();
    figure.y = figure.y.logarithmic();
    figure.x = figure.x.logarithmic();
    figure.series[0].points =
        [(0.0, 1.0), (1.0, 0.0), (1.0, f64::NAN), (f64::INFINITY, 1.0), (1.0, 10.0), (10.0, 100.0)]
            .map(Point::from)
            .into();
    let svg = figure.svg();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    let path = svg.lines().find(|line| line.starts_with("<polyline")).unwrap();
    assert_eq!(path.matches(',').count(), 2, "{path}");
}

#[test]
fn steps_hold_until_the_next_value() {
    let mut figure = figure();
    figure.series[0].line = Line::Steps;
    let svg = figure.svg();
    let path = svg.lines().find(|line| line.starts_with("<polyline")).unwrap();
    let points = path.split_once("points=\"").unwrap().1.split_once('"').unwrap().0;
    let heights: Vec<&str> =
        points.split(' ').map(|point| point.split_once(',').unwrap().1).collect();
    assert_eq!(heights.len(), 3);
    assert_eq!(heights[0], heights[1]);
    assert_ne!(heights[1], heights[2]);
}

#[test]
fn the_ninth_series_has_another_line_than_the_first() {
    let mut figure = figure();
    figure.series = (0..9).map(|_| figure.series[0].clone()).collect();
    let svg = figure.svg();
    assert_eq!(svg.matches("<polyline class=\"line s0\"").count(), 1);
    assert_eq!(svg.matches("<polyline class=\"line s0 again\"").count(), 1);
}

#[test]
fn a_scatter_has_dots_and_no_line() {
    let mut figure = figure();
    figure.series[0].line = Line::Scattered;
    let svg = figure.svg();
    assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (0, 3));
}

#[test]
fn thinning_keeps_the_ends_and_the_extremes() {
    let mut points: Vec<Point> =
        (0..100_000).map(|nth| (f64::from(nth), f64::from(nth % 7))).map(Point::from).collect();
    points[33_333].y = 1_000.0;
    points[66_666].y = -1_000.0;
    let kept = thin(&points, 500.0);
    assert!(kept.len() <= 4 * 501, "{}", kept.len());
    assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[99_999]));
    assert!(kept.contains(&points[33_333]) && kept.contains(&points[66_666]));
    assert!(kept.is_sorted_by(|one, next| one.x < next.x), "in order, none twice");
    assert_eq!(thin(&points[..100], 500.0), points[..100], "few are all kept");
}

#[test]
fn many_of_one_place_are_no_fault() {
    let points = vec![Point::from((1.0, 1.0)); 10_000];
    assert_eq!(thin(&points, 10.0).len(), 10_000);
}
