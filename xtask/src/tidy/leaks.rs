//! Nothing names a machine: no private registry, no path of somebody's workplace.

use crate::tree::{Tree, Violation};

const RULE: &str = "leak";

/// Where packages come from, by lock file.
const CRATES: [&str; 2] =
    ["registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/"];
const NPM: &str = "https://registry.npmjs.org/";

/// Files that could send a build to another registry.
const SETTINGS: [&str; 5] =
    [".npmrc", ".yarnrc.yml", "pip.conf", ".cargo/config.toml", ".cargo/config"];

/// In two parts, because this file is checked as well.
const WORKPLACE: &str = concat!("/wo", "rk/");

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in tree.files() {
        let Some(text) = tree.text(path) else { continue };
        let name = path.rsplit('/').next().unwrap_or(path);
        for (line, content) in (1..).zip(text.lines()) {
            let found = match name {
                "Cargo.lock" => cargo_source(content),
                "package-lock.json" => npm_source(content),
                _ if SETTINGS.iter().any(|end| path.ends_with(end)) => setting(content),
                _ => None,
            };
            let message = found.or_else(|| workplace(content));
            let at = |message| Violation { path: path.to_owned(), line, rule: RULE, message };
            violations.extend(message.map(at));
        }
    }
    violations
}

fn cargo_source(line: &str) -> Option<String> {
    let source = line.strip_prefix("source = ")?.trim_matches('"');
    let known = CRATES.contains(&source);
    (!known).then(|| format!("{source} is not crates.io; resolve against that"))
}

fn npm_source(line: &str) -> Option<String> {
    let source = line.trim().strip_prefix("\"resolved\": ")?.trim_matches(['"', ',']);
    let known = source.starts_with(NPM) || !source.contains("://");
    (!known).then(|| format!("{source} is not {NPM}; resolve against that"))
}

fn setting(line: &str) -> Option<String> {
    let sends_elsewhere = line.contains("://") || line.contains("replace-with");
    sends_elsewhere.then(|| "a registry in the settings; keep it in your home folder".to_owned())
}

fn workplace(line: &str) -> Option<String> {
    let (before, _) = line.split_once(WORKPLACE)?;
    let is_part = before.ends_with(|last: char| last.is_alphanumeric() || "._-".contains(last));
    (!is_part)
        .then(|| format!("a path under {WORKPLACE} exists on one machine only; make it relative"))
}

#[cfg(test)]
mod tests;
