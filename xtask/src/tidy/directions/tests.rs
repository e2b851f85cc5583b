use serde_json::json;

use super::*;

/// What is said about a workspace of `(crate, the crates it uses)`.
fn said(crates: &[(&str, &[&str])]) -> Vec<String> {
    let packages: Vec<Value> = crates
        .iter()
        .map(|(name, uses)| {
            let uses = uses.iter().map(|name| json!({ "name": name, "kind": "dev" }));
            json!({
                "name": format!("portolan-{name}"),
                "manifest_path": format!("/repo/crates/{name}/Cargo.toml"),
                "dependencies": uses.collect::<Vec<_>>(),
            })
        })
        .collect();
    let metadata = json!({ "workspace_root": "/repo", "packages": packages });
    let violations = check(&metadata).expect("well-formed metadata");
    violations.into_iter().map(|found| format!("{}: {}", found.path, found.message)).collect()
}

#[test]
fn the_arrows_of_the_design_are_allowed() {
    let said = said(&[
        ("sys", &["rustix"]),
        ("flow", &["serde"]),
        ("sockets", &["portolan-flow", "portolan-sys"]),
        ("hub", &["portolan-flow"]),
        ("bench", &["portolan-sockets", "portolan-hub"]),
        ("cli", &["portolan-hub", "portolan-sockets", "portolan-bench"]),
        ("e2e", &["portolan-sockets"]),
    ]);
    assert_eq!(said, [""; 0]);
}

#[test]
fn an_arrow_the_other_way_is_a_violation() {
    let said = said(&[
        ("sockets", &[]),
        ("flow", &["portolan-sockets"]),
        ("hub", &["portolan-sockets", "portolan-flow"]),
    ]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with(
        "crates/flow/Cargo.toml: flow may not use sockets; it may use no product crate"
    ));
    assert!(said[1].starts_with("crates/hub/Cargo.toml: hub may not use sockets; it may use flow"));
}

#[test]
fn nothing_uses_the_program() {
    let said = said(&[
        ("cli", &[]),
        ("bench", &["portolan-cli"]),
        ("e2e", &["portolan-cli"]),
        ("hub", &["portolan-cli"]),
    ]);
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn a_crate_without_a_word_is_a_violation() {
    let said = said(&[("toolbox", &[])]);
    assert!(said[0].contains("the design lacks a word: toolbox"), "{said:?}");
}

#[test]
fn every_library_of_the_table_may_be_used_by_the_program() {
    for (name, uses) in MAY_USE {
        assert!(name == "cli" || EVERY_LIBRARY.contains(&name), "{name}");
        assert!(!uses.contains(&"cli"), "{name}");
    }
}
