//! The summaries as they leave the process: docs/formats/load.md.

use portolan_load::{Interval, ServerSummary, Summary};

#[test]
fn the_clients_vector_is_read_and_written() {
    let vector = include_str!("client-v1.json");
    let summary: Summary = serde_json::from_str(vector).unwrap();
    assert_eq!(serde_json::to_string(&summary).unwrap(), vector.trim_end());
    assert_eq!((summary.total.errors(), summary.has_kept_up()), (2, true));
}

#[test]
fn the_vector_of_an_interval_is_read_and_written() {
    let vector = include_str!("interval-v1.json");
    let interval: Interval = serde_json::from_str(vector).unwrap();
    assert_eq!(serde_json::to_string(&interval).unwrap(), vector.trim_end());
    assert_eq!((interval.nth, interval.total.errors()), (2, 2));
}

#[test]
fn the_servers_vector_is_read_and_written() {
    let vector = include_str!("server-v1.json");
    let summary: ServerSummary = serde_json::from_str(vector).unwrap();
    assert_eq!(serde_json::to_string(&summary).unwrap(), vector.trim_end());
    assert_eq!(summary.total.open(), 1);
}

#[test]
fn fields_that_are_not_known_are_ignored() {
    let later = include_str!("client-v1.json").replacen('{', "{\"later\":1,", 1);
    assert!(serde_json::from_str::<Summary>(&later).is_ok());
}

#[test]
fn less_than_nine_tenths_is_not_kept_up() {
    let summary: Summary = serde_json::from_str(include_str!("client-v1.json")).unwrap();
    let slow = Summary { achieved_per_second: 899.0, ..summary.clone() };
    assert!(!slow.has_kept_up());
    let few = Summary { started: 89, ..summary.clone() };
    assert!(!few.has_kept_up());
    assert!(Summary { is_interrupted: true, ..few }.has_kept_up());
    assert!(Summary { asked_per_second: None, achieved_per_second: 0.0, ..summary }.has_kept_up());
}
