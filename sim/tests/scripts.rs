//! Every script of `scenarios/` goes as it is written, and every scenario there breaks no rule.

use std::{fs, path::PathBuf};

use portolan_sim::{
    scenario::Scenario,
    script::{Script, play},
    world,
};

#[test]
fn scripts_go_as_written() {
    let mut wrong = Vec::new();
    let files = files("script");
    for (name, text) in &files {
        let script = Script::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let played = play(&script);
        if let Some(mismatch) = played.mismatch {
            let lines: Vec<String> = played.capture.lines().collect();
            wrong.push(format!("{name}: {mismatch}\n{}", lines.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The figures of RFC 9293, most of them from both sides.
    assert!(files.len() >= 13, "{} scripts", files.len());
}

/// Those that failed once stay, under a name that says what it was.
#[test]
fn scenarios_break_no_rule() {
    for (name, text) in files("json") {
        let scenario: Scenario =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let outcome = world::run(&scenario);
        assert_eq!(outcome.violation, None, "{name}");
        assert!(outcome.segments > 0, "{name}");
    }
}

fn files(extension: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_some_and(|found| found == extension) {
            let text = fs::read_to_string(&path).expect("the file can be read");
            files.push((path.display().to_string(), text));
        }
    }
    files.sort();
    files
}
