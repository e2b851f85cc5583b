//! Which crate may use which: the arrows of ARCHITECTURE.md.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::tree::Violation;

const RULE: &str = "directions";

/// What each crate may use. Development dependencies count as well.
const MAY_USE: [(&str, &[&str]); 14] = [
    ("wire", &[]),
    ("flow", &[]),
    ("plot", &[]),
    ("sys", &[]),
    ("stack", &["wire"]),
    ("nic", &["sys"]),
    ("host", &["nic", "stack", "wire", "sys"]),
    ("sockets", &["flow", "sys"]),
    ("trace", &["flow", "sys"]),
    ("probe", &["wire", "sys"]),
    ("load", &["plot", "sys", "host"]),
    ("hub", &["flow"]),
    ("bench", EVERY_LIBRARY),
    ("cli", EVERY_LIBRARY),
];

/// Crates that are tests and chores: they may use every library.
const TESTS: [&str; 3] = ["e2e", "sim", "xtask"];

const EVERY_LIBRARY: &[&str] = &[
    "wire", "flow", "plot", "sys", "stack", "nic", "host", "sockets", "trace", "probe", "load",
    "hub", "bench",
];

/// What `cargo metadata` says about the workspace.
pub fn metadata(root: &Path) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    serde_json::from_slice(&output.stdout).context("cargo metadata did not print JSON")
}

pub fn check(metadata: &Value) -> Result<Vec<Violation>> {
    let packages = metadata["packages"].as_array().context("cargo metadata lacks packages")?;
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let members: Vec<&str> = packages.iter().filter_map(|one| one["name"].as_str()).collect();
    let mut violations = Vec::new();
    for package in packages {
        let name = short(package["name"].as_str().context("a package lacks a name")?);
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let path = manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/');
        let mut report = |message| {
            violations.push(Violation { path: path.to_owned(), line: 1, rule: RULE, message });
        };
        let Some(may_use) = may_use(name) else {
            report(format!(
                "the design lacks a word: {name}; describe the crate in ARCHITECTURE.md and \
                 docs/lexicon.md, then add it to the table in xtask/src/tidy/directions.rs"
            ));
            continue;
        };
        for used in product_dependencies(package, &members) {
            if used != name && !may_use.contains(&used) {
                report(format!(
                    "{name} may not use {used}; it may use {}: move the line to where it belongs",
                    if may_use.is_empty() { "no product crate".into() } else { may_use.join(", ") }
                ));
            }
        }
    }
    Ok(violations)
}

fn product_dependencies<'a>(package: &'a Value, members: &[&str]) -> Vec<&'a str> {
    let all = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter()
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|name| members.contains(name))
        .map(short)
        .collect()
}

fn may_use(name: &str) -> Option<&'static [&'static str]> {
    if TESTS.contains(&name) {
        return Some(EVERY_LIBRARY);
    }
    MAY_USE.iter().find(|(known, _)| *known == name).map(|&(_, may_use)| may_use)
}

fn short(package: &str) -> &str {
    package.strip_prefix("portolan-").unwrap_or(package)
}

#[cfg(test)]
mod tests;
