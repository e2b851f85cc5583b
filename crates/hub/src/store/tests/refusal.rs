//! Files that are not to be touched are not touched.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rusqlite::Connection;

use super::*;

/// All files of a directory with their contents.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(&path).expect("readable")))
        .collect()
}

/// Has `make` put a file in place, and opens it: the error, after having seen that nothing else
/// has changed.
fn refused(make: impl FnOnce(&Path)) -> StoreError {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    make(&path);
    let before = contents(dir.path());
    let error = Sqlite::open(&path).expect_err("not a store");
    let after = contents(dir.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before == after, "the file has changed");
    let text = error.to_string();
    assert!(text.contains(path.to_str().expect("text")), "{text}");
    assert!(text.contains("--store FILE") && text.contains("--no-store"), "{text}");
    assert!(!text.contains('\n'), "{text}");
    error
}

/// A closed store with a few hundred rows.
fn full_store(path: &Path) {
    let mut store = Sqlite::open(path).expect("open");
    let one = &all_kinds().edges[0];
    let edges = (1..800).map(|port| {
        let mut row = one.clone();
        row.what.server_port = port;
        row
    });
    store.save(&Rows { edges: edges.collect(), ..Rows::default() }).expect("save");
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("readable");
    change(&mut bytes);
    fs::write(path, bytes).expect("writable");
}

#[test]
fn another_kind_of_file() {
    let text = refused(|path| fs::write(path, "remember the milk\n".repeat(99)).expect("write"));
    assert!(matches!(text, StoreError::NotADatabase { .. }), "{text}");
    let short = refused(|path| fs::write(path, "x").expect("write"));
    assert!(matches!(short, StoreError::NotADatabase { .. }), "{short}");
    let short = refused(|path| fs::write(path, b"SQLite format 3\0").expect("write"));
    assert!(matches!(short, StoreError::NotADatabase { .. }), "{short}");
}

#[test]
fn a_database_of_another_application() {
    for sql in ["CREATE TABLE t (a)", "PRAGMA application_id = 7; CREATE TABLE edge (a)"] {
        let error = refused(|path| {
            Connection::open(path).and_then(|db| db.execute_batch(sql)).expect("a database");
        });
        assert!(matches!(error, StoreError::OtherApplication { .. }), "{error}");
    }
    let error = refused(|path| {
        let sql = "PRAGMA journal_mode = WAL; CREATE TABLE t (a)";
        Connection::open(path).and_then(|db| db.execute_batch(sql)).expect("a database");
    });
    assert!(matches!(error, StoreError::OtherApplication { application_id: 0, .. }), "{error}");
}

#[test]
fn a_newer_version() {
    let error = refused(|path| {
        full_store(path);
        let newer = SCHEMA_VERSION + 1;
        let set = |db: Connection| db.pragma_update(None, "user_version", newer);
        Connection::open(path).and_then(set).expect("a database");
    });
    assert!(matches!(error, StoreError::NewerVersion { found, .. } if found == SCHEMA_VERSION + 1));
    assert!(error.to_string().contains("newer portolan"), "{error}");
}

#[test]
fn a_newer_version_that_only_the_log_knows() {
    let dir = tempfile::tempdir().expect("a directory");
    let (made, path) = (dir.path().join("made.db"), dir.path().join("map.db"));
    full_store(&made);
    let db = Connection::open(&made).expect("open");
    db.pragma_update(None, "user_version", SCHEMA_VERSION + 1).expect("update");
    fs::copy(&made, &path).expect("copy");
    fs::copy(dir.path().join("made.db-wal"), dir.path().join("map.db-wal")).expect("copy");
    let file = || fs::read(&path).expect("readable");
    let log = || fs::read(dir.path().join("map.db-wal")).expect("readable");
    let before = (file(), log());
    let error = Sqlite::open(&path).expect_err("newer");
    assert!(matches!(error, StoreError::NewerVersion { .. }), "{error}");
    assert!(before == (file(), log()), "the file has changed");
}

