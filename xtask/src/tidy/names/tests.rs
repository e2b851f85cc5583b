use super::*;
use crate::fixture::places;

#[test]
fn no_crate_or_module_is_called_so() {
    let found = places(
        check,
        &[
            ("crates/common/Cargo.toml", ""),
            ("crates/hub/src/utils.rs", ""),
            ("crates/hub/src/helpers/graph.rs", ""),
            ("web/src/misc.ts", ""),
            ("crates/hub/src/graph.rs", "mod a {}\nmod manager {\n}\n"),
        ],
    );
    assert_eq!(
        found,
        [
            "crates/common/Cargo.toml:1",
            "crates/hub/src/graph.rs:2",
            "crates/hub/src/helpers/graph.rs:1",
            "crates/hub/src/utils.rs:1",
            "web/src/misc.ts:1",
        ]
    );
}

#[test]
fn a_part_of_a_name_is_not_the_name() {
    let found = places(
        check,
        &[("crates/hub/src/score.rs", "mod utility {}\n"), ("docs/misc.md", ""), ("core.toml", "")],
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_library_does_not_print_and_leaves_nothing_for_later() {
    let text = r#"
fn a() {
    println!("a");
    std::eprintln!("a");
    assert!(dbg!(true));
    todo!();
    let _ = format!("println!");
    writeln!(out, "a");
}
"#;
    let found = places(check, &[("crates/hub/src/a.rs", text)]);
    let lines: Vec<String> =
        [3, 4, 5, 6].iter().map(|line| format!("crates/hub/src/a.rs:{line}")).collect();
    assert_eq!(found, lines);
    for path in
        ["crates/cli/src/a.rs", "xtask/src/a.rs", "crates/hub/tests/a.rs", "crates/hub/build.rs"]
    {
        assert_eq!(places(check, &[(path, text)]), [""; 0], "{path}");
    }
}
