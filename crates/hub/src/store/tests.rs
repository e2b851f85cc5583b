//! What every store has to do; what only files do is in the modules below.

use portolan_flow::Counters;
use proptest::prelude::*;

use super::*;
use crate::sample::{
    any_reading, container, flow, hidden, listener, process, remote, unit, within,
};

mod crash;
mod private;
mod refusal;
mod replaced;
mod vector;

fn seen<T>(what: T, first_seen_ms: u64, last_seen_ms: u64) -> Seen<T> {
    Seen { what, first_seen_ms, last_seen_ms }
}

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions");
}

/// Rows with every kind of end, as a store gives them back.
fn all_kinds() -> Rows {
    let postgres = || unit("postgres", "postgresql.service", "127.0.0.1");
    let psql = process("psql", "127.0.0.1");
    let redis = container("redis", "0123456789abcdef", "172.17.0.2");
    let nginx = within("netns:blue", process("nginx \"'; DROP TABLE edge; --\u{0}", "::1"));
    let mut edges = vec![
        seen(flow(psql, postgres(), 5432), 10, 40),
        seen(flow(hidden(0, "10.0.0.1"), redis, 6379), 10, 30),
        seen(flow(nginx, remote("2001:db8::7"), 443), 10, 20),
        seen(flow(remote("192.0.2.7"), hidden(u32::MAX, "10.0.0.1"), 22), 5, 15),
    ];
    edges[2].what.guessed = true;
    let listeners = vec![
        seen(listener(postgres(), 5432), 10, 40),
        seen(listener(hidden(0, "::"), 65_535), 5, 15),
    ];
    for row in &mut edges {
        row.what = crate::edge::without_counts(&row.what);
    }
    Rows { edges, listeners }
}

/// What every store does alike. `open` opens the same store again.
fn conforms(open: &mut dyn FnMut() -> Box<dyn Store>, outlives: bool) {
    let mut store = open();
    assert!(store.load(0, 100).expect("load").is_empty());
    store.save(&Rows::default()).expect("save nothing");

    let rows = all_kinds();
    store.save(&rows).expect("save");
    assert_eq!(store.load(0, 100).expect("load"), rows, "newest first");

    let since = store.load(30, 100).expect("load");
    assert_eq!((since.edges.len(), since.listeners.len()), (2, 1));
    let few = store.load(0, 1).expect("load");
    assert_eq!((few.edges[0].last_seen_ms, few.edges.len(), few.listeners.len()), (40, 1, 1));

    // A row is there once; its times only widen, and one proof of the direction is enough.
    let mut again = rows.clone();
    for (first, last) in [(12, 12), (20, 50), (7, 9)] {
        again.edges[2].first_seen_ms = first;
        again.edges[2].last_seen_ms = last;
        again.edges[2].what.client.pids = portolan_flow::Pids::of(99);
        again.edges[2].what.active = Counters { connections: 5, ..Counters::default() };
        store.save(&again).expect("save again");
        again.edges[2].what.guessed = !again.edges[2].what.guessed;
    }
    let loaded = store.load(0, 100).expect("load");
    assert_eq!(loaded.edges.len(), 4);
    let widened = &loaded.edges[0];
    assert_eq!((widened.first_seen_ms, widened.last_seen_ms), (7, 50));
    assert!(!widened.what.guessed && widened.what.client.pids.as_slice().is_empty());

    if outlives {
        drop(store);
        store = open();
        assert_eq!(store.load(0, 100).expect("load"), loaded);
    }

    assert_eq!(store.forget(30, 100).expect("forget"), 2, "an edge and a listener are older");
    assert_eq!(store.forget(30, 100).expect("forget"), 0);
    let kept = store.load(0, 100).expect("load");
    assert_eq!((kept.edges.len(), kept.listeners.len()), (3, 1));
    assert_eq!(store.forget(0, 2).expect("forget"), 1, "more than two");
    assert_eq!(store.load(0, 100).expect("load").edges[..], kept.edges[..2]);

    let huge = Rows { edges: vec![seen(rows.edges[0].what.clone(), 0, u64::MAX / 2)], ..kept };
    store.save(&huge).expect("save");
    assert_eq!(store.load(0, 1).expect("load").edges[0].last_seen_ms, u64::MAX / 2);
    assert_eq!(store.load(0, 1).expect("load").edges[0].first_seen_ms, 0);
}

