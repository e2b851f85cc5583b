//! The file goes away while it is open: what is written has to end up where the path leads.

use std::{fs, path::Path};

use super::*;

fn begins_anew(store: &mut Sqlite, rows: &Rows) {
    let error = store.save(rows).expect_err("what was saved before is gone");
    assert!(matches!(error, StoreError::Replaced { .. }), "{error}");
    store.save(rows).expect("save again");
}

fn edges(path: &Path) -> usize {
    Sqlite::open(path).expect("open").load(0, 100).expect("load").edges.len()
}

#[test]
fn a_file_that_was_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let mut store = Sqlite::open(&path).expect("open");
    store.save(&all_kinds()).expect("save");
    for _ in 0..3 {
        fs::remove_file(&path).expect("remove");
        begins_anew(&mut store, &all_kinds());
        assert_eq!(edges(&path), 4);
    }
    // Nothing to write is no reason not to look.
    fs::remove_file(&path).expect("remove");
    begins_anew(&mut store, &Rows::default());
    store.save(&all_kinds()).expect("save");
    drop(store);
    assert_eq!(edges(&path), 4);
    assert!(!path.with_file_name("map.db-wal").exists());
}

#[test]
fn a_directory_that_was_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("state/map.db");
    let mut store = Sqlite::open(&path).expect("open");
    store.save(&all_kinds()).expect("save");
    fs::remove_dir_all(dir.path().join("state")).expect("remove");
    begins_anew(&mut store, &all_kinds());
    assert_eq!(edges(&path), 4);
}

#[test]
fn a_file_that_was_replaced_by_another_history() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, backup) = (dir.path().join("map.db"), dir.path().join("backup.db"));
    let all = all_kinds();
    let only = |at: usize| Rows { edges: vec![all.edges[at].clone()], ..Rows::default() };
    Sqlite::open(&backup).expect("open").save(&only(0)).expect("save");
    let mut store = Sqlite::open(&path).expect("open");
    store.save(&only(1)).expect("save");
    fs::rename(&backup, &path).expect("replace");
    assert!(path.with_file_name("map.db-wal").exists(), "a log that is not the backup's");
    begins_anew(&mut store, &only(1));
    drop(store);
    assert_eq!(edges(&path), 2);
}

#[test]
fn what_took_its_place_is_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let mut store = Sqlite::open(&path).expect("open");
    store.save(&all_kinds()).expect("save");
    fs::rename(&path, dir.path().join("away.db")).expect("rename");
    fs::write(&path, "remember the milk").expect("write");
    for _ in 0..2 {
        let error = store.save(&all_kinds()).expect_err("not a store");
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).expect("read"), "remember the milk");
    fs::remove_file(&path).expect("remove");
    begins_anew(&mut store, &all_kinds());
    assert_eq!(edges(&path), 4);
}

#[test]
fn two_instances_go_on_in_one_new_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let mut one = Sqlite::open(&path).expect("open");
    let mut other = Sqlite::open(&path).expect("open");
    let all = all_kinds();
    let only = |at: usize| Rows { edges: vec![all.edges[at].clone()], ..Rows::default() };
    fs::remove_file(&path).expect("remove");
    begins_anew(&mut one, &only(0));
    begins_anew(&mut other, &only(1));
    one.save(&only(2)).expect("save");
    assert_eq!(edges(&path), 3);
}
