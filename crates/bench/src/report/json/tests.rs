use serde_json::{Value, json};

use super::*;
use crate::report::fixture;

fn records() -> Vec<Value> {
    records_of(&fixture::results())
}

fn records_of(results: &Results) -> Vec<Value> {
    let mut out = Vec::new();
    write_json(results, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_contestant_is_an_object_on_a_line() {
    let records = records();
    assert_eq!(records.len(), 6);
    for record in &records {
        assert_eq!(record["version"], 1);
        assert_eq!((&record["scenario"], &record["size"]), (&json!("snapshot"), &json!(1000)));
        assert_eq!(record["seed"], 7);
        assert_eq!(record["host"]["kernel"], "Linux 6.1");
        assert_eq!(record["host"]["load_average"], json!([0.5, 0.25, 0.0]));
    }
}

#[test]
fn a_measured_one_has_its_runs_and_what_they_come_to() {
    let own = &records()[0];
    assert_eq!(own["status"], "measured");
    assert_eq!((&own["own"], &records()[2]["own"]), (&json!(true), &json!(false)));
    assert_eq!(own["wall_us"], json!({"median": 2000, "min": 1000, "max": 9000}));
    assert_eq!(own["ratio"], 0.5);
    assert_eq!(own["rows"], 1234);
    assert_eq!((&own["task"], &own["baseline"]), (&json!("pretend"), &json!("peer")));
    let walls: Vec<&Value> =
        own["runs"].as_array().unwrap().iter().map(|r| &r["wall_us"]).collect();
    assert_eq!(walls, [9000, 1000, 2000]);
    assert_eq!(own["peak_is_bound"], false);
    assert_eq!(records()[2]["peak_is_bound"], true);
}

#[test]
fn what_is_not_known_is_null() {
    let records = records();
    assert_eq!(records[1]["user_us"], Value::Null);
    for (record, status) in records[3..].iter().zip(["absent", "failed", "wrong"]) {
        assert_eq!(record["status"], status);
        assert!(record["reason"].is_string());
        assert_eq!((&record["wall_us"], &record["ratio"]), (&Value::Null, &Value::Null));
        assert_eq!(record["runs"], json!([]));
    }
}

#[test]
fn calls_that_were_not_counted_have_a_reason_if_they_were_to_be() {
    let reads = |index: usize| {
        let record = &records()[index];
        (record["table_reads"].clone(), record["table_reads_reason"].clone())
    };
    assert_eq!(reads(0), (json!(2345), Value::Null));
    assert_eq!(reads(1), (Value::Null, Value::Null));
    assert_eq!(reads(2), (Value::Null, json!("needs strace: apt-get install strace")));
}

#[test]
fn further_numbers_have_a_unit_and_a_spread_and_stand_in_each_run() {
    assert_eq!(records()[0]["figures"], json!({}));
    assert_eq!(records()[0]["figures_reason"], Value::Null);
    let records = records_of(&fixture::with_figures());
    let spread = json!({"unit": "packets", "median": 3.0, "min": 2.5, "max": 3.5});
    assert_eq!(records[0]["figures"]["packets_per_check"], spread);
    assert_eq!(records[0]["figures"]["captured_per_check"]["median"], 3.0);
    assert_eq!(records[0]["runs"][1]["figures"]["packets_per_check"], 2.5);
    assert_eq!(records[2]["figures_reason"], "needs tcpdump: apt-get install tcpdump");
}

#[test]
fn differences_have_bounds_where_there_were_rounds_enough() {
    let records = records_of(&fixture::with_differences());
    let added = |at: usize| &records[at]["differences"]["added_us"];
    assert_eq!(
        *added(0),
        json!({"unit": "us", "mean": 0.25, "lower": -0.5, "upper": 1.0, "rounds": 3})
    );
    assert_eq!((&added(1)["lower"], &added(1)["mean"]), (&Value::Null, &json!(-0.12)));
    assert_eq!(records[2]["differences"], json!({}));
    assert_eq!(records[0]["ratio"], Value::Null, "wall time says nothing here");
}

#[test]
fn a_run_has_its_marks() {
    let mut results = fixture::results();
    if let crate::Outcome::Measured(samples) = &mut results.sizes[0].lanes[0].outcome {
        samples[1].marks = vec!["not kept up".to_owned()];
    }
    let runs = &records_of(&results)[0]["runs"];
    assert_eq!((&runs[0]["marks"], &runs[1]["marks"]), (&json!([]), &json!(["not kept up"])));
}