#[test]
fn memory_conforms() {
    conforms(&mut || Box::new(Memory::new()), false);
}

#[test]
fn sqlite_conforms() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    conforms(&mut || Box::new(Sqlite::open(&path).expect("open")), true);
}

#[test]
fn a_new_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("state/portolan/map.db");
    let mut store = Sqlite::open(&path).expect("open");
    store.save(&all_kinds()).expect("save");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_file_name("map.db-wal")), 0o600);
    assert_eq!(mode(&dir.path().join("state/portolan")), 0o700);
    assert_eq!(mode(&dir.path().join("state")), 0o700);
    drop(store);
    assert!(!path.with_file_name("map.db-wal").exists(), "closing leaves one file");
}

#[test]
fn names_are_only_names() {
    let dir = tempfile::tempdir().expect("a directory");
    for name in [":memory:", "file:map.db?mode=memory", "100%.db"] {
        let path = dir.path().join(name);
        Sqlite::open(&path).expect("open").save(&all_kinds()).expect("save");
        assert!(path.is_file(), "{name}");
        let found = Sqlite::open(&path).expect("open").load(0, 100).expect("load");
        assert_eq!(found.edges.len(), 4, "{name}");
    }
}

#[test]
fn an_empty_file_is_a_new_store() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    std::fs::write(&path, "").expect("write");
    set_mode(&path, 0o600);
    assert!(Sqlite::open(&path).expect("open").load(0, 9).expect("load").is_empty());
}

#[test]
fn two_instances_share_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let mut one = Sqlite::open(&path).expect("open");
    let mut other = Sqlite::open(&path).expect("open while it is open");
    let mut rows = all_kinds();
    one.save(&rows).expect("save");
    rows.edges[0].last_seen_ms = 90;
    other.save(&rows).expect("save");
    rows.edges[0].last_seen_ms = 60;
    one.save(&rows).expect("save");
    for store in [&mut one, &mut other] {
        assert_eq!(store.load(0, 100).expect("load").edges[0].last_seen_ms, 90);
    }
    drop(one);
    rows.edges[0].last_seen_ms = 99;
    other.save(&rows).expect("save when the other is gone");
}

#[test]
fn instances_that_start_and_write_at_once_all_succeed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    std::thread::scope(|scope| {
        for instance in 0..8_u64 {
            let path = &path;
            scope.spawn(move || {
                let mut store = Sqlite::open(path).expect("open");
                for round in 0..20 {
                    let mut rows = all_kinds();
                    rows.edges[0].last_seen_ms = 100 * round + instance;
                    store.save(&rows).expect("save");
                }
            });
        }
    });
    let rows = Sqlite::open(&path).expect("open").load(0, 100).expect("load");
    assert_eq!((rows.edges.len(), rows.edges[0].last_seen_ms), (4, 1_907));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sqlite_keeps_what_memory_keeps(
        readings in prop::collection::vec((any_reading(), 0..100u64, 0..100u64), 1..5),
        since in 0..150u64,
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let mut sqlite = Sqlite::open(dir.path().join("map.db")).expect("open");
        let mut memory = Memory::new();
        for (reading, first, span) in readings {
            let last = first + span;
            let (flows, listeners) = (reading.bundle.flows, reading.bundle.listeners);
            let rows = Rows {
                edges: flows.into_iter().map(|what| seen(what, first, last)).collect(),
                listeners: listeners.into_iter().map(|what| seen(what, first, last)).collect(),
            };
            sqlite.save(&rows).expect("save");
            memory.save(&rows).expect("save");
        }
        let sorted = |mut rows: Rows| {
            rows.edges.sort_by(|a, b| a.what.cmp(&b.what));
            rows.listeners.sort_by(|a, b| a.what.cmp(&b.what));
            rows
        };
        let from = sqlite.load(since, 1_000).expect("load");
        prop_assert_eq!(sorted(from), sorted(memory.load(since, 1_000).expect("load")));
        prop_assert_eq!(
            sqlite.forget(since, 5).expect("forget"),
            memory.forget(since, 5).expect("forget")
        );
    }
}
