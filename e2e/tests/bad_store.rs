//! Files that are not a history: an error that names them, and they stay as they are.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
};

use portolan_e2e::{NOBODY, Ran, Random, World, peers};

/// A valid history with something in it.
fn valid_store(world: &World) -> Vec<u8> {
    let _redis = peers::redis(world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    let store = world.folder("valid").join("map.sqlite");
    let path = store.display().to_string();
    world.host.succeed(world.portolan(&["map", "--once", "--store", &path]));
    fs::read(&store).expect("a history")
}

/// The files beside a path, with what is in them.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let read = |path: PathBuf| {
        let bytes = if path.is_file() { fs::read(&path).expect("a file") } else { Vec::new() };
        (path, bytes)
    };
    entries.map(|entry| read(entry.path())).collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
}

/// Every way to use a history.
const USES: [&[&str]; 3] = [
    &["map", "--once", "--json"],
    &["map", "--no-page", "--json"],
    &["map", "--dependents", "redis-server"],
];

fn assert_refused(ran: &Ran, path: &str, message: &str) {
    let advice = "use --store FILE for another file, or --no-store";
    ran.assert_failed(2, &["portolan: cannot open the history", path, message, advice]);
    assert_eq!(ran.stdout, "", "{ran}");
}

#[test]
fn files_that_are_no_history_are_left_alone() {
    let world = World::new();
    let valid = valid_store(&world);
    assert!(valid.starts_with(b"SQLite format 3\0"), "what the format says");
    assert_eq!(valid[68..72], *b"Ptln", "the application id");
    let mut random = Random::new(0x7374_6f72);
    let noise: Vec<u8> =
        (0..20_000).map(|_| u8::try_from(random.below(256)).unwrap_or(0)).collect();
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = valid.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let header_only = [&b"SQLite format 3\0"[..], &noise[..500]].concat();
    let last_page = valid.len() - 4096;
    let files: [(&str, Vec<u8>, &str); 10] = [
        ("noise", noise, "is not an SQLite database"),
        ("text", b"just a note\n".to_vec(), "is not an SQLite database"),
        ("short", valid[..50].to_vec(), "is not an SQLite database"),
        ("like-a-database", header_only, "is a database of another application"),
        ("another-application", with(68, b"mail"), "is a database of another application"),
        ("no-application", with(68, &[0; 4]), "is a database of another application"),
        ("newer", with(60, &[0, 0, 0, 99]), "has version 99"),
        ("half", valid[..valid.len() / 2].to_vec(), "is damaged"),
        ("overwritten", with(100, &[0xa5; 3000]), "is damaged"),
        ("overwritten-at-the-end", with(last_page, &[0xa5; 4096]), "is damaged"),
    ];
    for (name, bytes, message) in files {
        let folder = world.folder(name);
        let path = folder.join("map.sqlite");
        fs::write(&path, bytes).expect("a file");
        set_mode(&path, 0o600);
        let before = contents(&folder);
        for arguments in USES {
            let store = path.display().to_string();
            let arguments = [arguments, &["--store", &store]].concat();
            let ran = world.host.run(world.portolan(&arguments));
            assert_refused(&ran, &store, message);
            assert!(contents(&folder) == before, "{name} was changed by {ran}");
        }
    }
}

#[test]
fn paths_that_cannot_hold_a_history() {
    let world = World::new();
    let folder = world.folder("folder");
    let folder = folder.display().to_string();
    let file = world.file("file");
    fs::write(&file, "no folder").expect("a file");
    let below = file.join("map.sqlite").display().to_string();
    let long = world.file(&"x".repeat(300)).display().to_string();
    for (path, message) in [
        (folder.as_str(), "is not a regular file"),
        ("/dev/null", "is not a regular file"),
        ("/proc/portolan/map.sqlite", "directory /proc/portolan"),
        ("/proc/map.sqlite", "directory /proc"),
        ("/proc/self/status", "has mode 0444"),
        (&below, "directory"),
        (&long, "File name too long"),
    ] {
        let ran = world.host.run(world.portolan(&["map", "--once", "--store", path]));
        assert_refused(&ran, path, message);
    }
    assert_eq!(contents(Path::new(&folder)), BTreeMap::new());
    assert_eq!(fs::read_to_string(&file).expect("the file"), "no folder");
}

#[test]
fn a_place_that_may_not_be_written() {
    let world = World::new();
    let valid = valid_store(&world);
    let binary = world.portolan_for_all();
    let run = |path: &Path| {
        let mut command = std::process::Command::new(&binary);
        command.args(["map", "--once", "--store"]).arg(path).uid(NOBODY).gid(NOBODY);
        world.at_home(&mut command);
        world.host.run(command)
    };

    let closed = world.folder("closed");
    let missing = closed.join("map.sqlite");
    assert_refused(&run(&missing), &missing.display().to_string(), "Permission denied");
    assert_eq!(contents(&closed), BTreeMap::new());

    // Root's history, which nobody may read, or even write.
    for (mode, name, message) in [
        (0o644, "readable", "is not writable"),
        (0o666, "writable", "belongs to the user with id 0"),
    ] {
        let folder = world.folder(name);
        let path = folder.join("map.sqlite");
        fs::write(&path, &valid).expect("a file");
        set_mode(&path, mode);
        let before = contents(&folder);
        assert_refused(&run(&path), &path.display().to_string(), message);
        assert!(contents(&folder) == before, "{name} was changed");
    }

    // A folder of its own is all that it takes.
    let own = world.folder("own");
    std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).expect("nobody's folder");
    let path = own.join("state/portolan/map.sqlite");
    let ran = run(&path);
    assert_eq!(ran.code, Some(0), "{ran}");
    let mode = |path: &Path| fs::metadata(path).expect("made").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap_or(&own))), (0o600, 0o700));
}

#[test]
fn a_history_that_others_could_read_is_not_written() {
    let world = World::new();
    let folder = world.folder("planted");
    let path = folder.join("map.sqlite");
    let store = path.display().to_string();
    let run = || world.host.run(world.portolan(&["map", "--once", "--store", &store]));

    fs::write(&path, "").expect("a file");
    set_mode(&path, 0o666);
    assert_refused(&run(), &store, "has mode 0666");
    set_mode(&path, 0o600);
    std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).expect("nobody's file");
    assert_refused(&run(), &store, "belongs to the user with id 65534");
    assert_eq!(fs::read(&path).expect("the file"), b"");

    fs::remove_file(&path).expect("removed");
    let target = folder.join("elsewhere");
    std::os::unix::fs::symlink(&target, &path).expect("a link");
    assert_refused(&run(), &store, "link");
    assert!(!target.exists());
}
