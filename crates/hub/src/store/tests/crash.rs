//! A program that is killed leaves its files as they are at that moment: here they are copied in
//! the middle of a write, and cut at any length.

use std::{fs, path::Path};

use rusqlite::Connection;

use super::*;

fn copy(from: &Path, to: &Path, log_bytes: usize) {
    fs::copy(from, to).expect("copy");
    let log = fs::read(from.with_file_name("map.db-wal")).expect("a log");
    let cut = &log[..log_bytes.min(log.len())];
    fs::write(to.with_file_name("copy.db-wal"), cut).expect("write");
    set_mode(&to.with_file_name("copy.db-wal"), 0o600);
}

#[test]
fn a_write_that_was_not_finished_was_not_begun() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let mut store = Sqlite::open(&path).expect("open");
    let rows = all_kinds();
    store.save(&rows).expect("save");

    let log_bytes = || fs::metadata(path.with_file_name("map.db-wal")).expect("a log").len();
    let before = log_bytes();
    let killed = Connection::open(&path).expect("open");
    // With so small a cache, the transaction goes to the log before it is committed.
    killed.execute_batch("PRAGMA cache_size = 2; BEGIN IMMEDIATE").expect("begin");
    for port in 1..2_000 {
        let insert =
            "INSERT INTO listener VALUES ('tcp', ?, '::', '', 'unobserved', -1, '', '', '', 1, 1)";
        killed.execute(insert, [port]).expect("insert");
    }
    let log = log_bytes();
    assert!(log > before + 20_000, "the transaction is in the log: {before}, then {log} bytes");

    let copied = dir.path().join("copy.db");
    copy(&path, &copied, usize::MAX);
    let mut after = Sqlite::open(&copied).expect("open what a killed program left");
    assert_eq!(after.load(0, 9_999).expect("load"), rows);
    after.save(&rows).expect("and go on");
}

#[test]
fn a_log_that_ends_anywhere_loses_whole_writes_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let mut store = Sqlite::open(&path).expect("open");
    let rows = all_kinds();
    for round in 0..5 {
        let mut rows = rows.clone();
        rows.edges.iter_mut().for_each(|row| row.last_seen_ms = 1_000 + round);
        store.save(&rows).expect("save");
    }
    let log = fs::metadata(path.with_file_name("map.db-wal")).expect("a log").len();
    let copied = dir.path().join("copy.db");
    for cut in (0..=usize::try_from(log).expect("it fits")).step_by(1_367) {
        copy(&path, &copied, cut);
        let found = Sqlite::open(&copied).expect("open").load(0, 100).expect("load");
        let times: Vec<u64> = found.edges.iter().map(|row| row.last_seen_ms).collect();
        assert!(times.is_empty() || times.len() == 4, "{cut}: {times:?}");
        assert!(times.windows(2).all(|pair| pair[0] == pair[1]), "{cut}: {times:?}");
    }
}
