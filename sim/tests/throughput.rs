//! The table of throughput is the one that is checked in: a change of it is reviewed as any other.

use std::{fs, path::PathBuf};

use portolan_sim::table::table;

#[test]
fn throughput_is_as_it_was() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("throughput.txt");
    let known = fs::read_to_string(path).expect("the table is there");
    let measured = table();
    let differs: Vec<String> = known
        .lines()
        .zip(measured.lines())
        .filter(|(known, measured)| known != measured)
        .map(|(known, measured)| format!("- {known}\n+ {measured}"))
        .collect();
    assert!(
        known == measured,
        "throughput changed; if that is as it should be, cargo run -p portolan-sim -- table \
         --write\n{}",
        differs.join("\n")
    );
}
