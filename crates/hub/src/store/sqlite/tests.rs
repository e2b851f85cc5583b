use super::*;
use crate::sample::{flow, process, remote};

fn rows(ports: std::ops::Range<u16>) -> Rows {
    let flow = |port| flow(process("curl", "10.0.0.1"), remote("192.0.2.7"), port);
    let row = |port| Seen { what: flow(port), first_seen_ms: 1, last_seen_ms: 2 };
    Rows { edges: ports.map(row).collect(), listeners: Vec::new() }
}

#[test]
fn a_full_disk_loses_nothing_that_was_saved() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut store = Sqlite::open(dir.path().join("map.db")).expect("open");
    store.save(&rows(0..100)).expect("save");
    let pages = |max: u32| limit_pages(&store.connection, max);
    let most = pages(1);
    let error = store.save(&rows(100..5_000)).expect_err("no room");
    let StoreError::Failed { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.sqlite_error_code(), Some(ErrorCode::DiskFull), "{error}");
    assert_eq!(store.load(0, 9_999).expect("load").edges.len(), 100);

    limit_pages(&store.connection, most + 10_000);
    store.save(&rows(100..5_000)).expect("there is room again");
    assert_eq!(store.load(0, 9_999).expect("load").edges.len(), 5_000);
}

/// Sets the most pages that the file may have, but not less than it has.
fn limit_pages(connection: &Connection, max: u32) -> u32 {
    let sql = format!("PRAGMA max_page_count = {max}");
    connection.query_row(&sql, [], |row| row.get(0)).expect("a number")
}
