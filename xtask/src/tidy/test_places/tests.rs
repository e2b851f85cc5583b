use super::*;
use crate::fixture::{Fixture, places};

const INLINE: &str =
    "fn a() {}\n\n#[cfg(all(test, unix))]\nmod tests {\n    #[test]\n    fn b() {}\n}\n";

#[test]
fn a_body_amid_the_code_is_a_violation() {
    assert_eq!(places(check, &[("crates/hub/src/a.rs", INLINE)]), ["crates/hub/src/a.rs:4"]);
    let alone = "#[tokio::test]\nasync fn b() {}\n";
    assert_eq!(places(check, &[("crates/hub/src/a.rs", alone)]), ["crates/hub/src/a.rs:2"]);
}

#[test]
fn a_declaration_and_a_file_of_tests_are_not() {
    let found = places(
        check,
        &[
            ("crates/hub/src/a.rs", "#[cfg(test)]\nmod tests;\n#[cfg(unix)]\nmod b {}\n"),
            ("crates/hub/src/a/tests.rs", INLINE),
            ("crates/hub/tests/a.rs", INLINE),
        ],
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn the_way_out_names_the_file() {
    for (path, goal) in [
        ("crates/hub/src/a.rs", "crates/hub/src/a/tests.rs"),
        ("crates/hub/src/a/mod.rs", "crates/hub/src/a/tests.rs"),
        ("crates/hub/src/lib.rs", "crates/hub/src/tests.rs"),
    ] {
        let said = check(&Fixture::of(&[(path, INLINE)]).tree());
        assert!(said[0].message.ends_with(&format!("move it to {goal}")), "{}", said[0].message);
    }
}
