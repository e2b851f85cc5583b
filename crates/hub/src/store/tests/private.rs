//! A history that somebody else could read, or has put in place, is not written to.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown, symlink},
    path::Path,
};

use super::{super::inspect::check_private, *};

const NOBODY: u32 = 65_534;

/// Opens what may not be used: the text of the error, which says what to do.
fn refused(path: &Path) -> (StoreError, String) {
    let error = Sqlite::open(path).expect_err("not private");
    let text = error.to_string();
    assert!(text.contains(path.to_str().expect("text")) && text.contains("--store FILE"), "{text}");
    (error, text)
}

/// A shared directory, as `/tmp` is.
fn shared_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    set_mode(dir.path(), 0o1777);
    dir
}

#[test]
fn a_file_that_another_user_has_put_there() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give files away; for everybody else, this one is another user's.
        let metadata = fs::metadata("/etc/passwd").expect("it is there");
        let error = check_private(Path::new("/etc/passwd"), &metadata).expect_err("root's");
        assert!(matches!(error, StoreError::OtherOwner { owner: 0, .. }), "{error}");
        return;
    }
    let dir = shared_dir();
    let empty = dir.path().join("empty.db");
    fs::write(&empty, "").expect("write");
    let full = dir.path().join("full.db");
    Sqlite::open(&full).expect("open").save(&all_kinds()).expect("save");
    for path in [&empty, &full] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("nobody's file");
        let before = fs::read(path).expect("read");
        for mode in [0o666, 0o600] {
            set_mode(path, mode);
            let (error, text) = refused(path);
            let is_right = matches!(error, StoreError::OtherOwner { owner: NOBODY, user: 0, .. });
            assert!(is_right && text.contains("chown"), "{text}");
        }
        assert!(fs::read(path).expect("read") == before, "it was written to");
        assert_eq!(fs::metadata(path).expect("it is there").uid(), NOBODY);
    }
}

#[test]
fn a_file_that_others_may_read_or_write() {
    let dir = shared_dir();
    let path = dir.path().join("map.db");
    Sqlite::open(&path).expect("open").save(&all_kinds()).expect("save");
    let before = fs::read(&path).expect("read");
    for mode in [0o644, 0o620, 0o666, 0o601] {
        set_mode(&path, mode);
        let (error, text) = refused(&path);
        assert!(matches!(error, StoreError::NotPrivate { mode: found, .. } if found == mode));
        assert!(text.contains("chmod 600") && text.contains(&format!("{mode:04o}")), "{text}");
    }
    assert!(fs::read(&path).expect("read") == before, "it was written to");
    set_mode(&path, 0o600);
    assert_eq!(Sqlite::open(&path).expect("open").load(0, 9).expect("load").edges.len(), 4);
}

#[test]
fn a_link_leads_nowhere() {
    let dir = shared_dir();
    let (target, link) = (dir.path().join("target.db"), dir.path().join("map.db"));
    symlink(&target, &link).expect("a link");
    let (error, text) = refused(&link);
    assert!(matches!(error, StoreError::Link { .. }), "{text}");
    assert!(!target.exists(), "a link made a file elsewhere");
    drop(Sqlite::open(&target).expect("open"));
    assert!(matches!(refused(&link).0, StoreError::Link { .. }));
}

#[test]
fn a_link_to_the_directory_is_a_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("real")).expect("a directory");
    symlink(dir.path().join("real"), dir.path().join("link")).expect("a link");
    let path = dir.path().join("link/map.db");
    Sqlite::open(&path).expect("open").save(&all_kinds()).expect("save");
    assert_eq!(Sqlite::open(&path).expect("open").load(0, 9).expect("load").edges.len(), 4);
    assert!(dir.path().join("real/map.db").is_file());
}

#[test]
fn a_journal_that_another_user_has_put_there() {
    for suffix in ["-wal", "-shm", "-journal"] {
        let dir = shared_dir();
        let path = dir.path().join("map.db");
        let journal = dir.path().join(format!("map.db{suffix}"));
        fs::write(&journal, "").expect("write");
        set_mode(&journal, 0o666);
        let (error, text) = refused(&path);
        assert!(matches!(error, StoreError::NotPrivate { .. }), "{text}");
        assert!(text.contains(suffix), "{text}");
        fs::remove_file(&journal).expect("remove");
        symlink(dir.path().join("elsewhere"), &journal).expect("a link");
        let (error, text) = refused(&path);
        assert!(matches!(error, StoreError::Link { .. }), "{text}");
        assert!(!dir.path().join("elsewhere").exists());
    }
}
