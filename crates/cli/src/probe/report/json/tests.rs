use serde_json::{Value, json};

use crate::probe::report::{
    Format, Shown,
    sample::{HOSTILE, findings, written},
};

const VECTOR: &str = include_str!("../vectors/findings.jsonl");

fn lines(shown: Shown, checks: u64) -> String {
    written(Format::Json, shown, (checks, 1_000), &findings())
}

#[test]
fn records_are_those_of_the_vector() {
    // Sweeps have the same ones.
    for (shown, checks) in [(Shown::Usual, 12), (Shown::Usual, 2_000_000), (Shown::Every, 65)] {
        assert_eq!(lines(shown, checks), VECTOR);
    }
}

#[test]
fn records_can_be_read() {
    let records: Vec<Value> =
        VECTOR.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (summary, found) = records.split_last().expect("records");
    for (record, (finding, name)) in found.iter().zip(findings()) {
        assert_eq!(record["version"], 1);
        assert_eq!(record["type"], "finding");
        assert_eq!(record["address"], finding.target.ip().to_string());
        assert_eq!(record["port"], finding.target.port());
        assert_eq!(record["name"], json!(name));
        assert_eq!(record["state"], finding.verdict.name());
        assert_eq!(record["attempts"], finding.attempts);
    }
    assert_eq!(found.len(), findings().len());
    assert_eq!(found[5]["icmp"], json!({"type": 3, "code": 13}));
    assert_eq!(found[5]["detail"], "prohibited");
    assert_eq!(found[7]["name"], HOSTILE);
    assert_eq!(found[8]["detail"], "Permission denied");
    assert_eq!(found[9]["zone"], 2);
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["checks"], 12);
    assert_eq!(summary["loss"], 0.004);
    assert_eq!(summary["complete"], true);
}

#[test]
fn only_open_ports_are_written_where_that_is_asked() {
    let text = lines(Shown::Open, 12);
    assert!(text.lines().eq(VECTOR.lines().filter(|line| {
        line.contains("\"state\":\"open\"") || line.contains("\"type\":\"summary\"")
    })));
}

#[test]
fn every_field_is_in_the_document() {
    let document = include_str!("../../../../../../docs/formats/probe.md");
    for line in VECTOR.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        for field in record.as_object().expect("an object").keys() {
            assert!(document.contains(&format!("`{field}`")), "{field}");
        }
    }
}