#[test]
fn a_damaged_file() {
    // Damage inside of pages, of a whole page, and at the first table.
    for (from, to) in [(3 * 4_096 + 8, 3 * 4_096 + 400), (8 * 4_096, 9 * 4_096), (100, 300)] {
        let error = refused(|path| {
            full_store(path);
            change(path, |bytes| bytes[from..to].fill(0xa5));
        });
        assert!(matches!(error, StoreError::Corrupt { .. }), "{from}: {error}");
    }
    let cut = refused(|path| {
        full_store(path);
        change(path, |bytes| bytes.truncate(bytes.len() / 2 / 4_096 * 4_096));
    });
    assert!(matches!(cut, StoreError::Corrupt { .. }), "{cut}");
    let odd = refused(|path| {
        full_store(path);
        change(path, |bytes| bytes.truncate(5_000));
    });
    assert!(matches!(odd, StoreError::Corrupt { .. }), "{odd}");
}

#[test]
fn a_store_without_its_tables() {
    let error = refused(|path| {
        full_store(path);
        let drop = |db: Connection| db.execute_batch("DROP TABLE edge");
        Connection::open(path).and_then(drop).expect("a database");
    });
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_row_that_makes_no_sense_is_said_to_be_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    full_store(&path);
    for sql in [
        "UPDATE edge SET client_address = 'nowhere' WHERE server_port = 5",
        "UPDATE edge SET client_owner = 'ghost', client_address = '::' WHERE server_port = 5",
    ] {
        Connection::open(&path).and_then(|db| db.execute_batch(sql)).expect("a database");
        let error = Sqlite::open(&path).expect("open").load(0, 9_999).expect_err("nonsense");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }
}

#[test]
fn what_is_not_a_file() {
    let error = refused(|path| fs::create_dir(path).expect("a directory"));
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
    let error = Sqlite::open("/dev/null").expect_err("a device");
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
}

#[test]
fn a_directory_that_cannot_be_made() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, "x").expect("write");
    for path in [file.join("map.db"), PathBuf::from("/proc/portolan-test/map.db")] {
        let error = Sqlite::open(&path).expect_err("no directory");
        assert!(matches!(error, StoreError::Directory { .. }), "{error}");
        assert!(error.to_string().contains("--no-store"), "{error}");
    }
}

/// The root user may write everything, so the test runs itself again as nobody.
#[test]
fn a_file_that_may_not_be_written() {
    const DIR: &str = "PORTOLAN_TEST_READ_ONLY_DIR";
    if let Some(dir) = std::env::var_os(DIR) {
        as_nobody(Path::new(&dir));
        return;
    }
    use std::os::unix::{fs::chown, process::CommandExt};
    let is_root = rustix::process::geteuid().is_root();
    let dir = tempfile::tempdir().expect("a directory");
    for (name, mode) in [("read-only.db", 0o400), ("no-log.db", 0o600)] {
        let path = dir.path().join(name);
        full_store(&path);
        set_mode(&path, mode);
        if is_root {
            chown(&path, Some(65_534), Some(65_534)).expect("nobody's file");
        }
    }
    let binary = dir.path().join("test");
    fs::copy(std::env::current_exe().expect("a program"), &binary).expect("copy");
    set_mode(&binary, 0o755);
    let before = contents(dir.path());
    set_mode(dir.path(), 0o555);
    let mut again = Command::new(&binary);
    again.args(["--exact", "store::tests::refusal::a_file_that_may_not_be_written"]);
    again.env(DIR, dir.path()).current_dir("/");
    let run = |command: &mut Command| command.output().expect("the test itself");
    // Who is not root may not change users, and need not.
    let output = if is_root { run(again.uid(65_534).gid(65_534)) } else { run(&mut again) };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    set_mode(dir.path(), 0o755);
    assert!(contents(dir.path()) == before, "a file has changed");
}

fn as_nobody(dir: &Path) {
    let error = Sqlite::open(dir.join("read-only.db")).expect_err("read-only file");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    let error = Sqlite::open(dir.join("no-log.db")).expect_err("no room for a log");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    let error = Sqlite::open(dir.join("new.db")).expect_err("read-only directory");
    assert!(matches!(error, StoreError::Directory { .. }), "{error}");
    let error = Sqlite::open(dir.join("new/map.db")).expect_err("read-only directory");
    assert!(matches!(error, StoreError::Directory { .. }), "{error}");
}
