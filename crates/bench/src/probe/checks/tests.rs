use std::time::Duration;

use super::*;
use crate::world::Served;

#[test]
fn figures_are_what_the_run_added() {
    let at = |accepted, cpu_us, packets| Counters { served: Served { accepted, cpu_us }, packets };
    let sample = Sample { wall: Duration::from_millis(500), ..Sample::default() };
    let figures = figures(100, &sample, &at(5, 1_000, 7), &at(105, 3_000, 607));
    let values: Vec<(&str, f64)> =
        figures.iter().map(|figure| (figure.name, figure.value)).collect();
    assert_eq!(
        values,
        [
            ("checks_per_second", 200.0),
            ("packets_per_check", 6.0),
            ("accepts", 100.0),
            ("server_cpu_us", 2_000.0),
        ]
    );
}
