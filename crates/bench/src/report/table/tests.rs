use super::*;
use crate::report::fixture;

fn table() -> String {
    let mut out = Vec::new();
    write_table(&fixture::results(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn line<'a>(table: &'a str, name: &str) -> &'a str {
    table.lines().find(|line| line.starts_with(name)).unwrap()
}

#[test]
fn bars_are_in_proportion_and_never_empty() {
    assert_eq!(bar(100, 100), "█".repeat(20));
    assert_eq!(bar(50, 100), "█".repeat(10));
    assert_eq!(bar(1, 1_000_000), "▏");
    assert_eq!(bar(13, 160), "█▋");
    assert_eq!(bar(0, 0), "▏");
}

#[test]
fn a_measured_contestant_shows_median_spread_and_ratio() {
    let table = table();
    let own = line(&table, "own <fast>");
    for part in ["2.00 ms", "[1.00 ms to 9.00 ms]", "3.0 MiB", "1,234", "2,345", "0.50×"] {
        assert!(own.contains(part), "{part}: {own}");
    }
    let peer = line(&table, "peer");
    assert!(peer.contains("1.0×") && peer.contains(&"█".repeat(20)), "{peer}");
    assert!(peer.contains("≤ 8.0 MiB"), "{peer}");
}

#[test]
fn who_has_no_times_has_a_reason() {
    let table = table();
    assert!(line(&table, "missing").contains("not installed: apt-get install missing"));
    assert!(line(&table, "broken").contains("FAILED: exit code 1"));
    assert!(line(&table, "liar").contains("WRONG: 3 rows, of at least 1000"));
}

#[test]
fn the_head_says_what_was_measured_and_where() {
    let table = table();
    assert!(table.starts_with("1,000 sockets: reads \"sockets\" & more, median of 3 runs"));
    assert!(table.contains("Linux 6.1"));
}

#[test]
fn the_first_table_says_once_who_does_what() {
    assert_eq!(table().matches("says \"hello\", & more").count(), 1);
    let mut results = fixture::results();
    results.sizes.extend(fixture::results().sizes);
    let mut out = Vec::new();
    write_table(&results, &mut out).unwrap();
    assert!(!String::from_utf8(out).unwrap().contains("says"));
}

#[test]
fn each_task_has_a_heading_and_a_scale_of_its_own() {
    let mut results = fixture::results();
    results.sizes[0].lanes[0].task = "alone";
    let mut out = Vec::new();
    write_table(&results, &mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    let heading = line(&table, "alone");
    assert!(heading.contains("wall") && heading.ends_with("vs peer"), "{heading}");
    assert!(line(&table, "pretend").contains("vs peer"));
    assert!(line(&table, "own <fast>").contains(&"█".repeat(20)));
}

#[test]
fn calls_that_were_not_counted_are_said_with_the_reason() {
    let table = table();
    assert!(line(&table, "peer").contains("not measured"));
    let advice = "reads not measured: needs strace: apt-get install strace";
    assert_eq!(table.matches(advice).count(), 1);
    assert!(table.contains("reads  vs"));
    let mut results = fixture::results();
    results.sizes[0].lanes.iter_mut().for_each(|lane| lane.reads = None);
    let mut out = Vec::new();
    write_table(&results, &mut out).unwrap();
    assert!(!String::from_utf8(out).unwrap().contains("reads  vs"), "a column without need");
}

#[test]
fn a_size_that_was_left_out_says_why_once() {
    let mut out = Vec::new();
    write_table(&fixture::left_out(), &mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    assert_eq!(table.matches("left out: needs 5 MiB of memory").count(), 1);
    assert!(!table.contains("own <fast>"));
}

#[test]
fn further_numbers_have_columns_only_where_somebody_has_them() {
    assert!(!table().contains("accepts"));
    let mut out = Vec::new();
    write_table(&fixture::with_figures(), &mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    let heading = "packets per check  accepts  server cpu  captured per check  vs peer";
    assert!(line(&table, "pretend").ends_with(heading), "{table}");
    let own = line(&table, "own <fast>").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(own.ends_with("3 12,345 1.50 ms 3 0.50×"), "{own}");
    assert_eq!(table.matches("not looked at closely: needs tcpdump").count(), 1);
}

#[test]
fn a_scenario_with_figures_of_its_own_shows_those_and_no_bars() {
    let mut results = fixture::with_differences();
    if let crate::Outcome::Measured(samples) = &mut results.sizes[0].lanes[0].outcome {
        samples[0].marks = vec!["not kept up".to_owned()];
    }
    let mut out = Vec::new();
    write_table(&results, &mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    let own = line(&table, "own <fast>");
    assert!(own.contains("0.25 [-0.50 to 1.00]") && !own.contains('█'), "{own}");
    assert!(line(&table, "broken").contains("FAILED: exit code 1"), "{table}");
    assert!(table.contains("own <fast>: 1 of 3 runs, the first: not kept up"), "{table}");
}
