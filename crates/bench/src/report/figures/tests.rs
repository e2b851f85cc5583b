use super::*;
use crate::{Outcome, report::fixture};

fn lane() -> Lane {
    fixture::with_figures().sizes.remove(0).lanes.remove(0)
}

#[test]
fn every_name_has_the_spread_of_its_values_and_what_was_seen_closer_comes_last() {
    let seen = of_lane(&lane());
    let names: Vec<&str> = seen.iter().map(|seen| seen.name).collect();
    assert_eq!(names, ["packets_per_check", "accepts", "server_cpu_us", "captured_per_check"]);
    assert_eq!(seen[0].spread, RealSpread { median: 3.0, min: 2.5, max: 3.5 });
    assert_eq!(seen[3].spread, RealSpread { median: 3.0, min: 3.0, max: 3.0 });
}

#[test]
fn who_lacks_a_number_has_an_empty_cell() {
    let names = ["accepts", "lost", "packets_per_check", "server_cpu_us"];
    assert_eq!(cells(&lane(), &names), ["12,345", "", "3", "1.50 ms"]);
    let absent = Lane { outcome: Outcome::Absent(String::new()), closer: Ok(vec![]), ..lane() };
    assert_eq!(cells(&absent, &names), [""; 4]);
}

#[test]
fn headings_are_words() {
    assert_eq!(heading("packets_per_check"), "packets per check");
    assert_eq!(heading("server_cpu_us"), "server cpu");
}
