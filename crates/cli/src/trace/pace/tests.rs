use super::*;
use crate::trace::sample::config;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// When readings are taken, in milliseconds since the start, by a reader that takes no time.
fn readings(line: &str) -> Vec<u128> {
    let start = Instant::now();
    let mut pace = Pace::at(&config(line), start);
    let mut taken = Vec::new();
    loop {
        let now = pace.due();
        taken.push(now.duration_since(start).as_millis());
        if !pace.goes_on(now) || taken.len() == 10 {
            return taken;
        }
    }
}

#[test]
fn the_last_interval_may_be_a_part_of_one() {
    assert_eq!(readings("--interval 1s --duration 2500ms"), [1000, 2000, 2500]);
    assert_eq!(readings("--interval 1s --duration 2s"), [1000, 2000]);
    assert_eq!(readings("--interval 1s --duration 10ms"), [10]);
}

#[test]
fn so_many_and_no_more() {
    assert_eq!(readings("--once"), [1000]);
    assert_eq!(readings("--count 3 --interval 200ms"), [200, 400, 600]);
    assert_eq!(readings("--count 3 --duration 1500ms"), [1000, 1500]);
    assert_eq!(readings("").len(), 10);
}

#[test]
fn a_reading_that_took_too_long_is_not_made_up_for() {
    let start = Instant::now();
    let mut pace = Pace::at(&config("--interval 1s"), start);
    assert!(pace.goes_on(start + seconds(5)));
    assert_eq!(pace.due(), start + seconds(5));
    assert!(pace.goes_on(start + seconds(5)));
    assert_eq!(pace.due(), start + seconds(6));
}
