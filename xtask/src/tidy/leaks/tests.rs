use super::*;
use crate::fixture::places;

#[test]
fn crates_come_from_crates_io() {
    let lock = |source: &str| format!("[[package]]\nname = \"a\"\nsource = \"{source}\"\n");
    for known in CRATES {
        assert_eq!(places(check, &[("Cargo.lock", &lock(known))]), [""; 0]);
    }
    for other in ["sparse+https://crates.example.org/", "git+https://github.com/a/b"] {
        assert_eq!(places(check, &[("Cargo.lock", &lock(other))]), ["Cargo.lock:3"]);
    }
}

#[test]
fn packages_come_from_npm() {
    let lock =
        |host: &str| format!("{{\n  \"resolved\": \"https://{host}/a/-/a-1.0.0.tgz\",\n}}\n");
    let path = "web/package-lock.json";
    assert_eq!(places(check, &[(path, &lock("registry.npmjs.org"))]), [""; 0]);
    let found = places(check, &[(path, &lock("registry.npmjs.org.example.org"))]);
    assert_eq!(found, [format!("{path}:2")]);
}

#[test]
fn settings_send_nobody_elsewhere() {
    let found = places(
        check,
        &[
            ("web/.npmrc", "fund=false\nregistry=https://npm.example.org/\n"),
            (".cargo/config.toml", "[source.crates-io]\nreplace-with = \"mirror\"\n"),
        ],
    );
    assert_eq!(found, [".cargo/config.toml:2", "web/.npmrc:2"]);
    assert_eq!(places(check, &[(".cargo/config.toml", "[alias]\nx = \"run\"\n")]), [""; 0]);
}

#[test]
fn no_path_of_a_machine() {
    let text = format!("a\nsee {WORKPLACE}main/a.rs\n");
    assert_eq!(places(check, &[("docs/a.md", &text)]), ["docs/a.md:2"]);
    let part = format!("net{WORKPLACE} and ..{WORKPLACE}a\n");
    assert_eq!(places(check, &[("docs/a.md", &part)]), [""; 0]);
}
