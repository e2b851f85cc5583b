use super::*;
use crate::fixture::Fixture;

#[test]
fn a_file_belongs_to_a_crate() {
    assert_eq!(crate_of("crates/sys/src/lib.rs"), "sys");
    assert_eq!(crate_of("xtask/src/main.rs"), "xtask");
}

#[test]
fn tests_are_told_by_their_path() {
    for path in [
        "crates/flow/src/fold/tests.rs",
        "crates/flow/tests/a.rs",
        "e2e/src/lib.rs",
        "web/test/a.ts",
    ] {
        assert!(is_test(path), "{path}");
    }
    for path in ["crates/flow/src/fold.rs", "crates/flow/src/latests.rs"] {
        assert!(!is_test(path), "{path}");
    }
}

#[test]
fn what_is_made_is_not_written() {
    let fixture = Fixture::of(&[("web/dist/app.js", ""), ("web/src/app.ts", "")]);
    assert_eq!(fixture.tree().written().collect::<Vec<_>>(), ["web/src/app.ts"]);
    assert_eq!(fixture.tree().files().count(), 2);
}

#[test]
fn a_folder_is_there_if_a_file_is_in_it() {
    let tree = Fixture::of(&[("docs/guide/map.md", "")]).tree();
    for path in ["", "docs", "docs/guide/", "docs/guide/map.md"] {
        assert!(tree.has(path), "{path}");
    }
    for path in ["doc", "docs/guide/map", "docs/formats"] {
        assert!(!tree.has(path), "{path}");
    }
}

#[test]
fn a_file_that_is_not_rust_is_said_to_be_unreadable() {
    let tree = Fixture::of(&[("a.rs", "fn a() {}\nfn {\n"), ("b.rs", "fn b() {}\n")]).tree();
    assert_eq!(tree.sources().len(), 1);
    assert_eq!((tree.unreadable()[0].path.as_str(), tree.unreadable()[0].line), ("a.rs", 2));
}
